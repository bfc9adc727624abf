"""The launcher's side of forked services: start their fork server, and have it fork programs."""

import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Final, Self

from headway.domain.errors import HeadwayError
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker.records import ServiceOrder
from headway.runtime.processes.frames import Frame, encode_frame, receive_message, send_message
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.processes.starting import uninterrupted

_CLOCK: Final = SystemClock()
_PROGRAM: Final = (sys.executable, "-m", "headway.runtime.forker", "services")
_START_SECONDS: Final = 60.0
"""How long the fork server may take to import its modules."""

_END_SECONDS: Final = 10.0


class PreforkError(HeadwayError):
    """No program can be forked, because their fork server does not start."""

    code = "prefork"


class Service:
    """A program that was forked, with what `subprocess.Popen` offers of one."""

    def __init__(self, prefork: "Prefork", pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._prefork = prefork

    def poll(self) -> int | None:
        """Return the exit code, minus a signal's number, when it has ended."""
        while self.returncode is None and self._prefork.hear(0):
            pass
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; subprocess.TimeoutExpired when it does not come in so many seconds."""
        deadline = None if timeout is None else _CLOCK.monotonic() + timeout
        while self.returncode is None:
            left = None if deadline is None else max(0.0, deadline - _CLOCK.monotonic())
            if not self._prefork.hear(left) and left == 0:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.returncode is None:
            self._prefork.send_signal(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


class Prefork:
    """A process that has imported `modules`, and what was forked from it; a context manager.

    It is started with the context, and anew by the next `fork` when it has died; all programs
    that it had forked have then been told to end, and count as ended.  Use it in one thread that
    lives as long as they shall.  A KeyboardInterrupt may come at any time.
    """

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        self._modules = modules
        self._environment = environment
        self._services: dict[int, Service] = {}
        self._answer: Frame | None = None

    def __enter__(self) -> Self:
        with ExitStack() as ending:
            with uninterrupted():
                self._start()
                ending.callback(self.close)
            ending.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def fork(self, order: ServiceOrder, output: int, gate: int | None = None) -> Service:
        """Start a program that writes to the descriptor `output`.

        With a `gate`, the reading end of a pipe, it waits in `service.await_gate` for that's end.
        PreforkError when there is no fork server, OSError when it cannot fork.
        """
        files = [output] if gate is None else [output, gate]
        answer = self._ask(order, files)
        if answer is None:
            self._lose()
            self._control.close()
            self._start()
            answer = self._ask(order, files)
        if answer is None:
            raise PreforkError("The process that forks the services does not start; see above.")
        if "refused" in answer:
            raise OSError(answer["refused"])
        return self._services[answer["started"]]

    def hear(self, seconds: float | None) -> bool:
        """Take in what the fork server says; return whether there was anything in that time."""
        ready, _, _ = select.select([self._control], [], [], seconds)
        if not ready:
            return False
        with uninterrupted():
            message = receive_message(self._control)
            if message is None:
                self._lose()
            else:
                self._take(message[0])
        return True

    def send_signal(self, pid: int, number: int) -> None:
        """Have the fork server send a signal to a program, if that still runs."""
        with suppress(BrokenPipeError), uninterrupted():
            send_message(self._control, encode_frame({"signal": number, "pid": pid}))

    def close(self) -> None:
        """End the fork server and all that it has forked; return when nothing is left."""
        self._control.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        number = str(theirs.fileno())
        with theirs:
            self._process = subprocess.Popen(
                dies_with_parent([*_PROGRAM, number, *self._modules]),
                env=dict(self._environment),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _ask(self, order: ServiceOrder, files: Sequence[int]) -> Frame | None:
        """Return the answer to an order; None if the fork server is dead, or does not answer."""
        with suppress(BrokenPipeError), uninterrupted():  # then it is not heard of, either
            send_message(self._control, encode_frame({"start": order.to_frame()}), files)
        self._answer = None
        deadline = _CLOCK.monotonic() + _START_SECONDS
        while self._answer is None and self._process.poll() is None:
            if not self.hear(max(0.0, deadline - _CLOCK.monotonic())):
                break
        return self._answer

    def _take(self, frame: Frame) -> None:
        if "ended" in frame:
            self._services.pop(frame["ended"]).returncode = frame["code"]
            return
        if "started" in frame:
            self._services[frame["started"]] = Service(self, frame["started"])
        self._answer = frame

    def _lose(self) -> None:
        """Note that the fork server has died, and that the kernel has told its programs to end."""
        self._process.kill()
        self._process.wait()
        for service in self._services.values():
            service.returncode = -signal.SIGTERM
        self._services.clear()
