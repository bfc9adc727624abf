"""Run a program, as bash: output goes through, its last line is kept, no process stays."""

import codecs
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired
from tempfile import TemporaryDirectory
from threading import Thread
from typing import IO, Final

from headway.sdk.exceptions import AirflowException
from headway.sdk.values.xcom import XCOM_LIMIT

CHUNK: Final = 65_536
KILL_AFTER: Final = 5.0
"""How many seconds a command has to end after SIGTERM."""

DRAIN: Final = 1.0
"""How many seconds background processes may go on writing after the command has ended."""


@dataclass(slots=True)
class Output:
    """The end of what a command wrote, long enough for the longest line that may be an XCom."""

    tail: bytearray = field(default_factory=bytearray)

    def add(self, chunk: bytes) -> None:
        """Append, and forget what is too long ago."""
        self.tail += chunk
        if len(self.tail) > 2 * (XCOM_LIMIT + CHUNK):
            del self.tail[: -(XCOM_LIMIT + CHUNK)]

    @property
    def last_line(self) -> str:
        """The last line, "" when nothing was written."""
        lines = self.tail.decode(errors="replace").splitlines()
        return lines[-1].rstrip() if lines else ""


def run(command: str, env: Mapping[str, str] | None, cwd: str | None) -> tuple[int, str]:
    """Run `command` with bash; see `run_program`."""
    return run_program(["bash", "-c", command], env, cwd)


def run_program(
    command: Sequence[str], env: Mapping[str, str] | None, cwd: str | None
) -> tuple[int, str]:
    """Run a program; return its exit code and the last line that it wrote.

    Without `cwd` it runs in an empty folder that is removed afterwards.  A negative
    code is the signal that killed it.
    """
    output = Output()
    with TemporaryDirectory(prefix="headway-") as scratch:
        process = _start(command, env, cwd or scratch)
        try:  # from here on an interrupt leaves no process behind
            assert process.stdout is not None
            reader = Thread(target=_pass_on, args=(process.stdout, output), daemon=True)
            reader.start()
            process.wait()
        finally:
            _stop(process)
        reader.join(DRAIN)
        if reader.is_alive():
            _signal(process, signal.SIGKILL)
            reader.join(DRAIN)
    return process.returncode, output.last_line


def _start(command: Sequence[str], env: Mapping[str, str] | None, cwd: str) -> "Popen[bytes]":
    try:
        return Popen(
            command,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise AirflowException(f"{command[0]} cannot be started in {cwd}: {error}.") from None


def _pass_on(stream: IO[bytes], output: Output) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    with stream:  # closed also when our own output fails, so that the command does not hang
        while chunk := os.read(stream.fileno(), CHUNK):
            output.add(chunk)
            sys.stdout.write(decoder.decode(chunk))
            sys.stdout.flush()


def _stop(process: "Popen[bytes]") -> None:
    if process.poll() is not None:
        return
    _signal(process, signal.SIGTERM)
    try:
        process.wait(KILL_AFTER)
    except TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: "Popen[bytes]", number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
