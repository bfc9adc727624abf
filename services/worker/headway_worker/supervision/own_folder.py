"""A folder that a worker has for itself until it has ended: for its Spark, or for its attempts."""

import fcntl
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_LOCK: Final = "lock"
_NAMED: Final = re.compile(r"\d+-[a-z0-9_]{8}")
"""An attempt's folder, as older workers made them beside each other, is named otherwise."""


@contextmanager
def own_folder(parent: Path, process_id: int) -> Iterator[Path]:
    """Give a worker a new folder below `parent`, where those of workers that have ended go.

    Who lives holds a lock on a file in its folder, which the kernel takes from the dead.  What is
    not named as these folders are stays where it is.
    """
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with parent.with_name(f"{parent.name}.{_LOCK}").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # nobody's folder is seen before it is locked
        for folder in parent.iterdir():
            if _NAMED.fullmatch(folder.name) and not _is_in_use(folder):
                shutil.rmtree(folder, ignore_errors=True)
        own = Path(tempfile.mkdtemp(prefix=f"{process_id}-", dir=parent))
        lock = (own / _LOCK).open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
    with lock:
        yield own


def _is_in_use(folder: Path) -> bool:
    """Return whether a worker that lives has this folder; of one that is not ours, that it is."""
    try:
        with (folder / _LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
