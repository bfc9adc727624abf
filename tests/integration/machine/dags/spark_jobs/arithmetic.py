"""Functions that travel to Spark: its processes cannot import this module."""

import time
from pathlib import Path


def cube(number: int) -> int:
    return power(number, 3)


def power(number: int, exponent: int) -> int:
    return int(number**exponent)


def beat_for_ever(beats: str) -> str:
    """Let a file grow for as long as this runs."""
    while True:
        with Path(beats).open("a") as file:
            file.write(".")
        time.sleep(0.05)
