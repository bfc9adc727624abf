"""Wake a process that waits for sockets when one of its children has ended."""

import signal
import socket
from contextlib import suppress


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
