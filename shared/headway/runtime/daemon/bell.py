"""The bell: by it other threads wake a loop that waits, and tell it to stop."""

from threading import Event

from headway.runtime.daemon.clock import Clock


class Bell:
    """Ring it when there may be work; `stop` rings it for good.  Any thread may do either.

    No ring is lost: one that comes while the loop is busy ends the wait that follows.
    """

    def __init__(self) -> None:
        self.stopped = Event()
        self._rung = Event()

    def ring(self) -> None:
        """End the wait that is under way, or else the next one."""
        self._rung.set()

    def stop(self) -> None:
        """Say that the loop must end; from now on nothing waits here."""
        self.stopped.set()
        self._rung.set()

    def answer(self) -> None:
        """Forget the rings so far; call it before looking for what they were about."""
        self._rung.clear()
        if self.stopped.is_set():  # asked after the clearing, or a stop between them were lost
            self._rung.set()

    def wait(self, clock: Clock, seconds: float) -> bool:
        """Wait for a ring since the last `answer`, at most `seconds`; return whether one came."""
        return clock.wait(self._rung, seconds)
