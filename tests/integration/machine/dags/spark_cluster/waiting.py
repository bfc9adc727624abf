"""Functions that travel to Spark: its processes cannot import this module."""

import os
import time
from pathlib import Path


def square_once_told(number: int, folder: str) -> int:
    """Say that this has begun, wait for a file `go`, and square the number."""
    (Path(folder) / f"begun-{number}-{os.getpid()}").touch()
    while not (Path(folder) / "go").exists():
        time.sleep(0.05)
    return number * number
