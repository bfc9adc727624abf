"""Processes that a task has told of, as they are called outside its PID namespace.

A task tells of one by `<process id> <link of /proc/self/ns/pid>`.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from headway.runtime.processes.linux import processes


def find(told: str) -> int | None:
    """Return the process id here; None if the process is not there any more."""
    number, _, namespace = told.partition(" ")
    return next((pid for pid in _in_namespace(namespace) if _innermost(pid) == number), None)


def ancestors(pid: int) -> list[int]:
    """Return the processes above this one, the nearest first, but for process 1."""
    known, found = processes(), list[int]()
    while (pid := known[pid].parent) > 1:
        found.append(pid)
    return found


def shown(pid: int, what: str) -> str:
    """Return what /proc shows of a process, such as its environ, with spaces for its NULs."""
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


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
