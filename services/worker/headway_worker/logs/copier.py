"""Copy logs elsewhere: in a thread of its own, for which nobody waits."""

import logging
import os
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final

from headway.metrics.worker import LOGS_NOT_COPIED
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace
from headway.runtime.logs.copies import RemoteLogs
from headway.runtime.logs.paths import open_log
from headway_worker.logs.spool import LogSpool

log = logging.getLogger(__name__)

MOST_TRIES: Final = 12
"""Times that the log of an ended attempt is tried to be copied in vain, over about ten minutes."""

LAST_SECONDS: Final = 10.0
"""How long a worker that stops goes on copying what is not copied yet."""

_PACE: Final = Pace(retry_first=1.0, retry_longest=120.0)
_REST: Final = 10
"""How many times as long as it took a copy of a growing log is rested from."""


@dataclass(slots=True)
class _Copy:
    relative: Path
    ended: bool
    due: float
    copied: int = 0
    failures: int = 0


@dataclass(slots=True)
class LogKeeper:
    """Copy each log while it grows and when it is whole, if there is a `remote`.

    `began`, `ended` and `busy` may be called from any thread; the rest is done by `step`, which a
    thread calls from `start` on.
    """

    folder: Path
    clock: Clock
    remote: RemoteLogs | None = None
    spool: LogSpool | None = None
    interval: float = 5.0
    _copies: dict[Path, _Copy] = field(default_factory=dict)
    _running: set[Path] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    _awake: Event = field(default_factory=Event)
    _stopping: bool = False
    _thread: Thread | None = None

    def start(self, left: list[Path]) -> None:
        """Begin, with the logs that a dead worker has left to be copied."""
        for relative in left:
            self._copies[relative] = _Copy(relative, ended=True, due=0.0)
        self._thread = Thread(target=self._run, name="logs", daemon=True)
        self._thread.start()

    def began(self, relative: Path) -> None:
        """Look after the log of an attempt that starts."""
        with self._lock:
            self._running.add(relative)
            if self.remote is not None:
                due = self.clock.monotonic() + self.interval
                self._copies[relative] = _Copy(relative, ended=False, due=due)
            if self.spool is not None:
                self.spool.add(relative)

    def ended(self, relative: Path) -> None:
        """Copy a log for the last time: nothing is written to it any more."""
        with self._lock:
            self._running.discard(relative)
            copy = self._copies.get(relative)
            if copy is None:
                return
            copy.ended, copy.due, copy.failures = True, 0.0, 0
        self._awake.set()

    def close(self) -> None:
        """End, when all is copied or after a while; the spool has what is left."""
        self._stopping = True
        self._awake.set()
        if self._thread is not None:
            self._thread.join(LAST_SECONDS + 1.0)
        if self.spool is not None:
            self.spool.close()

    def step(self) -> float:
        """Do what is due; return the seconds until something is, unless there is news."""
        for copy in self._due():
            self._copy(copy)
        with self._lock:
            due = min((copy.due for copy in self._copies.values()), default=inf)
        return max(0.0, due - self.clock.monotonic())

    def busy(self) -> tuple[set[Path], set[Path]]:
        """Return the logs that are written, and those that wait to be copied."""
        with self._lock:
            return set(self._running), set(self._copies)

    def pending(self) -> list[Path]:
        """Return the logs of ended attempts that are not copied yet."""
        with self._lock:
            return [copy.relative for copy in self._copies.values() if copy.ended]

    def _run(self) -> None:
        while not self._stopping:
            # No longer than until a log that begins meanwhile is to be copied.
            seconds = min(self.step(), self.interval)
            self.clock.wait(self._awake, seconds)
            self._awake.clear()
        give_up = self.clock.monotonic() + LAST_SECONDS
        for copy in self._due(inf):
            if copy.ended and self.clock.monotonic() < give_up:
                self._copy(copy)
        if left := len(self.pending()):
            log.warning("action=logs_left logs=%d: they are copied when a worker starts here", left)

    def _due(self, now: float | None = None) -> list[_Copy]:
        limit = self.clock.monotonic() if now is None else now
        with self._lock:
            found = [copy for copy in self._copies.values() if copy.due <= limit]
        return sorted(found, key=lambda copy: not copy.ended)

    def _copy(self, copy: _Copy) -> None:
        ended, began_at = copy.ended, self.clock.monotonic()
        try:
            self._put(copy)
        except Exception as error:  # noqa: BLE001 - each store's library has errors of its own
            self._failed(copy, error)
            return
        if ended:
            self._forget(copy)
            return
        took = self.clock.monotonic() - began_at
        with self._lock:
            copy.failures = 0
            if not copy.ended:
                copy.due = self.clock.monotonic() + max(self.interval, _REST * took)

    def _put(self, copy: _Copy) -> None:
        assert self.remote is not None
        try:
            file = open_log(self.folder, copy.relative)
        except FileNotFoundError:
            return  # nothing was written, or it was removed
        with os.fdopen(file, "rb") as content:
            size = os.fstat(file).st_size
            if size != copy.copied:
                self.remote.put(copy.relative, content)
                copy.copied = size

    def _failed(self, copy: _Copy, error: Exception) -> None:
        copy.failures += 1
        wait = _PACE.retry_after(copy.failures)
        log.warning(
            "action=copy_log log=%s failures=%d retry_in=%.0f error=%s: %s",
            *(copy.relative, copy.failures, wait, type(error).__name__, error),
        )
        copy.due = self.clock.monotonic() + wait
        if copy.ended and copy.failures >= MOST_TRIES:
            log.error("action=log_not_copied log=%s: a worker's next start tries it", copy.relative)
            LOGS_NOT_COPIED.inc()
            self._forget(copy, whole=False)

    def _forget(self, copy: _Copy, *, whole: bool = True) -> None:
        with self._lock:
            if self._copies.get(copy.relative) is not copy:
                return  # it has begun anew meanwhile
            del self._copies[copy.relative]
            if whole and self.spool is not None:
                self.spool.remove(copy.relative)
