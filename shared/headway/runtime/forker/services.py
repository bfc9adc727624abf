"""The fork server of services: it forks programs that share the modules it has imported."""

import os
import signal
import socket
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from headway.runtime.daemon.service import GATE
from headway.runtime.forker.records import ServiceOrder
from headway.runtime.forker.server import ForkServer, import_all
from headway.runtime.processes.frames import Frame, close_all, send_frame
from headway.runtime.processes.linux import name_process
from headway.runtime.processes.parent_death import die_with_parent
from headway.runtime.processes.tree import see_off

_END_SECONDS: Final = 5.0
"""Seconds that programs have to end which the launcher has not waited for."""


def serve(control: socket.socket, modules: Iterable[str]) -> ServiceOrder | None:
    """Import the modules, then fork programs until the launcher is gone.

    In a program just forked it returns what that is to run; in the fork server, None at the end.
    """
    import_all(modules)
    return _ServiceForks(control).run()


class _ServiceForks(ForkServer[ServiceOrder]):
    def __init__(self, control: socket.socket) -> None:
        super().__init__(control)
        self._living: set[int] = set()

    def obey(self, frame: Frame, files: list[int]) -> ServiceOrder | None:
        """Do what the launcher says; return an order in the process that is to carry it out."""
        if "signal" in frame:
            if frame["pid"] in self._living:  # else the number may be another process's by now
                os.kill(frame["pid"], frame["signal"])
            return None
        order, server = ServiceOrder.from_frame(frame["start"]), os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            close_all(files)
            self._say({"refused": f"The system refused to fork: {error.strerror}."})
            return None
        if pid == 0:
            self._leave(server)
            _become(order, files)
            return order
        close_all(files)
        self._living.add(pid)
        self._say({"started": pid})
        return None

    def bury(self, pid: int, status: int) -> None:
        """Tell the launcher that a program has ended."""
        if pid in self._living:
            self._living.remove(pid)
            self._say({"ended": pid, "code": os.waitstatus_to_exitcode(status)})

    def end(self) -> None:
        """Have what still runs end, and wait for it."""
        for pid in self._living:
            os.kill(pid, signal.SIGTERM)
        see_off(self._living, self.wakeup, self._forget, _END_SECONDS)

    def _say(self, frame: Frame) -> None:
        with suppress(OSError):  # the launcher has gone, as the next look at the control tells
            send_frame(self.control, frame)

    def _leave(self, server: int) -> None:
        """Let go, in a program just forked, of all that is the fork server's."""
        os.setsid()
        die_with_parent(parent=server)
        self.wakeup.close()
        self.control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)

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
