"""What hooks do to their own process: its environment, and how long a block may take."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from headway.sdk.exceptions import AirflowTaskTimeout


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
