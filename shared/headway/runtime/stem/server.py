"""The stem's own process: read modules once, then fork programs."""

import gc
import importlib
import os
import select
import signal
import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from headway.runtime.daemon.service import GATE
from headway.runtime.processes.frames import Frame, close_all, receive_message, send_frame
from headway.runtime.processes.linux import name_process
from headway.runtime.processes.parent_death import die_with_parent
from headway.runtime.processes.tree import Wakeup, reap, see_off
from headway.runtime.stem.records import ServiceOrder

_END_SECONDS: Final = 5.0
"""Seconds that programs have to end which the launcher has not waited for."""


def serve(control: socket.socket, modules: Iterable[str]) -> ServiceOrder | None:
    """Import the modules, then fork programs until the launcher is gone.

    In a program just forked it returns what that is to run; in the stem itself, None at the end.
    """
    gc.disable()  # modules make many objects and no garbage
    for module in modules:
        importlib.import_module(module)
    gc.freeze()  # what is there now stays shared with all programs
    gc.enable()
    return _ServiceForks(control).run()


class _ServiceForks:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._wakeup = Wakeup()
        self._living: set[int] = set()

    def run(self) -> ServiceOrder | None:
        events = select.poll()
        for source in (self._wakeup.fileno(), self._control.fileno()):
            events.register(source, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in events.poll()}
            if self._wakeup.fileno() in ready:
                self._wakeup.clear()
                reap(self._bury)
            if self._control.fileno() in ready:
                message = receive_message(self._control)
                if message is None:
                    self._end()
                    return None
                order = self._obey(*message)
                if order is not None:
                    return order

    def _obey(self, frame: Frame, files: list[int]) -> ServiceOrder | None:
        """Do what the launcher says; return an order in the process that is to carry it out."""
        if "signal" in frame:
            if frame["pid"] in self._living:  # else the number may be another process's by now
                os.kill(frame["pid"], frame["signal"])
            return None
        order, stem = ServiceOrder.from_frame(frame["start"]), os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            close_all(files)
            self._say({"refused": f"The system refused to fork: {error.strerror}."})
            return None
        if pid == 0:
            self._leave(stem)
            _become(order, files)
            return order
        close_all(files)
        self._living.add(pid)
        self._say({"started": pid})
        return None

    def _say(self, frame: Frame) -> None:
        with suppress(OSError):  # the launcher has gone, as the next look at the control tells
            send_frame(self._control, frame)

    def _leave(self, stem: int) -> None:
        """Let go, in a program just forked, of all that is the stem's."""
        os.setsid()
        die_with_parent(parent=stem)
        self._wakeup.close()
        self._control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    def _bury(self, pid: int, status: int) -> None:
        if pid in self._living:
            self._living.remove(pid)
            self._say({"ended": pid, "code": os.waitstatus_to_exitcode(status)})

    def _end(self) -> None:
        """Have what still runs end, and wait for it."""
        for pid in self._living:
            os.kill(pid, signal.SIGTERM)
        see_off(self._living, self._wakeup, self._forget, _END_SECONDS)

    def _forget(self, pid: int, _status: int) -> None:
        self._living.discard(pid)


def _become(order: ServiceOrder, files: Sequence[int]) -> None:
    """Take the environment of the program, its output, and its gate if there is one."""
    output, *gate = files
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.clear()  # noqa: TID251 - its own, from here on
    os.environ.update(order.environment)  # noqa: TID251
    if gate:
        os.environ[GATE] = str(gate[0])  # noqa: TID251
    name_process(" ".join(["headway", *order.arguments]))
