"""The supervisor's side: start a forker, early if need be, and have it start children."""

import socket
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker.deadline import Deadline
from headway.runtime.forker.handle import Child
from headway.runtime.forker.hashes import with_fixed_hashes
from headway.runtime.forker.peer import ChildForker, FoundForker, Peer, StartedForker
from headway.runtime.forker.records import ChildSpec, ForkerError
from headway.runtime.processes.frames import Frame, encode_frame, receive_frame, send_message
from headway.runtime.sandbox import Isolation, Layer, Sandbox

READY_SECONDS: Final = 60.0


_CLOCK: Final = SystemClock()
_PROGRAM: Final = (sys.executable, "-P", "-m", "headway.runtime.forker", "children")


_SEND_SECONDS: Final = 10.0


_END_SECONDS: Final = 10.0
"""Seconds that a fork server has to end: longer than it waits for its nannies."""


class Forker:
    """A fork server that has imported what its children need.

    It can be put into a selector: it becomes readable when the forker has died.
    Its children are dead then as well, and each reports itself lost; start a new
    one.  Threads may share a forker.

    For sandboxed children name a `sandbox` such as they will have: it is tried out at
    the start, and `isolation` says which of its layers hold.  A caller may do
    `without` some of them.  The trees of other children are kept `apart` on request: each in
    a PID namespace of its own, where the kernel allows that to the forker as it is.
    """

    def __init__(self, peer: Peer, control: socket.socket) -> None:
        self.native_threads: Sequence[str] = ()
        self.isolation: Isolation | None = None
        self._peer = peer
        self._control = control
        self._sending = Lock()
        self._idle: Mapping[bool, list[socket.socket]] = {False: [], True: []}

    @classmethod
    def start(
        cls,
        preload: Sequence[str],
        environment: Mapping[str, str],
        ready_seconds: float = READY_SECONDS,
        *,
        sandbox: Sandbox | None = None,
        without: Collection[Layer] = (),
        apart: bool = False,
    ) -> Self:
        """Start a forker with this environment and no other, and wait for its imports.

        Its hashes of strings are those of every forker, whatever the environment says of them.
        Modules must not leave threads running, which is a ForkerError.  Threads of
        native libraries cannot be judged from here; `native_threads` names them.
        """
        control, theirs = socket.socketpair()
        descriptor = str(theirs.fileno())
        with theirs:
            process = subprocess.Popen(
                [*_PROGRAM, descriptor, *preload],
                env=with_fixed_hashes(environment),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        what = f"importing {', '.join(preload) or 'nothing'}"
        forker = cls(StartedForker(process), control)
        forker._greet(what, ready_seconds, _hello(sandbox, without, apart=apart))
        return forker

    @classmethod
    def connect(
        cls,
        path: Path,
        ready_seconds: float = READY_SECONDS,
        *,
        sandbox: Sandbox | None = None,
        without: Collection[Layer] = (),
        apart: bool = False,
    ) -> Self:
        """Have a fork server that runs already, `headway forker`, serve this process too."""
        control = socket.socket(socket.AF_UNIX)
        try:
            control.connect(str(path))
        except OSError as error:
            control.close()
            raise ForkerError(
                f"No fork server can be reached at {path}: {error.strerror}. "
                "Start it with `headway forker`."
            ) from error
        peer = FoundForker(control)
        forker = cls(peer, control)
        forker._greet("accepting", ready_seconds, _hello(sandbox, without, apart=apart))
        return forker

    @classmethod
    def within(
        cls,
        child: Child,
        ready_seconds: float = READY_SECONDS,
        *,
        sandbox: Sandbox | None = None,
        without: Collection[Layer] = (),
    ) -> Self:
        """Have a child that is a fork server itself (`nannies.attend`) serve this process.

        The child's channel is its control.  Its children have the child's layers, and those
        that are tried here besides.  ForkerError if it does not answer; the child is closed then.
        """
        forker = cls(ChildForker(child), child.channel)
        forker._greet("accepting", ready_seconds, _hello(sandbox, without, apart=False))
        return forker

    @property
    def pid(self) -> int:
        """The forker's process id, as this process knows it; 0 if it cannot."""
        return self._peer.pid

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the forker has died."""
        return self._control.fileno()

    def alive(self) -> bool:
        """Return whether the forker is still there."""
        return self._peer.alive()

    def spawn(self, spec: ChildSpec, log: int, errors: int | None = None) -> Child:
        """Start a child whose output goes to the descriptor `log`, without waiting for it.

        What it prints to stderr goes to `errors`, if that is given.  The caller closes its
        copies.  If they are pipes' ends, the other ends must be drained, and come to their end
        when the child's whole tree has.  OSError when this process may open no more files.
        """
        if spec.sandbox is not None and self.isolation is None:
            raise ForkerError("This fork server was not started for sandboxed children.")
        request = encode_frame({"start": spec.to_frame()})
        sandboxed = spec.sandbox is not None
        channel, childs_channel = socket.socketpair()
        with childs_channel, ExitStack() as unless_started:
            unless_started.enter_context(channel)
            files = [childs_channel.fileno(), log, log if errors is None else errors]
            deadline = None
            if spec.limits.until is not None:
                deadline = Deadline.new(spec.limits.until)
                unless_started.callback(deadline.close)
                files.append(deadline.fileno())
            child_control = self._ask_idle_nanny(
                request, files, sandboxed=sandboxed
            ) or self._ask_new_nanny(request, files, sandboxed=sandboxed)
            unless_started.pop_all()
        return Child(
            channel, child_control, partial(self._take_back, sandboxed=sandboxed), deadline
        )

    def close(self) -> None:
        """End the forker and all its children; return when none of them is left."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
        self._peer.end(self._control, _END_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _greet(self, what: str, seconds: float, hello: Frame) -> None:
        """Say what is wanted, and wait until it is there; otherwise end the forker."""
        try:
            self._control.settimeout(seconds)
            asked_at = _CLOCK.monotonic()
            with suppress(BrokenPipeError):  # it has died, and may have said why
                send_message(self._control, encode_frame(hello))
            self._await_ready(what, seconds, asked_at)
        except ForkerError:
            self._kill()
            raise

    def _await_ready(self, what: str, seconds: float, asked_at: float) -> None:
        try:
            answer = receive_frame(self._control)
        except TimeoutError as error:
            raise ForkerError(
                f"The fork server was not ready in {seconds:g} s; it was {what}."
            ) from error
        except ConnectionResetError:
            answer = None
        if answer is None:
            raise ForkerError(f"The fork server died {what}; its error output says why.")
        if "failed" in answer:
            raise ForkerError(f"The fork server cannot start: {answer['failed']}")
        if not asked_at <= answer["clock"] <= _CLOCK.monotonic():
            raise ForkerError(
                "The fork server has another clock: it runs in a time namespace of its own, so the "
                "deadlines of children would mean nothing to it. Run both in one time namespace."
            )
        self.native_threads = answer["ready"]
        self.isolation = answer["isolation"] and Isolation.from_frame(answer["isolation"])
        self._control.settimeout(_SEND_SECONDS)

    def _ask_idle_nanny(
        self, request: bytes, files: list[int], *, sandboxed: bool
    ) -> socket.socket | None:
        """Have an idle nanny start a child; return its reins, None if there is no such nanny."""
        idle = self._idle[sandboxed]
        while idle:
            try:
                child_control = idle.pop()
            except IndexError:  # another thread was faster
                return None
            try:
                send_message(child_control, request, files)
            except OSError:  # it has died while idle
                child_control.close()
            else:
                return child_control
        return None

    def _ask_new_nanny(self, request: bytes, files: list[int], *, sandboxed: bool) -> socket.socket:
        child_control, theirs = socket.socketpair()
        try:
            with theirs, self._sending:
                send_message(self._control, encode_frame({"sandbox": sandboxed}), [theirs.fileno()])
            child_control.settimeout(_SEND_SECONDS)
            with suppress(BrokenPipeError):  # it could not be forked: the child will say so
                send_message(child_control, request, files)
        except OSError as error:
            child_control.close()
            self._kill()  # half a message may be on its way: nothing can follow it
            raise ForkerError(
                f"The fork server has died ({error}); its children are lost. Start a new one."
            ) from error
        child_control.settimeout(None)
        return child_control

    def _take_back(self, child_control: socket.socket, *, sandboxed: bool) -> None:
        """Keep the nanny of a child that has ended for the next one."""
        if self._control.fileno() == -1:
            child_control.close()
        else:
            self._idle[sandboxed].append(child_control)

    def _kill(self) -> None:
        self._peer.kill(self._control)


def _hello(sandbox: Sandbox | None, without: Collection[Layer], *, apart: bool) -> Frame:
    found = sandbox and sandbox.to_frame()
    return {"sandbox": found, "without": sorted(without), "apart": apart}


def begin(start: Callable[[], Forker]) -> Future[Forker]:
    """Begin to start a fork server, in a thread."""
    threads = ThreadPoolExecutor(1, "forker")
    starting = threads.submit(start)
    threads.shutdown(wait=False)
    return starting
