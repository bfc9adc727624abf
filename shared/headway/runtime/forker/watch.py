"""Watch over one child: until it ends, is told to, or has nobody left to work for."""

import select
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker.deadline import Deadline
from headway.runtime.forker.records import ChildLimits, Exit
from headway.runtime.processes.frames import receive_message, send_frame
from headway.runtime.processes.oom import oom_kills
from headway.runtime.processes.tree import Kill, Wakeup, descendants, kill_tree, reap, signal_group

_CLOCK: Final = SystemClock()

UNLIMITED: Final = ChildLimits()

_LOOK_SECONDS: Final = 1.0
"""How often what a child has become is looked at, unless its limits say otherwise."""

_READ_SECONDS: Final = 1.0
"""How often a deadline is read at least.  The wait of `poll` does not count the time during which
the machine is suspended: this is how late a nanny may be after that."""


class ChildWatch:
    """A nanny's watch over one child, and over how much it becomes."""

    def __init__(
        self,
        child_control: socket.socket,
        lifeline: int,
        wakeup: Wakeup,
        kill: Kill = kill_tree,
        limits: ChildLimits = UNLIMITED,
        tidy: Callable[[], None] = lambda: None,
    ) -> None:
        self._child_control = child_control
        self._lifeline = lifeline
        self._wakeup = wakeup
        self._kill = kill
        self._limits = limits
        self._tidy = tidy
        bounded = limits.processes is not None or limits.memory_bytes is not None
        self._look_seconds = limits.look_seconds or _LOOK_SECONDS
        self._count_at = _CLOCK.monotonic() + self._look_seconds if bounded else None
        self._child = 0
        self._deadline: Deadline | None = None
        self._oom_kills = oom_kills()
        self._exit: Exit | None = None
        self._kill_at: float | None = None

    def over(self, child: int, deadline: Deadline | None = None) -> None:
        """Wait until the process `child` has ended or must; report once nothing of it lives.

        It must end when its deadline has passed, whatever its supervisor does.
        A process id means something to the supervisor only if it is not of a namespace.
        """
        self._child, self._deadline = child, deadline
        if self._kill is kill_tree:
            self._tell({"pid": child})
        events = select.poll()
        for source in (self._child_control.fileno(), self._lifeline, self._wakeup.fileno()):
            events.register(source, select.POLLIN)
        while self._exit is None and not self._too_late():
            self._attend({descriptor for descriptor, _ in events.poll(self._patience())})
            self._count()
            self._expire()
        self._kill(child, self._bury)
        self._tidy()
        self.report(self._exit or Exit(lost="It was not seen to end."))

    def report(self, end: Exit) -> None:
        """Tell the supervisor how the child ended."""
        self._tell({"exit": end.to_frame()})

    def _attend(self, ready: set[int]) -> None:
        if self._wakeup.fileno() in ready:
            self._wakeup.clear()
            reap(self._bury)
        if self._lifeline in ready:
            self._exit = Exit(lost="The forker died, and the child was killed.")
        elif self._child_control.fileno() in ready and self._exit is None:
            self._obey()

    def _obey(self) -> None:
        """Do as the supervisor says; its death is an order to kill."""
        message = receive_message(self._child_control)
        grace = message[0]["stop"] if message else None
        if grace is None:
            self._kill_at = _CLOCK.monotonic()
            return
        signal_group(self._child, signal.SIGTERM)
        kill_at = _CLOCK.monotonic() + grace
        self._kill_at = kill_at if self._kill_at is None else min(kill_at, self._kill_at)

    def _count(self) -> None:
        if self._count_at is None or self._exit is not None:
            return
        if _CLOCK.monotonic() < self._count_at:
            return
        self._count_at = _CLOCK.monotonic() + self._look_seconds
        there, limits = descendants().values(), self._limits
        if (
            limits.processes is not None
            and sum(process.threads for process in there) > limits.processes
        ):
            self._exit = Exit(exceeded=f"{limits.processes} processes and threads")
        elif (most := limits.memory_bytes) is not None and sum(
            process.memory_bytes for process in there
        ) > most:
            self._exit = Exit(exceeded=f"{most:,} bytes of memory")

    def _expire(self) -> None:
        if self._exit is None and self._deadline is not None and self._deadline.has_passed():
            self._exit = Exit(lost="Its deadline passed without being moved; it was killed.")

    def _too_late(self) -> bool:
        return self._kill_at is not None and self._kill_at <= _CLOCK.monotonic()

    def _patience(self) -> float | None:
        now = _CLOCK.monotonic()
        due = [self._kill_at, self._count_at]
        if self._deadline is not None:
            due.append(min(self._deadline.moment(), now + _READ_SECONDS))
        first = min((at for at in due if at is not None), default=None)
        return None if first is None else max(first - now, 0.0) * 1000 + 1

    def _bury(self, pid: int, status: int) -> None:
        if pid == self._child and self._exit is None:
            end = Exit.from_wait_status(status)
            killed = end.signal == signal.SIGKILL
            self._exit = replace(end, oom_kills=self._oom_kills_meanwhile()) if killed else end

    def _oom_kills_meanwhile(self) -> int | None:
        now = oom_kills()
        return None if now is None or self._oom_kills is None else now - self._oom_kills

    def _tell(self, frame: dict[str, object]) -> None:
        with suppress(OSError):  # the supervisor is gone; there is nobody to tell
            send_frame(self._child_control, frame)
