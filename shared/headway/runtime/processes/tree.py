"""Kill process trees so that nothing survives, whatever its members do about it.

On Linux the caller must be a subreaper: whoever loses its parent becomes a child
of the caller, so no descendant can get out of its sight.  Other systems have
nothing of the kind; there a process that leaves its group gets away.
"""

import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Final

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.processes.linux import ProcessEntry, own_number, processes


class Wakeup:
    """A file that becomes readable when a child of this process has ended.

    It belongs to the process: a fork needs its own.
    """

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _take_note)

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._reader.fileno()

    def clear(self) -> None:
        """Forget what has come; call this before looking for children that have ended."""
        with suppress(BlockingIOError):
            while self._reader.recv(4096):
                pass

    def close(self) -> None:
        """Let go of it, in a fork that is woken by nothing."""
        signal.set_wakeup_fd(-1)
        self._reader.close()
        self._writer.close()


def _take_note(_number: int, _frame: object) -> None:
    """Do nothing: the interpreter writes to the wakeup file only for signals with a handler."""


_CLOCK: Final = SystemClock()


_MOST_PASSES: Final = 10


OnExit = Callable[[int, int], None]
"""Told the process id and the wait status of each child that has ended."""


Kill = Callable[[int, OnExit], None]
"""Kills a child and all that it has left behind; returns once nothing of it lives."""


def reap(on_exit: OnExit) -> bool:
    """Bury every child that has ended, without waiting; return whether any child is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
        on_exit(pid, status)


def kill_tree(leader: int, on_exit: OnExit) -> None:
    """Kill the child `leader` and all that it has left behind; return once nothing lives."""
    if sys.platform == "linux":
        kill_descendants(on_exit)
        return
    signal_group(leader, signal.SIGKILL)
    while reap(on_exit):
        on_exit(*os.waitpid(-1, 0))


def kill_namespace(_leader: int, on_exit: OnExit) -> None:
    """Kill all processes of this one's PID namespace, in one stroke; return once nothing lives.

    The caller is process 1 there.
    """
    while reap(on_exit):
        _signal(-1, signal.SIGKILL)
        on_exit(*os.waitpid(-1, 0))


def see_off(children: Collection[int], wakeup: Wakeup, on_exit: OnExit, seconds: float) -> None:
    """Wait for these children, which have been told to end; kill those that do not in time.

    `on_exit` takes each out of `children`.
    """
    for pid in list(children):
        _signal(pid, signal.SIGCONT)  # one that was stopped has heard nothing
    deadline = _CLOCK.monotonic() + seconds
    while reap(on_exit) and children and (left := deadline - _CLOCK.monotonic()) > 0:
        select.select([wakeup], [], [], left)
        wakeup.clear()
    for pid in list(children):
        _signal(pid, signal.SIGKILL)
    while children:
        on_exit(*os.waitpid(-1, 0))


def kill_stopped(children: Collection[int]) -> None:
    """Kill those of these children that somebody has stopped: they obey no order any more.

    Linux only.
    """
    if sys.platform != "linux":
        return
    with suppress(ChildProcessError):  # all have ended and wait to be buried, or there is none
        while (news := os.waitid(os.P_ALL, 0, os.WSTOPPED | os.WNOHANG)) is not None:
            if news.si_pid in children:
                _signal(news.si_pid, signal.SIGKILL)


def signal_group(leader: int, number: signal.Signals) -> None:
    """Signal the group of `leader`, or `leader` alone if it has not founded one yet."""
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        _signal(leader, number)


def kill_descendants(on_exit: OnExit, spared: Collection[int] = ()) -> None:
    """Kill all descendants of this process, but for the trees of `spared` children.

    Returns once the kernel knows of none.  A process that belongs to another
    user, and may not be signalled, is waited for.
    """
    while reap(on_exit):
        doomed = _freeze(spared)
        if not doomed:
            return
        _signal_all(doomed, signal.SIGKILL)
        on_exit(*os.waitpid(-1, 0))


def _freeze(spared: Collection[int]) -> dict[int, ProcessEntry]:
    """Stop all descendants, so that none of them forks while the others are killed."""
    stopped: dict[int, ProcessEntry] = {}
    for _ in range(_MOST_PASSES):
        found = descendants(spared)
        new = {pid: found[pid] for pid in found.keys() - stopped.keys()}
        if not new:
            break
        _signal_all(new, signal.SIGSTOP)
        stopped |= new
    return stopped


def descendants(spared: Collection[int] = ()) -> dict[int, ProcessEntry]:
    """Return the descendants of this process that live, or wait to be buried."""
    known = processes()
    children: dict[int, list[int]] = {}
    for pid, process in known.items():
        children.setdefault(process.parent, []).append(pid)
    found: dict[int, ProcessEntry] = {}
    waiting = [pid for pid in children.get(own_number(), ()) if pid not in spared]
    while waiting:
        pid = waiting.pop()
        found[pid] = known[pid]
        waiting.extend(children.get(pid, ()))
    return found


def _signal_all(targets: Mapping[int, ProcessEntry], number: signal.Signals) -> None:
    """Signal these processes, and their groups.

    A group gets its signal in one stroke, and with it a process that flees from
    one process id to the next by forking.  All of a group descend from the child
    that founded its session; only the one that we are in ourselves is exempt.
    """
    for group in {process.group for process in targets.values()} - {os.getpgrp()}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for pid in targets:
        _signal(pid, number)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
