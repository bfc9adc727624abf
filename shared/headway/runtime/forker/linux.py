"""What Linux offers beyond POSIX to keep hold of processes.  Elsewhere these do nothing."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from headway.runtime.linux import prctl

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def become_subreaper() -> None:
    """Become the parent of every descendant that loses its own, daemons included."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Have this process killed as soon as its parent, the process `parent`, is gone."""
    if parent == 1:
        return  # the first process of a namespace, of which the kernel leaves nothing without it
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the kernel was told
        os.kill(os.getpid(), signal.SIGKILL)


def stand_back(niceness: int) -> None:
    """Raise the niceness of this process, which leads its session, by so much.

    Where the kernel groups processes by session ("autogroup"), it compares the niceness of
    processes within a session only, and each session gets the same share of the processors.
    There the niceness of the session is raised, too.
    """
    nice = os.nice(niceness)
    with (
        suppress(OSError),  # no such groups, or an account changes more than ten in a second
        open("/proc/self/autogroup", "wb", buffering=0) as group,  # noqa: PTH123 - cheaper
    ):
        group.write(str(nice).encode())


def go_on_without_parent() -> None:
    """Have this process continue, should it have been stopped, as soon as its parent is gone."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)


class ProcessEntry(NamedTuple):
    """Where a process stands among the others."""

    parent: int
    group: int
    threads: int
    memory_bytes: int
    """What it has in memory; of what processes share since a fork, each has all."""


def processes() -> dict[int, ProcessEntry]:
    """Return all processes of this machine; nothing where /proc is not Linux's."""
    return dict(_processes()) if sys.platform == "linux" else {}


def own_number() -> int:
    """Return this process's id as `processes` names it, if /proc is of another namespace."""
    return int(os.readlink("/proc/self")) if sys.platform == "linux" else os.getpid()  # noqa: PTH115


def native_threads() -> list[str]:
    """Return the names of this process's threads, those that Python does not know included."""
    if sys.platform != "linux":
        return []
    return sorted(path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm"))


def _processes() -> Iterator[tuple[int, ProcessEntry]]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 - a Path for each would double the time
        if not entry.isdigit():
            continue
        try:
            stat = Path("/proc", entry, "stat").read_bytes()
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
        # The name of a program, in parentheses, may hold spaces and parentheses itself.
        fields = stat.rpartition(b")")[2].split()
        yield (
            int(entry),
            ProcessEntry(int(fields[1]), int(fields[2]), int(fields[17]), int(fields[21]) * _PAGE),
        )


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        prctl(option, value)
