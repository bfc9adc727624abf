"""The filter of system calls, run here as the kernel would, for each architecture."""

import errno
import signal
import socket

import pytest

from headway.runtime.sandbox import seccomp
from headway.runtime.sandbox.seccomp import program
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
)

ALLOWED = seccomp._ALLOW
KILLED = seccomp._KILL_PROCESS
UNIX, INET = int(socket.AF_UNIX), int(socket.AF_INET)
STREAM, DATAGRAM = int(socket.SOCK_STREAM), int(socket.SOCK_DGRAM)


def refused(number: int) -> int:
    return seccomp._REFUSE | number


def verdict(
    machine: str, number: int, *arguments: int, network: bool = False, audit: int | None = None
) -> int:
    known = ARCHITECTURES[machine]
    shown = {0: number, 4: known.audit if audit is None else audit}
    shown |= {16 + 8 * place: value for place, value in enumerate([*arguments, 0, 0, 0, 0][:4])}
    code = program(known, network=network)
    at = accumulator = 0
    while True:
        kind, if_true, if_false, operand = code[at]
        assert 0 <= if_true < 256
        assert 0 <= if_false < 256
        at += 1
        if kind == seccomp._LOAD:
            accumulator = shown[operand]
        elif kind == seccomp._AND:
            accumulator &= operand
        elif kind == seccomp._RETURN:
            return operand
        else:
            holds = {
                seccomp._JUMP_IF_EQUAL: accumulator == operand,
                seccomp._JUMP_IF_AT_LEAST: accumulator >= operand,
                seccomp._JUMP_IF_ANY_BIT: bool(accumulator & operand),
            }[kind]
            at += if_true if holds else if_false


@pytest.fixture(params=ARCHITECTURES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_all_calls_but_the_listed_ones_are_allowed(machine: str) -> None:
    column = ARCHITECTURES[machine].column
    listed = {numbers[column]: name for name, numbers in REFUSED.items()}
    special = {each[column] for each in (SOCKET, SOCKETPAIR, CLONE, CLONE3, IOCTL, OPENAT2, *RANKS)}

    for number in range(500):
        if number in special:
            continue
        expected = refused(errno.EPERM) if number in listed else ALLOWED
        assert verdict(machine, number) == expected, listed.get(number, number)


def test_no_two_calls_have_one_number(machine: str) -> None:
    column = ARCHITECTURES[machine].column
    tables = [*REFUSED.values(), SOCKET, SOCKETPAIR, CLONE, CLONE3, IOCTL]
    tables += [*OF_ITSELF.values(), *RANKS, *SIGNALLING, FCNTL, *OPENING, *MAKING, OPENAT2]
    numbers = [each[column] for each in tables if each[column] is not None]

    assert len(numbers) == len(set(numbers))


def test_programs_of_another_architecture_are_killed(machine: str) -> None:
    assert verdict(machine, 1, audit=0x40000003) == KILLED


def test_the_other_abi_of_the_same_architecture_is_killed() -> None:
    assert verdict("x86_64", 0x40000000 + 41) == KILLED


def test_threads_may_be_made_and_namespaces_not(machine: str) -> None:
    number = CLONE[ARCHITECTURES[machine].column]

    assert verdict(machine, number, 0x003D0F00) == ALLOWED
    for bit in (17, *range(25, 31)):
        assert verdict(machine, number, 0x11 | 1 << bit) == refused(errno.EPERM)
    assert verdict(machine, CLONE3[ARCHITECTURES[machine].column]) == refused(errno.ENOSYS)


def test_nothing_can_be_typed_into_a_terminal(machine: str) -> None:
    number = IOCTL[ARCHITECTURES[machine].column]

    assert verdict(machine, number, 0, 0x5401) == ALLOWED
    assert verdict(machine, number, 0, 0x5412) == refused(errno.EPERM)


@pytest.mark.parametrize("network", [False, True])
def test_sockets(machine: str, network: bool) -> None:
    number = SOCKET[ARCHITECTURES[machine].column]

    internet = ALLOWED if network else refused(errno.EACCES)
    assert verdict(machine, number, INET, STREAM, network=network) == internet
    for family in (UNIX, 40, 38):  # 40 is vsock, 38 the kernel's cryptography
        assert verdict(machine, number, family, network=network) == refused(errno.EACCES)


def test_pairs_of_sockets(machine: str) -> None:
    number = SOCKETPAIR[ARCHITECTURES[machine].column]
    close_on_exec = 0o2000000

    assert verdict(machine, number, UNIX, STREAM | close_on_exec) == ALLOWED
    assert verdict(machine, number, UNIX, DATAGRAM) == refused(errno.EACCES)
    assert verdict(machine, number, INET, STREAM) == refused(errno.EACCES)


@pytest.mark.parametrize("name", OF_ITSELF)
def test_nobody_else_is_limited_or_scheduled(machine: str, name: str) -> None:
    number = OF_ITSELF[name][ARCHITECTURES[machine].column]

    assert verdict(machine, number, 0, 9) == ALLOWED
    assert verdict(machine, number, 1, 9) == refused(errno.EPERM)


def test_nobody_else_is_ranked(machine: str) -> None:
    for rank, one_process in RANKS.items():
        number = rank[ARCHITECTURES[machine].column]
        assert verdict(machine, number, one_process, 0, 19) == ALLOWED
        assert verdict(machine, number, one_process, 1, 19) == refused(errno.EPERM)
        assert verdict(machine, number, 1 - one_process, 0, 19) == refused(errno.EPERM)
        assert verdict(machine, number, 2, 0, 19) == refused(errno.EPERM)


def test_nobody_is_stopped(machine: str) -> None:
    column = ARCHITECTURES[machine].column
    for call, place in SIGNALLING.items():
        for sent in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            arguments = [1] * place + [int(sent)]
            assert verdict(machine, call[column], *arguments) == refused(errno.EPERM)
        for sent in (signal.SIGTERM, signal.SIGKILL, signal.SIGCONT, signal.SIGCHLD):
            assert verdict(machine, call[column], *[1] * place, int(sent)) == ALLOWED
    assert verdict(machine, FCNTL[column], 1, 4) == ALLOWED
    assert verdict(machine, FCNTL[column], 1, 10, signal.SIGSTOP) == refused(errno.EPERM)


def test_no_file_that_is_made_runs_as_its_owner(machine: str) -> None:
    column = ARCHITECTURES[machine].column
    make, make_unnamed, no_file = 0o101, 0o20040002, 0o2
    for call, place in OPENING.items():
        number = call[column]
        if number is None:
            continue
        for set_id in (0o4755, 0o2755, 0o6000):
            for flags in (make, make_unnamed):
                arguments = [1] * place + [flags, set_id]
                assert verdict(machine, number, *arguments) == refused(errno.EPERM)
            assert verdict(machine, number, *[1] * place, no_file, set_id) == ALLOWED
        assert verdict(machine, number, *[1] * place, make, 0o1777) == ALLOWED
    for call, place in MAKING.items():
        number = call[column]
        if number is not None:
            assert verdict(machine, number, *[1] * place, 0o100644) == ALLOWED
            assert verdict(machine, number, *[1] * place, 0o104755) == refused(errno.EPERM)
    assert verdict(machine, OPENAT2[column]) == refused(errno.ENOSYS)


def test_no_file_gets_other_flags_by_its_descriptor(machine: str) -> None:
    number = IOCTL[ARCHITECTURES[machine].column]

    for request in (0x40086602, 0x40087602, 0x401C5820):
        assert verdict(machine, number, 3, request) == refused(errno.EPERM)
