"""The services of one machine as child processes: started, watched, started again, stopped."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace
from headway.runtime.processes.starting import uninterrupted
from headway.runtime.settings.configuration import PRIVATE

STEADY = 30.0
"""Seconds after which a child that ends counts as one that had run well."""


@dataclass(frozen=True, slots=True)
class ServiceProgram:
    """A service to run: its name, which its log file has too, its command line, its variables."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]


class ServiceProcess(Protocol):
    """A program that was started: what is used of `subprocess.Popen`."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None:
        """Return the exit code once it has ended, minus a signal's number."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for that; subprocess.TimeoutExpired when it takes longer."""

    def send_signal(self, number: int, /) -> None:
        """Signal it, if it still runs."""

    def kill(self) -> None:
        """Kill it."""


Launch = Callable[[ServiceProgram, int, int | None], ServiceProcess]
"""Start a program that writes to a descriptor, and awaits the end of a pipe if there is one."""


@dataclass(slots=True)
class RunningService:
    """A program that is running, or is about to be started again."""

    program: ServiceProgram
    process: ServiceProcess
    started: float
    failures: int = 0
    due: float | None = None


@dataclass(slots=True)
class ServiceGroup:
    """Run programs, as `launch` starts them.  Use this from the main thread."""

    launch: Launch
    logs: Path
    clock: Clock
    pace: Pace = field(default_factory=lambda: Pace(retry_first=0.5, retry_longest=15.0))
    _children: list[RunningService] = field(default_factory=list)
    _gate: int | None = None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have those that are started meanwhile wait with their work until this ends."""
        self._gate, release = os.pipe()
        try:
            yield
        finally:
            os.close(release)
            os.close(self._gate)
            self._gate = None

    def start(self, program: ServiceProgram) -> None:
        """Start a program."""
        with uninterrupted():
            self._children.append(
                RunningService(program, self._launch(program), self.clock.monotonic())
            )

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
                with uninterrupted():
                    child.process, child.started = self._launch(child.program), now
                child.due = None
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

    def _launch(self, program: ServiceProgram) -> ServiceProcess:
        self.logs.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        handle = os.open(self.log(program.name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as log:
            return self.launch(program, log.fileno(), self._gate)

    def _obituary(self, child: RunningService, wait: float) -> str:
        code = child.process.returncode or 0
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        name = child.program.name
        return f"The {name} {how}; it is started again in {wait:.1f} s (see {self.log(name)})."
