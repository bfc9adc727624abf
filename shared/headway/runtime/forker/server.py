"""The loop of a fork server: import once, take orders with open files, bury what has ended, end.

`nannies` forks children below nannies, `services` forks services; both are such a loop.
"""

import gc
import importlib
import select
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from headway.runtime.forker.records import ForkerError
from headway.runtime.processes import heap
from headway.runtime.processes.frames import Frame, receive_message
from headway.runtime.processes.tree import Wakeup, reap

T = TypeVar("T")


def import_all(modules: Iterable[str], flush: Callable[[], None] = lambda: None) -> None:
    """Import modules for all forks to share; ForkerError if that leaves a thread running.

    `flush` is called when all are imported, before what is there is frozen.
    """
    gc.disable()  # modules make many objects and little garbage
    try:
        names = list(modules)
        for module in names:
            importlib.import_module(module)
    finally:
        gc.enable()
    threads = [thread.name for thread in threading.enumerate()[1:]]
    if threads:
        raise ForkerError(
            f"Importing {', '.join(names)} left threads running ({', '.join(threads)}). "
            "A process with threads cannot be forked safely: start them in the child."
        )
    flush()
    gc.collect()
    heap.fill()  # what forks make goes to pages of their own
    gc.freeze()  # what is there now stays shared with all forks


class ForkServer(ABC, Generic[T]):
    """Serves who is at the other end of `control`, until that is gone or `watched` is readable.

    `run` returns None at the end; in a process just forked, what `obey` has returned there.
    """

    def __init__(self, control: socket.socket, watched: int | None = None) -> None:
        self.control, self._watched = control, watched
        self.wakeup = Wakeup()

    def run(self) -> T | None:
        """Serve.  Return None at the end, and in a process just forked what that is to do."""
        events = self._events()
        while True:
            ready = {descriptor for descriptor, _ in events.poll()}
            if self.wakeup.fileno() in ready:
                self.wakeup.clear()
                reap(self.bury)
                self.after_burials()
            if self.control.fileno() in ready:
                message = receive_message(self.control)
                if message is None:
                    break
                order = self.obey(*message)
                if order is not None:
                    return order
            if self._watched in ready:
                break
        self.end()
        return None

    def _events(self) -> select.poll:
        events = select.poll()
        for source in (self.wakeup.fileno(), self.control.fileno(), self._watched):
            if source is not None:
                events.register(source, select.POLLIN)
        return events

    @abstractmethod
    def obey(self, frame: Frame, files: list[int]) -> T | None:
        """Do what was asked for; in a process just forked, return what that is to do."""

    @abstractmethod
    def bury(self, pid: int, status: int) -> None:
        """Take note of the end of a child process of this one."""

    def after_burials(self) -> None:
        """Look after what is left when some have ended."""

    @abstractmethod
    def end(self) -> None:
        """End all that was forked."""
