"""Remove logs that need not be kept: in a thread of its own, so that no copy waits for it."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Final, TypeAlias

from headway.domain.retention import LEAST
from headway.runtime.daemon.clock import Clock
from headway.runtime.logs.copies import RemoteLogs
from headway_worker.logs.retention import Keep, Present, of_no_run, tidy

log = logging.getLogger(__name__)

INTERVAL: Final = 3600.0
COPIES_INTERVAL: Final = 86_400.0
"""Seconds between two looks through all copies for those of runs that are gone."""

MOST: Final = 10_000
"""Copies that are looked at together."""

_LAST_SECONDS: Final = 1.0

Busy: TypeAlias = Callable[[], tuple[set[Path], set[Path]]]
"""Returns the logs that are written, and those that wait to be copied."""


@dataclass(slots=True)
class LogTidier:
    """Remove logs from this machine, and copies of logs whose runs are gone.

    The first look through the copies comes at a `random` moment of the interval: so workers that
    start together, or again and again, do not all list them.
    """

    folder: Path
    keep: Keep
    clock: Clock
    busy: Busy
    remote: RemoteLogs | None = None
    present: Present | None = None
    random: Random = field(default_factory=Random)
    _stop: Event = field(default_factory=Event)
    _due: float = 0.0
    _copies_due: float = 0.0
    _thread: Thread | None = None

    def __post_init__(self) -> None:
        self._copies_due = self.clock.monotonic() + self.random.random() * COPIES_INTERVAL

    def start(self) -> None:
        """Begin."""
        self._thread = Thread(target=self._run, name="tidy logs", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End, at the next log; a listing that takes longer ends with the process."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_LAST_SECONDS)

    def step(self) -> float:
        """Do what is due; return the seconds until something is."""
        if self.clock.monotonic() >= self._due:
            self._due = self.clock.monotonic() + INTERVAL
            self._tidy()
        if self.clock.monotonic() >= self._copies_due:
            self._copies_due = self.clock.monotonic() + COPIES_INTERVAL
            if self.remote is not None and self.present is not None:
                self._tidy_copies(self.remote, self.present)
        return max(0.0, min(self._due, self._copies_due) - self.clock.monotonic())

    def _run(self) -> None:
        while not self._stop.is_set():
            self.clock.wait(self._stop, self.step())

    def _tidy(self) -> None:
        running, waiting = self.busy()
        now = self.clock.now().timestamp()
        removed = tidy(self.folder, self.keep, now, running, waiting, self.present)
        if removed:
            log.info("action=remove_logs logs=%d", removed)

    def _tidy_copies(self, remote: RemoteLogs, present: Present) -> None:
        oldest, removed = self.clock.now() - timedelta(seconds=LEAST), 0
        try:
            for relative in self._of_no_run(remote, present):
                if remote.modified(relative) < oldest:
                    remote.remove(relative)
                    removed += 1
        except Exception as error:  # noqa: BLE001 - each store's library has errors of its own
            log.warning("action=remove_copies error=%s: %s", type(error).__name__, error)
        if removed:
            log.info("action=remove_copies logs=%d", removed)

    def _of_no_run(self, remote: RemoteLogs, present: Present) -> Iterator[Path]:
        copies = self._copies(remote)
        while some := list(islice(copies, MOST)):
            for relative in of_no_run(some, present):
                if self._stop.is_set():
                    return
                yield relative

    def _copies(self, remote: RemoteLogs) -> Iterator[Path]:
        for folder in remote.folders():
            for relative in remote.logs(folder):
                if self._stop.is_set():
                    return
                yield relative
