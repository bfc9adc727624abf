"""The fork server of children: for each it forks a nanny, which forks the child below itself."""

import os
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker.child import flush_output, prepare_output
from headway.runtime.forker.nanny import run_nanny
from headway.runtime.forker.records import Exit, ForkerError
from headway.runtime.forker.server import ForkServer, import_all
from headway.runtime.processes.frames import Frame, receive_message, send_frame
from headway.runtime.processes.linux import become_subreaper, become_undumpable, native_threads
from headway.runtime.processes.tree import kill_descendants, kill_stopped, see_off
from headway.runtime.sandbox import Layer, Sandbox, namespaces, scratch
from headway.runtime.sandbox.sandbox_home import (
    NannySandbox,
    SandboxHome,
    fork_first,
    fork_nanny,
    make_folder,
)
from headway.runtime.sandbox.trial import can_live_apart, find_out

_END_SECONDS: Final = 5.0
"""Seconds that nannies have to end; the supervisor waits for longer."""


def serve(control: socket.socket, preload: Sequence[str]) -> None:
    """Import the modules `preload`, then fork nannies until the supervisor is gone."""
    shield()
    prepare_output()
    try:
        import_all(preload, flush_output)
    except (ImportError, ForkerError) as error:
        with suppress(OSError):  # the supervisor has given up waiting
            send_frame(control, {"failed": str(error)})
        return
    attend(control)


def shield() -> None:
    """Block all signals that have a name, but SIGCHLD, here and in the nannies.

    They end when their supervisor does, not when a service manager signals
    everyone.  Blocked, and not ignored, so that a signal which reaches a child
    before it is set up is delivered once it is.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals) - {signal.SIGCHLD})


def attend(control: socket.socket, lifeline: int | None = None) -> None:
    """Serve the supervisor at the other end until it is gone, or the lifeline is cut."""
    hello = receive_message(control)
    if hello is None:
        return
    ready: Frame = {"ready": native_threads(), "isolation": None}
    apart = hello[0]["apart"] and can_live_apart()
    home = None
    if hello[0]["sandbox"] is not None:
        become_undumpable()
        home, ready["isolation"] = _make_home(hello[0])
    try:
        server = _ChildForks(control, home, lifeline, apart=apart)
        with suppress(OSError):  # the supervisor has gone, as the next look at the control tells
            send_frame(control, {**ready, "clock": SystemClock().monotonic()})
        server.run()
    finally:
        if home is not None:
            with suppress(PermissionError):
                scratch.remove(home.folder)


def _make_home(hello: Frame) -> tuple[SandboxHome, Frame]:
    """Find out which layers of the sandbox hold here; return what nannies must know of it."""
    folder = make_folder()
    without = frozenset(map(Layer, hello["without"]))
    isolation = find_out(Sandbox.from_frame(hello["sandbox"]), without, folder)
    return SandboxHome(isolation.in_force, folder), isolation.to_frame()


class _NannyRecord(NamedTuple):
    """What is kept of a nanny: the socket that tells its end, and its scratch folder."""

    child_control: int
    folder: Path | None


class _ChildForks(ForkServer[NoReturn]):
    def __init__(
        self, control: socket.socket, home: SandboxHome | None, watched: int | None, *, apart: bool
    ) -> None:
        become_subreaper()
        super().__init__(control, watched)
        self._home = home
        self._apart = apart
        self._lifeline, self._held = os.pipe()
        self._nannies: dict[int, _NannyRecord] = {}
        self._fallen: list[_NannyRecord] = []
        self._born = 0

    def obey(self, frame: Frame, files: list[int]) -> None:
        """Fork the nannies that are asked for."""
        for child_control in files:
            self._fork(child_control, self._home if frame["sandbox"] else None)

    def _fork(self, child_control: int, home: SandboxHome | None) -> None:
        self._born += 1
        folder = None if home is None else home.folder / str(self._born)
        try:
            pid = (
                self._fork_plain(child_control)
                if home is None
                else self._fork_nested(child_control, home)
            )
        except OSError as error:
            _report_lost(child_control, f"The system refused to fork: {error.strerror}.")
            return
        self._nannies[pid] = _NannyRecord(child_control, folder)

    def _fork_plain(self, child_control: int) -> int:
        if self._apart:
            return fork_first(
                namespaces.enter_privileged,
                lambda _entered: run_nanny(child_control, self._lifeline, apart=True),
            )
        pid = os.fork()
        if pid == 0:
            run_nanny(child_control, self._lifeline)
        return pid

    def _fork_nested(self, child_control: int, home: SandboxHome) -> int:
        folder = home.folder / str(self._born)

        def run(home: SandboxHome) -> NoReturn:
            run_nanny(child_control, self._lifeline, NannySandbox(home, folder))

        return fork_nanny(home, run)

    def after_burials(self) -> None:
        """Where a nanny was killed, kill what it had been looking after.

        Its child dies with it and the rest of that tree falls to this process.
        The supervisor is told only when all are dead.
        """
        kill_stopped(self._nannies)
        while self._fallen:
            kill_descendants(self.bury, spared=self._nannies)
            nanny = self._fallen.pop()
            if nanny.folder is not None:
                with suppress(PermissionError):  # in a sandbox: who made that has to remove it
                    scratch.remove(nanny.folder)
            _report_lost(nanny.child_control, "Its nanny died, and the child was killed.")

    def bury(self, pid: int, status: int) -> None:
        """Take note of the end of a nanny."""
        nanny = self._nannies.pop(pid, None)
        if nanny is None:
            return
        if status == 0:
            os.close(nanny.child_control)
        else:
            self._fallen.append(nanny)

    def end(self) -> None:
        """Let go of the lifeline, which ends all nannies; wait for them."""
        os.close(self._held)
        see_off(self._nannies, self.wakeup, self.bury, _END_SECONDS)
        kill_descendants(self.bury)


def _report_lost(child_control: int, why: str) -> None:
    with socket.socket(fileno=child_control) as sock, suppress(OSError):
        send_frame(sock, {"exit": Exit(lost=why).to_frame()})
