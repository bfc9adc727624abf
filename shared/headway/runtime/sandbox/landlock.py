"""Landlock: what a process may reach of files, TCP ports and other processes.

Rules are made once, by a process that may still read everything; to be restricted
by them costs a child one system call.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from headway.runtime.processes.linux import call
from headway.runtime.sandbox.allowed import DEVICES, Allowed

_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_ASK_VERSION: Final = 1
_PATH_BENEATH: Final = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ: Final = _EXECUTE | _READ_FILE | _READ_DIR
_SPECIAL: Final = 1 << 6 | 1 << 11
"""To make character and block devices, which nobody needs to."""
_FIRST_VERSION: Final = (1 << 13) - 1
_TCP_BIND_AND_CONNECT: Final = 0b11
_SCOPE_ABSTRACT_AND_SIGNALS: Final = 0b11


def version() -> int:
    """Return the version of Landlock that this kernel has; OSError if none."""
    return call("syscall", _CREATE_RULESET, None, 0, _ASK_VERSION)


class Ruleset:
    """Rules that children are to be restricted by."""

    def __init__(self, allowed: Allowed, scratch: Path, *, network: bool) -> None:
        self._allowed = allowed
        known = version()
        self._files = _file_rights(known)
        self.descriptor = _create(self._files, known, network=network)
        for path in allowed.trees:
            self._allow([path], _READ)
        self._allow(allowed.listed, _READ_DIR)
        self._allow([str(scratch)], self._files & ~(_SPECIAL | _IOCTL_DEV))
        self._allow(DEVICES, _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV)

    def holds(self) -> bool:
        """Return whether the rules still say what they were made for."""
        return self._allowed.holds()

    def close(self) -> None:
        """Forget the rules."""
        os.close(self.descriptor)

    def _allow(self, paths: Iterable[str], rights: int) -> None:
        for path in paths:
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                self._allow_one(path, rights & self._files)

    def _allow_one(self, path: str, rights: int) -> None:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                rights &= _OF_FILES
            rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, place))
            call("syscall", _ADD_RULE, self.descriptor, _PATH_BENEATH, rule, 0)
        finally:
            os.close(place)


def restrict(ruleset: int) -> None:
    """Restrict this process by the rules, for good; it must have renounced new privileges."""
    call("syscall", _RESTRICT_SELF, ruleset, 0)


def _create(files: int, known: int, *, network: bool) -> int:
    fields = [files]
    if known >= 4:  # noqa: PLR2004 - versions are numbers
        fields.append(0 if network else _TCP_BIND_AND_CONNECT)
    if known >= 6:  # noqa: PLR2004
        fields.append(_SCOPE_ABSTRACT_AND_SIGNALS)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    return call("syscall", _CREATE_RULESET, buffer, len(attributes), 0)


def _file_rights(known: int) -> int:
    rights = _FIRST_VERSION
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        if known >= since:
            rights |= right
    return rights
