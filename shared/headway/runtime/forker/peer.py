"""The process at the other end of the control: one that was started, or one that was found."""

import select
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from typing import Final, Protocol

from headway.runtime.forker.handle import Child

_CREDENTIALS: Final = struct.Struct("3i")


class Peer(Protocol):
    """A forker, as its supervisor can look at it and end it."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def alive(self) -> bool:
        """Return whether it is there."""

    def end(self, control: socket.socket, seconds: float) -> None:
        """Have it end well; return when it has."""

    def kill(self, control: socket.socket) -> None:
        """Have it end at once."""


class StartedForker:
    """A forker that this process has started."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def alive(self) -> bool:
        """Return whether it is there."""
        return self._process.poll() is None

    def end(self, control: socket.socket, seconds: float) -> None:
        """Have it end well, or kill it; return when it has ended."""
        control.close()
        self._process.send_signal(signal.SIGCONT)  # should somebody have stopped it
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill(control)

    def kill(self, control: socket.socket) -> None:
        """Kill it; its nannies notice."""
        control.close()
        self._process.kill()
        self._process.wait()


class FoundForker:
    """A server that the forker at a socket has forked for this process."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    @property
    def pid(self) -> int:
        """The process id of the program that listens, 0 where it cannot be known."""
        return credentials(self._control)[0]

    def alive(self) -> bool:
        """Return whether it is there: it has nothing to say until it closes its end."""
        events = select.poll()
        if self._control.fileno() == -1:
            return False
        events.register(self._control, select.POLLIN)
        return not events.poll(0)

    def end(self, control: socket.socket, seconds: float) -> None:
        """Have it end; it closes its end when nothing of its children is left."""
        with suppress(OSError):
            control.shutdown(socket.SHUT_WR)
            control.settimeout(seconds)
            while control.recv(4096):
                pass
        control.close()

    def kill(self, control: socket.socket) -> None:
        """Let go of it, and it ends."""
        control.close()


class ChildForker:
    """A fork server that is a child of another one: it has a nanny, which kills all below it."""

    def __init__(self, child: Child) -> None:
        self._child = child

    @property
    def pid(self) -> int:
        """Its process id, 0 where it cannot be known."""
        return self._child.pid or 0

    def alive(self) -> bool:
        """Return whether it is there."""
        return self._child.poll() is None

    def end(self, control: socket.socket, seconds: float) -> None:  # noqa: ARG002 - no wait
        """Have its nanny kill it and its children; that is not waited for."""
        self.kill(control)

    def kill(self, control: socket.socket) -> None:
        """Have its nanny kill it and its children."""
        control.close()
        self._child.close()


def credentials(sock: socket.socket) -> tuple[int, int]:
    """Return process id and user of who is at the other end; 0 and -1 where nobody can tell."""
    if sys.platform != "linux":
        return 0, -1
    found = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _group = _CREDENTIALS.unpack(found)
    return pid, user
