"""The `headway` command on a machine of its own: few programs, an empty HOME, nothing inherited.

Everything that a machine runs can be found again from outside, for it has a path below
the machine's folder in its environment, its command line or its working directory: user
code gets no HEADWAY_HOME, but it does get HOME.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from typing import Final

from sqlalchemy import Engine

from headway.db.core import engine as engines
from headway.runtime.processes.parent_death import dies_with_parent
from headway.testing.processes import modes
from headway.testing.services.homes import begin_with_a_database
from headway.testing.time.clock import PATIENCE, T, until

PROGRAMS: Final = (
    *("bash", "sh", "env", "ps", "sed", "grep", "awk", "which", "hostname"),
    *("cat", "chmod", "cp", "cut", "date", "dirname", "basename", "echo", "expr", "head", "id"),
    *("ln", "ls", "mkdir", "mktemp", "mv", "nice", "nohup", "readlink", "rm", "sleep", "sort"),
    *("tail", "tee", "touch", "tr", "true", "uname", "whoami"),
)
"""What a machine has on its PATH: a shell and what scripts use, but no Java and no Postgres."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that was started, and what it has printed so far."""

    process: "subprocess.Popen[bytes]" = field(repr=False)
    stdout: Path
    stderr: Path

    def printed(self) -> str:
        """Return what it has printed to stdout."""
        return self.stdout.read_text(errors="replace")

    def complained(self) -> str:
        """Return what it has printed to stderr."""
        return self.stderr.read_text(errors="replace")

    def until(self, look: Callable[[], T | None], what: str) -> T:
        """Look until that returns something true; the command must not end meanwhile."""

        def look_while_it_runs() -> T | None:
            found = look()
            assert found or self.process.poll() is None, f"It ended before: {what}.\n{self._said()}"
            return found

        return until(look_while_it_runs, what, said=self._said)

    def end(self, signal: Signals) -> int:
        """Send the signal, wait for the end, and return the exit status."""
        self.process.send_signal(signal)
        return self.process.wait(PATIENCE)

    def _said(self) -> str:
        return f"{self.printed()}\n{self.complained()}"


@dataclass(frozen=True, slots=True)
class Machine:
    """A folder with a home, and an environment in which commands run."""

    root: Path
    environment: Mapping[str, str]

    @classmethod
    def new(cls, root: Path, given: Mapping[str, str] | None = None) -> "Machine":
        """Make a machine in an empty folder, with these variables besides its own."""
        programs, home = root / "bin", root / "user"
        programs.mkdir(parents=True)
        home.mkdir()
        for name in PROGRAMS:
            if found := shutil.which(name):
                (programs / name).symlink_to(found)
        own = {"PATH": programs, "HOME": home, "HEADWAY_HOME": root / "home"}
        paths = {name: str(path) for name, path in own.items()}
        return cls(root, {**paths, **modes.variables(), **(given or {})})

    @property
    def home(self) -> Path:
        """Where Headway keeps its state."""
        return self.root / "home"

    def run(
        self,
        *arguments: str,
        given: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
        stdin: str = "",
    ) -> "subprocess.CompletedProcess[str]":
        """Run a `headway` command to its end, with these variables besides the machine's.

        What it reads is `stdin`.
        """
        return subprocess.run(
            _headway(arguments),
            env={**self.environment, **(given or {})},
            cwd=self.root,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )

    def refusal(self, *arguments: str, given: Mapping[str, str] | None = None) -> str:
        """Run a command that must be refused with one message, and return that."""
        result = self.run(*arguments, given=given)
        assert result.returncode not in {0, 3}, result
        assert result.stderr.startswith("Error: "), result.stderr
        assert "Traceback" not in result.stderr, result.stderr
        return result.stderr.removeprefix("Error: ").strip()

    @contextmanager
    def running(self, *arguments: str, name: str = "std") -> Iterator[Command]:
        """Start a `headway` command, which is ended with the context if it still runs then.

        What it prints goes to files of that name; a second one at a time needs another.
        """
        stdout, stderr = self.root / f"{name}out", self.root / f"{name}err"
        with stdout.open("wb") as out, stderr.open("wb") as err:
            process = subprocess.Popen(
                dies_with_parent(_headway(arguments)),
                env=dict(self.environment),
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        command = Command(process, stdout, stderr)
        try:
            yield command
        finally:
            command.end(Signals.SIGTERM)

    @contextmanager
    def standalone(
        self, dags: Path, *options: str, new: bool = False
    ) -> Iterator[tuple[Command, Engine]]:
        """Run `headway standalone`, whose services have all started when the context begins.

        If it is to be `new`, it makes its home and its database itself.
        """
        if not new:
            begin_with_a_database(self.home)
        with self.running("standalone", "--dags", str(dags), *options) as command:
            command.until(lambda: "Ctrl-C stops everything" in command.printed(), "standalone up")
            url = (self.home / "database-url").read_text()
            engine = engines.connect(url, name="test")
            try:
                yield command, engine
            finally:
                engine.dispose()

    def processes(self) -> dict[int, str]:
        """Return all that runs on this machine: command lines by pid."""
        return processes_below(self.root)

    def wait_until_idle(self, patience: float) -> None:
        """Wait until nothing of this machine runs any more."""
        until(lambda: not self.processes(), "nothing running any more", patience)


def stands_still(pid: int) -> bool:
    """Return whether all threads of a process are stopped; false if there is no such process."""
    states = [thread_state(path) for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return bool(states) and all(state == "T" for state in states)


def thread_state(stat: Path) -> str:
    """Return the letter for the state of a process or thread; empty if it has ended."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def processes_below(folder: Path) -> dict[int, str]:
    """Return the processes that have to do with a folder: command lines by pid."""
    mark = f"{folder}/".encode()
    found: dict[int, str] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            seen = [command, (process / "environ").read_bytes()]
            seen.append(bytes((process / "cwd").readlink()) + b"/")
        except OSError:  # it has ended, or is another user's
            continue
        if any(mark in text for text in seen):
            found[int(process.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


def _headway(arguments: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "headway.cli", *arguments]
