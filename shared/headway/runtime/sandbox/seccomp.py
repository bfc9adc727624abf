"""Seccomp: a filter of system calls, which no process can take off again."""

import ctypes
import errno
import platform
import signal
import socket
import stat
import struct
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Final

from headway.runtime.processes.linux import prctl
from headway.runtime.sandbox.system_calls import (
    ARCHITECTURES,
    CLONE,
    CLONE3,
    FCNTL,
    IOCTL,
    MAKING,
    OF_ITSELF,
    OPENAT2,
    OPENING,
    RANKS,
    REFUSED,
    SIGNALLING,
    SOCKET,
    SOCKETPAIR,
    Architecture,
)

_PR_SET_SECCOMP: Final = 22
_FILTER: Final = 2

# What a filter program is made of: code, jumps if true and false, operand.
_LOAD: Final = 0x20
_AND: Final = 0x54
_JUMP_IF_EQUAL: Final = 0x15
_JUMP_IF_AT_LEAST: Final = 0x35
_JUMP_IF_ANY_BIT: Final = 0x45
_RETURN: Final = 0x06

_KILL_PROCESS: Final = 0x80000000
_REFUSE: Final = 0x00050000
_ALLOW: Final = 0x7FFF0000

# Where things stand in what the filter is shown; of arguments the lower half.
_NUMBER: Final = 0
_ARCHITECTURE: Final = 4
_FIRST: Final = 16
_SECOND: Final = 24
_WIDTH: Final = 8

_NEW_NAMESPACES: Final = 0x7E020000
_TYPE_STDIN: Final = 0x5412
_TYPE_CONSOLE: Final = 0x541C
_SET_FLAGS: Final = 0x40086602
_SET_VERSION: Final = 0x40087602
_SET_ATTRIBUTES: Final = 0x401C5820
"""Of ioctl: flags and attributes of the file that a descriptor leads to."""
_MAKES_A_FILE: Final = 0o100 | 0o20000000
"""O_CREAT, and what of O_TMPFILE is not O_DIRECTORY."""
_SET_ID: Final = stat.S_ISUID | stat.S_ISGID
_SOCKET_TYPE: Final = 0xF
_SET_SIGNAL: Final = 10
"""Of fcntl: which signal is sent when a file is ready, and F_SETOWN says to whom."""
_STOPPING: Final = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
"""Who is stopped does not end, and keeps others from hearing that."""
_FEW: Final = 3

Instruction = tuple[int, int, int, int]


