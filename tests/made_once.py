"""What all processes of a test session share: made by the first to ask, kept for later sessions."""

import fcntl
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_READY: Final = "ready"


def made_once(folder: Path, made_of: object, make: Callable[[Path], None]) -> Path:
    """Return the folder below `folder` that `make` has filled; it is made anew of something else.

    `made_of` is what the result depends on, such as versions of packages.
    """
    own = folder / hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]
    own.mkdir(parents=True, exist_ok=True)
    with (own / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (own / _READY).exists():
            make(own)
            (own / _READY).touch()
    return own


@contextmanager
def first_alone(folder: Path) -> Iterator[None]:
    """Let the first process go through the context alone; the others wait until it has."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_first = not (folder / _READY).exists()
        if not is_first:
            fcntl.flock(lock, fcntl.LOCK_UN)
        yield
        if is_first:
            (folder / _READY).touch()
