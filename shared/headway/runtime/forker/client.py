"""The supervisor's side: start a forker and have it start children."""

import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from threading import Lock
from types import TracebackType
from typing import Final, Self

from headway.runtime.forker.handle import Child
from headway.runtime.forker.records import ChildSpec, ForkerError
from headway.runtime.forker.wire import send_message
from headway.runtime.frames import encode_frame, receive_frame

READY_SECONDS: Final = 60.0
_SEND_SECONDS: Final = 10.0
_END_SECONDS: Final = 10.0


class Forker:
    """A fork server that has imported what its children need.

    It can be put into a selector: it becomes readable when the forker has died.
    Its children are dead then as well, and each reports itself lost; start a new
    one.  Threads may share a forker.
    """

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self.native_threads: Sequence[str] = ()
        self._process = process
        self._control = control
        self._sending = Lock()
        self._idle: list[socket.socket] = []

    @classmethod
    def start(
        cls,
        preload: Sequence[str],
        environment: Mapping[str, str],
        ready_seconds: float = READY_SECONDS,
    ) -> Self:
        """Start a forker with this environment and no other, and wait for its imports.

        Modules must not leave threads running, which is a ForkerError.  Threads of
        native libraries cannot be judged from here; `native_threads` names them.
        """
        control, theirs = socket.socketpair()
        descriptor = str(theirs.fileno())
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "headway.runtime.forker", descriptor, *preload],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        forker = cls(process, control)
        try:
            forker._await_ready(preload, ready_seconds)
        except ForkerError:
            forker._kill()
            raise
        return forker

    @property
    def pid(self) -> int:
        """The forker's process id."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the forker has died."""
        return self._control.fileno()

    def alive(self) -> bool:
        """Return whether the forker is still there."""
        return self._process.poll() is None

    def spawn(self, spec: ChildSpec, log: int) -> Child:
        """Start a child whose output goes to the descriptor `log`, without waiting for it.

        The caller closes its copy of `log`.  If it is a pipe's end, the other end
        must be drained, and comes to its end when the child's whole tree has.
        """
        request = encode_frame({"start": spec.to_frame()})
        channel, childs_channel = socket.socketpair()
        with childs_channel, ExitStack() as unless_started:
            unless_started.enter_context(channel)
            files = [childs_channel.fileno(), log]
            reins = self._ask_idle_nanny(request, files) or self._ask_new_nanny(request, files)
            unless_started.pop_all()
        return Child(channel, reins, self._take_back)

    def close(self) -> None:
        """End the forker and all its children; return when none of them is left."""
        self._control.close()
        while self._idle:
            self._idle.pop().close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _await_ready(self, preload: Sequence[str], seconds: float) -> None:
        modules = ", ".join(preload) or "nothing"
        self._control.settimeout(seconds)
        try:
            answer = receive_frame(self._control)
        except TimeoutError as error:
            raise ForkerError(
                f"The fork server was not ready in {seconds:g} s; it was importing {modules}."
            ) from error
        if answer is None:
            raise ForkerError(
                f"The fork server died importing {modules}; its error output says why."
            )
        if "failed" in answer:
            raise ForkerError(f"The fork server cannot start: {answer['failed']}")
        self.native_threads = answer["ready"]
        self._control.settimeout(_SEND_SECONDS)

    def _ask_idle_nanny(self, request: bytes, files: list[int]) -> socket.socket | None:
        """Have an idle nanny start a child; return its reins, or None if there is no such nanny."""
        while self._idle:
            try:
                reins = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            try:
                send_message(reins, request, files)
            except OSError:  # it has died while idle
                reins.close()
            else:
                return reins
        return None

    def _ask_new_nanny(self, request: bytes, files: list[int]) -> socket.socket:
        reins, theirs = socket.socketpair()
        try:
            with theirs, self._sending:
                send_message(self._control, encode_frame({}), [theirs.fileno()])
            reins.settimeout(_SEND_SECONDS)
            with suppress(BrokenPipeError):  # it could not be forked: the child will say so
                send_message(reins, request, files)
        except OSError as error:
            reins.close()
            self._kill()  # half a message may be on its way: nothing can follow it
            raise ForkerError(
                f"The fork server has died ({error}); its children are lost. Start a new one."
            ) from error
        reins.settimeout(None)
        return reins

    def _take_back(self, reins: socket.socket) -> None:
        """Keep the nanny of a child that has ended for the next one."""
        if self._control.fileno() == -1:
            reins.close()
        else:
            self._idle.append(reins)

    def _kill(self) -> None:
        self._control.close()
        self._process.kill()
        self._process.wait()
