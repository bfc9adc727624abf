"""Calls to the Linux kernel that Python has no name for.  Elsewhere they do nothing."""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

_PR_GET_DUMPABLE: Final = 3


_PR_SET_DUMPABLE: Final = 4


_PR_SET_NAME: Final = 15


_M_ARENA_MAX: Final = -8


def call(function: str, *arguments: Any) -> int:
    """Call a function of the C library; OSError when it returns -1."""
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = int(getattr(_library(), function)(*passed))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")
    return result


def prctl(option: int, *values: Any) -> int:
    """Have the kernel change how it treats this process.  Linux only."""
    rest = [0] * (4 - len(values))
    return call("prctl", option, *values, *rest)


def become_undumpable() -> None:
    """Keep other processes of the same user from looking into this one.

    From now on /proc/PID/{environ,mem,maps,fd} of this process are root's, and only
    who has CAP_SYS_PTRACE may read them or attach a debugger.  It dumps no core.
    The programs that it starts are not protected until they ask for it themselves.
    """
    if sys.platform == "linux":
        prctl(_PR_SET_DUMPABLE, 0)


def become_dumpable() -> None:
    """Take back `become_undumpable`: this process owns its files in /proc again."""
    if sys.platform == "linux":
        prctl(_PR_SET_DUMPABLE, 1)


def is_dumpable() -> bool:
    """Return whether processes of the same user may look into this one."""
    return sys.platform != "linux" or prctl(_PR_GET_DUMPABLE) == 1


def name_process(name: str) -> None:
    """Have `ps -o comm`, `top` and their like show this process by a name of 15 characters."""
    if sys.platform == "linux":
        prctl(_PR_SET_NAME, ctypes.create_string_buffer(name.encode()))


def share_one_heap() -> None:
    """Have the threads of this process, which take turns in Python anyway, share what is free.

    The GNU C library gives each thread a heap of its own, of which half a megabyte stays.
    The programs that this process starts are not concerned.
    """
    with suppress(AttributeError):  # another C library
        _library().mallopt(_M_ARENA_MAX, 1)


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


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
