"""What a task does, written to a file outside the database, while the task does it.

Each line is one JSON object; a line is written by one `write` to a file opened with O_APPEND, so
that lines of many processes never mix.  Times are seconds of CLOCK_BOOTTIME: one clock for the
whole machine, which no step of the wall clock changes.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from place import RECORDS

BEAT_SECONDS = 0.1


@dataclass(frozen=True)
class Name:
    """Which attempt of which task instance a line is about."""

    dag: str
    run: str
    task: str
    map_index: int
    attempt: int


def name(context: Mapping[str, Any]) -> Name:
    """Return the attempt that this context is of."""
    ti = context["ti"]
    return Name(ti.dag_id, context["run_id"], ti.task_id, ti.map_index, ti.try_number)


def write(what: str, of: Name) -> None:
    """Append one line."""
    now = {"at": time.clock_gettime(time.CLOCK_BOOTTIME), "wall": time.time()}
    line = json.dumps({"what": what, **asdict(of), **now, "pid": os.getpid()}) + "\n"
    file = os.open(RECORDS, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


@contextmanager
def recorded(of: Name) -> Iterator[None]:
    """Write when the block starts, and when it has ended without an exception."""
    write("start", of)
    yield
    write("end", of)


def work(of: Name, seconds: float) -> None:
    """Write that the attempt is alive, again and again, for so long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        write("alive", of)
        time.sleep(BEAT_SECONDS)
