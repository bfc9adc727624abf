"""The folders that attempts have for themselves while they run."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headway_worker.spark.folder import own_folder


@contextmanager
def scratch_of_worker(parent: Path, process_id: int) -> Iterator[Path]:
    """Give a worker a folder for those of its attempts, where what dead workers left is removed."""
    with own_folder(parent, process_id) as folder:
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_scratch(folder: Path) -> None:
    """Remove the folder and what is in it, as far as that can be; most attempts leave nothing.

    To look first what there is takes three times as long.
    """
    try:
        folder.rmdir()
    except OSError:  # it is not empty, or gone already
        shutil.rmtree(folder, ignore_errors=True)
