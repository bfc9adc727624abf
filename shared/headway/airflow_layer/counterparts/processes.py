"""What hooks do with processes: they run programs, and change their own process for a block."""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

from headway.airflow_layer.counterparts.hooks import LayerHook
from headway.airflow_layer.notes import note
from headway.sdk.exceptions import AirflowTaskTimeout
from headway.sdk.programs import shell


class SubprocessResult(NamedTuple):
    """How a program has ended, and the last line that it wrote."""

    exit_code: int
    output: str


class SubprocessHook(LayerHook):
    """Runs programs, whose output is the task's."""

    def run_command(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        output_encoding: str = "utf-8",
        cwd: str | None = None,
    ) -> SubprocessResult:
        """Run a program in `cwd`, or in an empty folder that is removed afterwards.

        Its output is read as UTF-8.  An interrupt of this call stops the program.
        """
        if output_encoding.lower().replace("-", "") != "utf8":
            note(
                "output_encoding",
                f"output_encoding={output_encoding!r} has no effect: output is read as UTF-8.",
            )
        return SubprocessResult(*shell.run_program(command, env, cwd))

    def send_sigterm(self) -> None:
        """Do nothing: whoever stops the task has stopped `run_command`, and so the program."""


@contextmanager
def patch_environ(new_env_variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment inside the block."""
    environment = os.environ  # noqa: TID251 - of a task's own process, which a hook changes
    before = {name: environment.get(name) for name in new_env_variables}
    environment.update(new_env_variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value


@contextmanager
def timeout(seconds: float = 1, error_message: str = "Timeout") -> Iterator[None]:
    """Raise AirflowTaskTimeout if the block takes longer; only the main thread can do this."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise AirflowTaskTimeout(f"{error_message} after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
