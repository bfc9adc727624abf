"""A PID namespace for a nanny and the children that it raises."""

import os
from pathlib import Path
from typing import Final

from headway.runtime.processes.linux import become_dumpable, become_undumpable, call

_NEW_MOUNTS: Final = 0x00020000
_NEW_USERS: Final = 0x10000000
_NEW_PROCESSES: Final = 0x20000000
_RECURSIVELY_SLAVE: Final = 0x4000 | 0x80000
"""What is mounted outside later appears in here too, and nothing the other way."""

_NO_SUID_DEV_EXEC: Final = 0x2 | 0x4 | 0x8


def enter() -> bool:
    """Have the processes that this one forks from now on live in a new PID namespace.

    The first of them is its process 1, with which all others end.  Whoever is not
    privileged needs a user namespace for it, in which it stays the same user; return
    whether that was so.
    """
    try:
        enter_privileged()
    except PermissionError:
        _enter_as_same_user()
        return True
    return False


def enter_privileged() -> None:
    """Do so without a user namespace, in which programs may do less; PermissionError if need be."""
    call("unshare", _NEW_PROCESSES | _NEW_MOUNTS)


def mount_proc() -> None:
    """Mount a /proc that shows the processes of this namespace, for this process 1 and its own."""
    call("mount", b"none", b"/", None, _RECURSIVELY_SLAVE, None)
    call("mount", b"proc", b"/proc", b"proc", _NO_SUID_DEV_EXEC, None)


def _enter_as_same_user() -> None:
    user, group = os.geteuid(), os.getegid()
    become_dumpable()  # or its own files in /proc would belong to root
    try:
        call("unshare", _NEW_USERS | _NEW_PROCESSES | _NEW_MOUNTS)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    finally:
        become_undumpable()
