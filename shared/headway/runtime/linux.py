"""Calls to the Linux kernel that Python has no name for."""

import ctypes
import os
import sys
from contextlib import suppress
from functools import cache
from typing import Any, Final

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
