"""The services of one machine as child processes: started, watched, started again, stopped."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headway.runtime.clock import Clock
from headway.runtime.loop import Pace
from headway.runtime.tether import tethered

STEADY = 30.0
"""Seconds after which a child that ends counts as one that had run well."""


@dataclass(frozen=True, slots=True)
class Program:
    """A service to run: its name, which its log file has too, and its command."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]


@dataclass(slots=True)
class Child:
    """A program that is running, or is about to be started again."""

    program: Program
    process: "subprocess.Popen[bytes]"
    started: float
    failures: int = 0
    due: float | None = None


@dataclass(slots=True)
class Children:
    """Run programs, each in a session of its own, so that a Ctrl-C reaches the launcher alone.

    None of them outlives the launcher, even one that is killed.  Use this from the
    main thread.
    """

    logs: Path
    clock: Clock
    pace: Pace = field(default_factory=lambda: Pace(retry_first=0.5, retry_longest=15.0))
    _children: list[Child] = field(default_factory=list)

    def start(self, program: Program) -> None:
        """Start a program."""
        self._children.append(Child(program, self._launch(program), self.clock.monotonic()))

    def restart_dead(self) -> list[str]:
        """Start again what has died, later each time that it dies young; say what happened."""
        said: list[str] = []
        now = self.clock.monotonic()
        for child in self._children:
            if child.due is None and child.process.poll() is not None:
                steady = now - child.started > STEADY
                child.failures = 1 if steady else child.failures + 1
                wait = self.pace.retry_after(child.failures)
                child.due = now + wait
                said.append(self._obituary(child, wait))
            if child.due is not None and now >= child.due:
                child.process, child.started, child.due = self._launch(child.program), now, None
        return said

    def stop(self, patience: float) -> None:
        """Stop everything, in the reverse order of its start; kill what has not ended in time."""
        deadline = self.clock.monotonic() + patience
        running = [child for child in reversed(self._children) if child.process.poll() is None]
        for child in running:
            child.process.send_signal(signal.SIGTERM)
        for child in running:
            try:
                child.process.wait(max(0.0, deadline - self.clock.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
        self._children.clear()

    def pids(self) -> dict[str, int]:
        """Return the process ids by program name."""
        return {child.program.name: child.process.pid for child in self._children}

    def log(self, name: str) -> Path:
        """Return the log file of a program."""
        return self.logs / f"{name}.log"

    def _launch(self, program: Program) -> "subprocess.Popen[bytes]":
        self.logs.mkdir(parents=True, exist_ok=True)
        with self.log(program.name).open("ab") as log:
            return subprocess.Popen(
                tethered(program.command),
                env=dict(program.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _obituary(self, child: Child, wait: float) -> str:
        code = child.process.returncode
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        name = child.program.name
        return f"The {name} {how}; it is started again in {wait:.1f} s (see {self.log(name)})."
