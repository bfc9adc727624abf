"""The forker's own process: import once, then fork nannies."""

import gc
import importlib
import os
import select
import signal
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress

from headway.runtime.forker.linux import become_subreaper, native_threads
from headway.runtime.forker.nanny import run_nanny
from headway.runtime.forker.records import Exit, ForkerError
from headway.runtime.forker.tree import kill_descendants, reap
from headway.runtime.forker.wakeup import Wakeup
from headway.runtime.forker.wire import receive_message
from headway.runtime.frames import send_frame


def serve(control: socket.socket, preload: Sequence[str]) -> None:
    """Import the modules `preload`, then fork nannies until the supervisor is gone."""
    _shield()
    try:
        _import(preload)
    except (ImportError, ForkerError) as error:
        send_frame(control, {"failed": str(error)})
        return
    gc.collect()
    gc.freeze()  # what is there now stays shared with all children
    server = _Server(control)
    send_frame(control, {"ready": native_threads()})
    server.run()


def _shield() -> None:
    """Block all signals but SIGCHLD, here and in the nannies.

    They end when their supervisor does, not when a service manager signals
    everyone.  Blocked, and not ignored, so that a signal which reaches a child
    before it is set up is delivered once it is.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - {signal.SIGCHLD})


def _import(preload: Sequence[str]) -> None:
    for module in preload:
        importlib.import_module(module)
    threads = [thread.name for thread in threading.enumerate()[1:]]
    if threads:
        raise ForkerError(
            f"Importing {', '.join(preload)} left threads running ({', '.join(threads)}). "
            "A process with threads cannot be forked safely: start them in the child."
        )


class _Server:
    def __init__(self, control: socket.socket) -> None:
        become_subreaper()
        self._control = control
        self._wakeup = Wakeup()
        self._lifeline, self._held = os.pipe()
        self._nannies: dict[int, int] = {}
        self._fallen: list[int] = []

    def run(self) -> None:
        events = select.poll()
        events.register(self._wakeup.fileno(), select.POLLIN)
        events.register(self._control.fileno(), select.POLLIN)
        supervised = True
        while supervised:
            ready = {descriptor for descriptor, _ in events.poll()}
            if self._wakeup.fileno() in ready:
                self._wakeup.clear()
                self._look_after_nannies()
            if self._control.fileno() in ready:
                supervised = self._take_request()
        self._end()

    def _take_request(self) -> bool:
        """Fork the nanny that is asked for; return whether there is still a supervisor."""
        message = receive_message(self._control)
        if message is None:
            return False
        for reins in message[1]:
            self._fork(reins)
        return True

    def _fork(self, reins: int) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            _report_lost(reins, f"The system refused to fork: {error.strerror}.")
            return
        if pid == 0:
            run_nanny(reins, self._lifeline)
        self._nannies[pid] = reins

    def _look_after_nannies(self) -> None:
        """Bury nannies; where one was killed, kill what it had been looking after.

        Its child dies with it and the rest of that tree falls to this process.
        The supervisor is told only when all are dead.
        """
        reap(self._bury)
        while self._fallen:
            kill_descendants(self._bury, spared=self._nannies)
            _report_lost(self._fallen.pop(), "Its nanny died, and the child was killed.")

    def _bury(self, pid: int, status: int) -> None:
        reins = self._nannies.pop(pid, None)
        if reins is None:
            return
        if status == 0:
            os.close(reins)
        else:
            self._fallen.append(reins)

    def _end(self) -> None:
        """Let go of the lifeline, which ends all nannies; wait for them."""
        os.close(self._held)
        while self._nannies:
            self._bury(*os.waitpid(-1, 0))
        kill_descendants(self._bury)


def _report_lost(reins: int, why: str) -> None:
    with socket.socket(fileno=reins) as sock, suppress(OSError):
        send_frame(sock, {"exit": Exit(lost=why).to_frame()})