class FilterProgram(ctypes.Structure):
    """The kernel's `struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


@cache
def build(*, network: bool) -> FilterProgram:
    """Return the filter for this machine; OSError where none is known."""
    machine = ARCHITECTURES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOSYS, f"no filter is known for {platform.machine()}")
    instructions = program(machine, network=network)
    code = b"".join(struct.pack("=HBBI", *each) for each in instructions)
    return FilterProgram(len(instructions), code)


def install(filter_program: FilterProgram) -> None:
    """Filter the system calls of this process; it must have renounced new privileges."""
    prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(filter_program))


def program(machine: Architecture, *, network: bool) -> list[Instruction]:
    """Return the instructions of the filter."""
    column = machine.column
    code = [
        _load(_ARCHITECTURE),
        (_JUMP_IF_EQUAL, 1, 0, machine.audit),
        _give(_KILL_PROCESS),  # a program for another one, of which the numbers differ
        _load(_NUMBER),
    ]
    if machine.foreign is not None:
        code += [(_JUMP_IF_AT_LEAST, 0, 1, machine.foreign), _give(_KILL_PROCESS)]
    return code + _search(sorted(_cases(column, network=network)))


def _cases(column: int, *, network: bool) -> Iterator[tuple[int, list[Instruction]]]:
    """Yield what to do, to the end, for the system calls that are not simply allowed."""
    for numbers in REFUSED.values():
        number = numbers[column]
        if number is not None:
            yield number, [_refuse(errno.EPERM)]
    for of_itself in OF_ITSELF.values():
        yield of_itself[column], [_load(_FIRST), *_only(0)]
    for rank, one_process in RANKS.items():
        yield rank[column], [_load(_FIRST), *_unless(one_process), _load(_SECOND), *_only(0)]
    for sending, argument in SIGNALLING.items():
        yield sending[column], _unless_equal(_FIRST + argument * _WIDTH, _STOPPING)
    yield FCNTL[column], _unless_equal(_SECOND, (_SET_SIGNAL,))
    yield CLONE3[column], [_refuse(errno.ENOSYS)]  # its flags cannot be seen from here
    yield CLONE[column], _unless_any(_FIRST, _NEW_NAMESPACES)
    of_files = (_SET_FLAGS, _SET_VERSION, _SET_ATTRIBUTES)
    yield IOCTL[column], _unless_equal(_SECOND, (_TYPE_STDIN, _TYPE_CONSOLE, *of_files))
    yield OPENAT2[column], [_refuse(errno.ENOSYS)]  # its flags and mode cannot be seen from here
    yield from _making_files(column)
    yield SOCKET[column], _only_internet() if network else [_refuse(errno.EACCES)]
    yield SOCKETPAIR[column], _only_streams()


def _making_files(column: int) -> Iterator[tuple[int, list[Instruction]]]:
    """Yield what refuses a new file that gives who executes it the account of its owner."""
    for making, mode in MAKING.items():
        number = making[column]
        if number is not None:
            yield number, _unless_any(_FIRST + mode * _WIDTH, _SET_ID)
    for opening, flags in OPENING.items():
        number = opening[column]
        if number is not None:  # the mode means nothing, and may be anything, where none is made
            makes = [_load(_FIRST + flags * _WIDTH), (_JUMP_IF_ANY_BIT, 1, 0, _MAKES_A_FILE)]
            mode = _FIRST + (flags + 1) * _WIDTH
            yield number, [*makes, _give(_ALLOW), *_unless_any(mode, _SET_ID)]


def _search(cases: list[tuple[int, list[Instruction]]]) -> list[Instruction]:
    """Find the case of the number by halves; allow what is none.

    The kernel runs a new filter once for each system call that there is, for each child.
    """
    if len(cases) <= _FEW:
        tests = [[(_JUMP_IF_EQUAL, 0, len(block), number), *block] for number, block in cases]
        return [*chain(*tests), _give(_ALLOW)]
    half = len(cases) // 2
    below, above = _search(cases[:half]), _search(cases[half:])
    return [(_JUMP_IF_AT_LEAST, len(below), 0, cases[half][0]), *below, *above]


def _unless_any(argument: int, bits: int) -> list[Instruction]:
    return [_load(argument), (_JUMP_IF_ANY_BIT, 0, 1, bits), _refuse(errno.EPERM), _give(_ALLOW)]


def _unless_equal(argument: int, values: Iterable[int]) -> list[Instruction]:
    code = [_load(argument)]
    for value in values:
        code += [(_JUMP_IF_EQUAL, 0, 1, value), _refuse(errno.EPERM)]
    return [*code, _give(_ALLOW)]


def _unless(value: int) -> list[Instruction]:
    """Refuse if what is loaded is anything but the value; otherwise go on."""
    return [(_JUMP_IF_EQUAL, 1, 0, value), _refuse(errno.EPERM)]


def _only(value: int) -> list[Instruction]:
    return [*_unless(value), _give(_ALLOW)]


def _only_internet() -> list[Instruction]:
    """Allow IP, and netlink, by which the C library looks for addresses; no Unix sockets."""
    netlink = 16
    code = [_load(_FIRST)]
    for family in (int(socket.AF_INET), int(socket.AF_INET6), netlink):
        code += [(_JUMP_IF_EQUAL, 0, 1, family), _give(_ALLOW)]
    return [*code, _refuse(errno.EACCES)]


def _only_streams() -> list[Instruction]:
    """Allow pairs of Unix streams: one of datagrams could send to any address."""
    return [
        _load(_FIRST),
        (_JUMP_IF_EQUAL, 1, 0, int(socket.AF_UNIX)),
        _refuse(errno.EACCES),
        _load(_SECOND),
        (_AND, 0, 0, _SOCKET_TYPE),
        (_JUMP_IF_EQUAL, 1, 0, int(socket.SOCK_STREAM)),
        _refuse(errno.EACCES),
        _give(_ALLOW),
    ]


def _load(offset: int) -> Instruction:
    return _LOAD, 0, 0, offset


def _give(verdict: int) -> Instruction:
    return _RETURN, 0, 0, verdict


def _refuse(number: int) -> Instruction:
    return _give(_REFUSE | number)
