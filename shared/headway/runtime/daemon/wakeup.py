"""What wakes a thread that waits in a selector."""

import socket
from contextlib import suppress


class Button:
    """Any thread may press it; the selector with which it is registered then wakes up."""

    def __init__(self) -> None:
        self._reading, self._writing = socket.socketpair()
        self._reading.setblocking(False)
        self._writing.setblocking(False)

    def fileno(self) -> int:
        """Return what a selector waits for."""
        return self._reading.fileno()

    def press(self) -> None:
        """Wake whoever waits."""
        with suppress(BlockingIOError):  # it is pressed already
            self._writing.send(b"!")

    def release(self) -> None:
        """Take note of it, however often it was pressed."""
        self._reading.recv(4096)

    def close(self) -> None:
        """Wake nobody any more."""
        self._reading.close()
        self._writing.close()
