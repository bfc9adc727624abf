"""Processes that a task has told of, as they are called outside its PID namespace.

A task tells of one by `<process id> <link of /proc/self/ns/pid>`.
"""

import os
from collections.abc import Iterator
from pathlib import Path


def find(told: str) -> int | None:
    """Return the process id here; None if the process is not there any more."""
    number, _, namespace = told.partition(" ")
    return next((pid for pid in _in_namespace(namespace) if _innermost(pid) == number), None)


def ancestors(pid: int) -> list[int]:
    """Return the processes above this one, the nearest first, but for process 1."""
    found: list[int] = []
    while (pid := int(_stat(pid)[1])) > 1:
        found.append(pid)
    return found


def _in_namespace(namespace: str) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "ns" / "pid") == namespace:  # noqa: PTH115
                yield int(entry.name)
        except OSError:  # it has ended, or is not ours to look into
            continue


def _innermost(pid: int) -> str:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return ""
    return next(line for line in lines if line.startswith("NSpid:")).split()[-1]


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
