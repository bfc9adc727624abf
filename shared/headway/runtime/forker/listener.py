"""The forker as a program of its own, which supervisors find at a Unix socket."""

import errno
import os
import select
import signal
import socket
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from headway.runtime.forker.child import flush_output, prepare_output
from headway.runtime.forker.nannies import attend, shield
from headway.runtime.forker.peer import credentials
from headway.runtime.forker.ping import PING
from headway.runtime.forker.records import ForkerError
from headway.runtime.forker.server import import_all
from headway.runtime.processes.frames import Frame, close_all_but, send_frame
from headway.runtime.processes.linux import become_undumpable
from headway.runtime.processes.tree import Wakeup, reap, see_off

ENDING = frozenset({signal.SIGTERM, signal.SIGINT})

_END_SECONDS: Final = 8.0
"""Seconds that servers have to end, which give their nannies some of them."""

_MOST_NEWCOMERS: Final = 64
"""How many may be connected that have not said anything yet; the oldest makes way."""


def listen(
    path: Path, preload: Sequence[str], supervisors: Collection[int] = (), *, drain: bool = False
) -> None:
    """Import the modules, then fork a server for whoever connects, until SIGTERM or SIGINT.

    Served are processes of this user, of root, and of the users `supervisors`.  When
    one has gone its children are killed; at the end those of all are.  With `drain` the end
    waits until all supervisors have gone.
    """
    become_undumpable()
    shield()
    prepare_output()
    try:
        import_all(preload, flush_output)
    except ImportError as error:
        raise ForkerError(f"The fork server cannot start: {error}") from error
    listening = _bind(path)
    place = os.stat(path)  # noqa: PTH116
    try:
        _Listener(listening, {0, os.geteuid(), *supervisors}, drain=drain).run()
    finally:
        # Python gives up handlers before it frees objects: one more signal would kill it then.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        listening.close()
        if path.exists() and os.path.samestat(path.stat(), place):  # nobody has replaced it
            path.unlink()


class _Listener:
    def __init__(self, listening: socket.socket, served: Collection[int], *, drain: bool) -> None:
        self._listening = listening
        self._served = served
        self._drain = drain
        self._wakeup = Wakeup()
        self._events = select.poll()
        self._newcomers: dict[int, socket.socket] = {}
        self._lifeline, self._held = os.pipe()
        self._servers: set[int] = set()
        self._ending = False
        for number in ENDING:
            signal.signal(number, self._end)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    def run(self) -> None:
        """Accept until it may end; return when all servers have ended."""
        for source in (self._wakeup.fileno(), self._listening.fileno()):
            self._events.register(source, select.POLLIN)
        while not self._may_end:
            ready = {descriptor for descriptor, _ in self._events.poll()}
            if self._wakeup.fileno() in ready:
                self._wakeup.clear()
                self._reap()
            for descriptor in ready & self._newcomers.keys():
                self._hear(self._newcomers[descriptor])
            if self._listening.fileno() in ready:
                self._accept()
        os.close(self._held)
        see_off(self._servers, self._wakeup, self._bury, _END_SECONDS)

    @property
    def _may_end(self) -> bool:
        return self._ending and not (self._drain and self._servers)

    def _end(self, _number: int, _frame: object) -> None:
        self._ending = True

    def _reap(self) -> None:
        reap(self._bury)

    def _bury(self, pid: int, _status: int) -> None:
        self._servers.discard(pid)

    def _accept(self) -> None:
        """Let in who may be served; what they want is heard when they have said it."""
        try:
            control, _address = self._listening.accept()
        except OSError:  # whoever it was has left
            return
        _pid, user = credentials(control)
        if user not in self._served and user != -1:
            with control:
                _answer(control, {"failed": f"User {user} may not use this fork server."})
            return
        if len(self._newcomers) >= _MOST_NEWCOMERS:
            oldest = next(iter(self._newcomers.values()))
            self._dismiss(oldest)
            oldest.close()
        self._newcomers[control.fileno()] = control
        self._events.register(control.fileno(), select.POLLIN)

    def _hear(self, newcomer: socket.socket) -> None:
        """Fork a server for a supervisor; answer who only asks whether this one answers."""
        self._dismiss(newcomer)
        with newcomer:
            said = b""
            with suppress(OSError):  # it has left
                said = newcomer.recv(len(PING), socket.MSG_PEEK | socket.MSG_DONTWAIT)
            if said == PING:
                newcomer.recv(len(PING))
                _answer(newcomer, {"pong": len(self._servers)})
            elif said:
                self._fork(newcomer)

    def _dismiss(self, newcomer: socket.socket) -> None:
        """Wait no longer for what one has to say who is new."""
        self._events.unregister(newcomer)
        del self._newcomers[newcomer.fileno()]

    def _fork(self, control: socket.socket) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            _answer(control, {"failed": f"It cannot fork: {error.strerror}."})
            return
        if pid == 0:
            self._serve(control)
        self._servers.add(pid)

    def _serve(self, control: socket.socket) -> NoReturn:
        """Become the server of one supervisor; its signals are not those of the listener."""
        code = 1
        try:
            shield()
            signal.set_wakeup_fd(-1)
            for number in ENDING:
                signal.signal(number, signal.SIG_DFL)
            close_all_but([0, 1, 2, control.fileno(), self._lifeline])
            attend(control, self._lifeline)
            code = 0
        except BaseException:  # noqa: BLE001 - the listener's frames must never be returned to
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)


def _answer(control: socket.socket, frame: Frame) -> None:
    """Send the one frame that somebody gets for whom no server is forked."""
    with suppress(OSError):  # who asked may have left
        send_frame(control, frame)


def _bind(path: Path) -> socket.socket:
    """Listen at the path; ForkerError if another forker does."""
    listening = socket.socket(socket.AF_UNIX)
    if path.is_socket():
        _refuse_if_alive(path)
        path.unlink(missing_ok=True)
    before = os.umask(0o117)
    try:
        listening.bind(str(path))
    except OSError as error:
        listening.close()
        raise ForkerError(f"The fork server cannot listen at {path}: {error.strerror}.") from error
    finally:
        os.umask(before)
    listening.listen(16)
    listening.setblocking(False)
    return listening


def _refuse_if_alive(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(path)) not in (errno.ECONNREFUSED, errno.ENOENT):
            raise ForkerError(f"Another fork server listens at {path}; stop it first.")
