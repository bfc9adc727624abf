"""Privileges given up for good: the user, capabilities, and the use of resources."""

import os
import pwd
import resource
import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from headway.runtime.processes.linux import (
    become_dumpable,
    become_undumpable,
    call,
    is_dumpable,
    prctl,
)

_PR_CAPBSET_READ: Final = 23
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_PR_CAP_AMBIENT: Final = 47
_CLEAR_ALL: Final = 4
_MOST_CAPABILITIES: Final = 64
_THIS_PROCESS: Final = struct.pack("=Ii", 0x20080522, 0)
_NO_CAPABILITIES: Final = bytes(24)


def become_user(account: pwd.struct_passwd) -> None:
    """Become another user with its own group and no other.

    The kernel forgets by this which signal to send when the parent dies.
    """
    os.setgroups([])
    os.setresgid(account.pw_gid, account.pw_gid, account.pw_gid)
    os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)


def refuse_unreadable(paths: Iterable[str]) -> None:
    """Raise PermissionError if this process may not read, or look into, one of the paths."""
    for path in paths:
        enter = os.X_OK if os.path.isdir(path) else 0  # noqa: PTH112 - False where it may not look
        if not os.access(path, os.R_OK | enter):
            raise PermissionError(f"cannot read {path}")


def gain_nothing() -> None:
    """Have no program that this process executes give it a privilege that it lacks."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def renounce() -> None:
    """Give up all capabilities, and the chance to gain any by executing a program."""
    gain_nothing()
    prctl(_PR_CAP_AMBIENT, _CLEAR_ALL)
    call("capset", _THIS_PROCESS, _NO_CAPABILITIES)


def drop_bounding_set() -> None:
    """Have no program that this process, or its children, execute gain a capability.

    Whoever lacks CAP_SETPCAP cannot drop it, and needs not: it has no capabilities
    that a program could inherit, and new ones are renounced.
    """
    with suppress(PermissionError):
        for capability in range(_MOST_CAPABILITIES):
            try:
                held = prctl(_PR_CAPBSET_READ, capability)
            except OSError:  # the kernel knows no more of them
                return
            if held:
                prctl(_PR_CAPBSET_DROP, capability)


def limit(file_bytes: int, processes: int | None) -> None:
    """Limit how large a file this process can write and, if told to, how often it can fork."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    if processes is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))


def go_first() -> None:
    """Have this process and its children be the first to go when memory is short."""
    try:
        _score_highest()
    except PermissionError:
        if is_dumpable():
            raise
        become_dumpable()  # or its own files in /proc belong to root
        try:
            _score_highest()
        finally:
            become_undumpable()


def _score_highest() -> None:
    with open("/proc/self/oom_score_adj", "wb", buffering=0) as score:  # noqa: PTH123 - cheaper
        score.write(b"1000")
