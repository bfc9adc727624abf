"""The folder that holds all that a worker's Spark writes, until that worker has ended."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_LOCK: Final = "lock"


@contextmanager
def own_folder(parent: Path, process_id: int) -> Iterator[Path]:
    """Give a worker a new folder below `parent`, where those of workers that have ended go.

    Who lives holds a lock on a file in its folder, which the kernel takes from the dead.
    """
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (parent / _LOCK).open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # nobody's folder is seen before it is locked
        for folder in parent.iterdir():
            if folder.is_dir() and not _is_in_use(folder):
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
