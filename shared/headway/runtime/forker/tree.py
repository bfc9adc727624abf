"""Kill process trees so that nothing survives, whatever its members do about it.

On Linux the caller must be a subreaper: whoever loses its parent becomes a child
of the caller, so no descendant can get out of its sight.  Other systems have
nothing of the kind; there a process that leaves its group gets away.
"""

import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from headway.runtime.forker.linux import parents

OnExit = Callable[[int, int], None]
"""Told the process id and the wait status of each child that has ended."""


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
        for pid in doomed:
            _signal(pid, signal.SIGKILL)
        on_exit(*os.waitpid(-1, 0))


def _freeze(spared: Collection[int]) -> set[int]:
    """Stop all descendants, so that none of them forks while the others are killed."""
    stopped: set[int] = set()
    while found := set(descendants(spared)) - stopped:
        for pid in found:
            _signal(pid, signal.SIGSTOP)
        stopped |= found
    return stopped


def descendants(spared: Collection[int] = ()) -> Iterator[int]:
    """Yield the descendants of this process that live, or wait to be buried."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    waiting = [pid for pid in children.get(os.getpid(), ()) if pid not in spared]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting.extend(children.get(pid, ()))


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
