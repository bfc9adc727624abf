"""The folder that an attempt has for itself while it runs."""

import shutil
from pathlib import Path


def remove_scratch(folder: Path) -> None:
    """Remove the folder and what is in it, as far as that can be; most attempts leave nothing.

    To look first what there is takes three times as long.
    """
    try:
        folder.rmdir()
    except OSError:  # it is not empty, or gone already
        shutil.rmtree(folder, ignore_errors=True)
