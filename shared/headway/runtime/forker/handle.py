"""The supervisor's hold on one child: stop it, hear how it ended."""

import select
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker.deadline import Deadline
from headway.runtime.forker.records import Exit
from headway.runtime.processes.frames import FrameReader, send_frame

_CLOCK: Final = SystemClock()


class Child:
    """A child, as its supervisor sees it; one thread at a time may use it.

    `channel` joins it to the child.  The child itself can be put into a selector:
    it becomes readable when `poll` has something to tell.  An exit is reported
    only when no descendant of the child is left.
    `pid` is None until it is known, and always for one in a PID namespace.
    """

    def __init__(
        self,
        channel: socket.socket,
        child_control: socket.socket,
        give_back: Callable[[socket.socket], None],
        deadline: Deadline | None = None,
    ) -> None:
        self.channel = channel
        self.pid: int | None = None
        self._child_control = child_control
        self._give_back = give_back
        self._deadline = deadline
        self._closed = False
        self._frames = FrameReader()
        self._exit: Exit | None = None

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when there is news."""
        return self._child_control.fileno()

    @property
    def exit(self) -> Exit | None:
        """How the child ended, as far as `poll` or `wait` have heard of it."""
        return self._exit

    @property
    def is_gone(self) -> bool:
        """Whether it is certain that nothing of the child and its descendants is left."""
        return self._exit is not None and self._exit.lost is None

    def poll(self) -> Exit | None:
        """Return how the child ended, None while it lives; never wait."""
        if self._exit is None:
            self._read_news()
        return self._exit

    def wait(self, seconds: float) -> Exit | None:
        """Wait at most so long for the child's end; None if it still lives then."""
        deadline = _CLOCK.monotonic() + seconds
        news = select.poll()
        news.register(self._child_control, select.POLLIN)
        while self.poll() is None:
            left = deadline - _CLOCK.monotonic()
            if left <= 0:
                return None
            news.poll(left * 1000 + 1)
        return self._exit

    def stop(self, grace_seconds: float) -> None:
        """Ask the child to end (SIGTERM to its group); kill its tree after the grace."""
        self._order({"stop": grace_seconds})

    def hold_until(self, moment: float) -> None:
        """Move the deadline of a child that has one: its nanny kills its tree at that moment."""
        if self._deadline is not None and not self._closed:
            self._deadline.move(moment)

    def kill(self) -> None:
        """Kill the child and all its descendants at once."""
        self._order({"stop": None})

    def close(self) -> None:
        """Let go of the child, after taking it out of any selector; if it lives, that kills it."""
        if self._closed:
            return
        self._closed = True
        self.channel.close()
        if self._deadline is not None:
            self._deadline.close()
        if self.is_gone:
            self._give_back(self._child_control)
        else:
            self._child_control.close()

    def _order(self, order: Mapping[str, object]) -> None:
        if self._exit is not None:
            return
        with suppress(OSError):  # its nanny is gone, which `poll` will tell
            send_frame(self._child_control, order)

    def _read_news(self) -> None:
        try:
            data = self._child_control.recv(4096, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        for frame in self._frames.feed(data):
            if "pid" in frame:
                self.pid = frame["pid"]
            else:
                self._exit = Exit.from_frame(frame["exit"])
        if not data:
            self._exit = Exit(lost="The forker and the child's nanny died.")
