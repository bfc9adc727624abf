"""Ask a driver on this machine how far it is, through its REST interface, while it runs.

Whatever it answers, or does not, the task goes on: what cannot be learned stays unknown.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from threading import Event, Thread
from typing import Any, Final
from urllib.request import ProxyHandler, build_opener

from headway.domain.spark_work import SparkFigures, SparkProgress
from headway.runtime.daemon.clock import Clock, SystemClock
from headway_worker.spark.figures.event_log import EventLog
from headway_worker.spark.figures.progress import ProgressMeter
from headway_worker.spark.figures.rest import StageBook, StageKey

_EVERY: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
"""Seconds between two questions at the latest, to a driver that does not answer."""

_ANSWER_SECONDS: Final = 5.0
_CLOSE_SECONDS: Final = 15.0
_MOST_BYTES: Final = 64 * 2**20
_MOST_JUDGED: Final = 10
"""Stages whose tasks are asked for at a time, so that a look is short."""

ALL: Final = "all"
"""Whose the jobs of a driver of one attempt are."""

# What comes of an interface that is away, not to be used from here, or not a driver's at all.
_UNREACHABLE: Final = (OSError, HTTPException, ValueError, KeyError, TypeError, RecursionError)


@dataclass(frozen=True, slots=True)
class DriverWatcher:
    """Who is told how far drivers are, and what they took in the end."""

    on_progress: Callable[[SparkProgress], None] = lambda _progress: None
    on_figures: Callable[[SparkFigures], None] = lambda _figures: None
    clock: Clock = field(default_factory=SystemClock)


@dataclass(slots=True)
class DriverWatch:
    """One driver, which is asked by a thread of its own from `begin` to `close`.

    Where it keeps a log for `events`, all of whose jobs count for ALL, its figures are
    taken from that, for they are complete only there if it ends by itself.
    """

    watcher: DriverWatcher
    events: EventLog | None = None
    _book: StageBook = field(default_factory=StageBook)
    _has_answered: bool = False
    _thread: Thread | None = None
    _over: Event = field(default_factory=Event)
    _application: str | None = None
    _told: SparkProgress | None = None
    _meter: ProgressMeter = field(init=False)

    def __post_init__(self) -> None:
        self._meter = ProgressMeter(self._tell, self.watcher.clock)

    def begin(self, address: str) -> None:
        """Ask the driver whose web interface is there, such as http://host:port."""
        if self._thread is None:
            self._thread = Thread(target=self._run, args=(address,), name="watch", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Ask once more, and tell the figures if they are known: the driver has answered, or a log.

        Call it before the driver ends, where that can be known; it waits for seconds at most.
        """
        self._over.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_SECONDS)
        hangs = self._thread is not None and self._thread.is_alive()
        figures = None if hangs else self._read_figures()
        if figures is not None:
            self.watcher.on_figures(figures)

    def _read_figures(self) -> SparkFigures | None:
        if self.events is not None:
            with suppress(*_UNREACHABLE):
                tally = self.events.read()
                if self.events.exists:
                    return tally.figures(ALL)
        return self._book.figures() if self._has_answered else None

    def _run(self, address: str) -> None:
        clock, pause, is_last = self.watcher.clock, _EVERY, False
        while True:
            began = clock.monotonic()
            with suppress(*_UNREACHABLE):
                if self.events is not None:
                    self.events.read()  # so that it takes little room
            try:
                self._look(address)
                pause = max(_EVERY, clock.monotonic() - began)
            except _UNREACHABLE:
                pause = min(2 * pause, _LONGEST_PAUSE)
            if is_last:
                return
            # A look that began before the end may have missed something: one more is made.
            is_last = clock.wait(self._over, pause)

    def _look(self, address: str) -> None:
        applications = f"{address}/api/v1/applications"
        if self._application is None:
            (found,) = _get(applications)
            self._application = str(found["id"])
        of_this = f"{applications}/{self._application}"
        self._book.take(_get(f"{of_this}/stages"), _get(f"{of_this}/jobs"))
        for key in self._book.to_judge()[:_MOST_JUDGED]:
            self._judge(of_this, key)
        self._has_answered = True
        self._meter(self._book.counts(), self._book.running, None, done=False)

    def _judge(self, of_this: str, key: StageKey) -> None:
        stage_id, attempt = key
        try:
            url = f"{of_this}/stages/{stage_id}/{attempt}/taskSummary?quantiles=0.5,1.0"
            self._book.judge(key, _get(url))
        except _UNREACHABLE:
            self._book.give_up(key)

    def _tell(self, progress: SparkProgress) -> None:
        if progress != self._told:
            self._told = progress
            self.watcher.on_progress(progress)


def _get(url: str) -> Any:
    """Return the answer as plain data; on YARN the driver itself sends us to a proxy for it."""
    direct = build_opener(ProxyHandler({}))  # whatever proxy the environment names for others
    with direct.open(url, timeout=_ANSWER_SECONDS) as answer:
        text = answer.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ValueError("the answer is too long")
    return json.loads(text)
