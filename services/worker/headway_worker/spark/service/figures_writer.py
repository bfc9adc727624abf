"""What attempts do in Spark, on its way to the database: all that is new in one statement."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.spark_work import SparkNews
from headway.domain.spark_work import SparkFigures, SparkProgress
from headway.metrics.worker import SPARK_BYTES, SPARK_EXECUTOR_SECONDS, SPARK_TASKS
from headway.runtime.daemon.clock import Clock
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.spark.figures.event_log import EventLog
from headway_worker.spark.service.spark_service import SparkService
from headway_worker.supervision.background_call import BackgroundCall

EVERY: Final = 0.5
_SETTLING: Final = 0.5
"""Seconds after an attempt's end in which Spark finishes the log of its jobs."""

_LONGEST: Final = 10.0
"""Seconds after which the figures are taken even though a job seems to go on."""


@dataclass(frozen=True, slots=True)
class _EndedSession:
    """An attempt that is over: its session, the folder of its server, and since when."""

    session_id: str
    scratch: Path
    since: float


@dataclass(slots=True)
class FiguresWriter:
    """Save progress while it is news, and the final figures once they are known.

    An attempt keeps its place on the server until its figures have been saved.
    """

    database: WorkerDatabase
    spark: SparkService
    chore: BackgroundCall[list[AttemptKey]]
    clock: Clock
    _news: dict[AttemptKey, SparkNews] = field(default_factory=dict)
    _sent: dict[AttemptKey, SparkNews] = field(default_factory=dict)
    _ended: dict[AttemptKey, _EndedSession] = field(default_factory=dict)
    _event_logs: dict[Path, EventLog] = field(default_factory=dict)

    @property
    def pending(self) -> bool:
        """Whether something is still to be saved."""
        return bool(self._news or self._sent or self._ended)

    def note(self, key: AttemptKey, news: SparkProgress | SparkFigures) -> None:
        """Take what an attempt says itself: how far it is, or what its own driver took."""
        said = self._news.get(key) or SparkNews(key=key)
        if isinstance(news, SparkFigures):
            self._news[key] = replace(said, figures=news)
        else:
            self._news[key] = replace(said, progress=news)

    def end(self, key: AttemptKey, session_id: str | None) -> None:
        """Take note that nothing of an attempt runs any more."""
        self.spark.rest(key)
        scratch = self.spark.log_of(key)
        if session_id is None or scratch is None:
            self.spark.leave(key)
        else:
            self._ended[key] = _EndedSession(session_id, scratch, self.clock.monotonic())

    def step(self) -> None:
        """Collect what was saved, and begin to save what is new."""
        if self.chore.done():
            saved = self.chore.collect()
            if saved is None:
                self._news |= {
                    key: _merged(said, self._news.get(key)) for key, said in self._sent.items()
                }
            else:
                for key in saved[0]:
                    del self._ended[key]
                    self.spark.leave(key)
            self._sent = {}
        if (self._news or self._ended) and self.chore.may_begin():
            news, self._news = self._news, {}
            self._sent, ended = news, dict(self._ended)
            self.chore.begin(lambda: self._save(news, ended), every=EVERY)

    def _save(
        self, news: Mapping[AttemptKey, SparkNews], ended: Mapping[AttemptKey, _EndedSession]
    ) -> list[AttemptKey]:
        figures = self._read_figures(ended)
        from_logs = {
            key: SparkNews(key=key, figures=spark_figures) for key, spark_figures in figures.items()
        }
        said = [
            _merged(news.get(key, SparkNews(key=key)), from_logs.get(key))
            for key in news.keys() | from_logs.keys()
        ]
        if said:
            self.database.tell(said)
            for its in said:
                count(its.figures)
        self.spark.end_python(list(figures))
        for key in figures:
            self._event_logs[ended[key].scratch].tally.forget(ended[key].session_id)
        return list(figures)

    def _read_figures(
        self, ended: Mapping[AttemptKey, _EndedSession]
    ) -> dict[AttemptKey, SparkFigures]:
        """Read the logs as far as they go; return the figures of whom is over for certain."""
        present = {*self.spark.logs(), *(session.scratch for session in ended.values())}
        self._event_logs = {path: self._event_logs.get(path) or EventLog(path) for path in present}
        tallies = {path: events.read() for path, events in self._event_logs.items()}
        found = {}
        for key, session in ended.items():
            waited, tally = self.clock.monotonic() - session.since, tallies[session.scratch]
            if waited >= (_LONGEST if tally.is_busy(session.session_id) else _SETTLING):
                found[key] = tally.figures(session.session_id)
        return found


def count(figures: SparkFigures | None) -> None:
    """Add up what an attempt took, for metrics."""
    if figures is None:
        return
    SPARK_TASKS.inc(by=figures.tasks)
    SPARK_EXECUTOR_SECONDS.inc(by=figures.executor_run_ms / 1000)
    SPARK_BYTES.inc("read", by=figures.bytes_read)
    SPARK_BYTES.inc("written", by=figures.bytes_written)
    SPARK_BYTES.inc("shuffle_read", by=figures.shuffle_read_bytes)
    SPARK_BYTES.inc("shuffle_written", by=figures.shuffle_write_bytes)
    SPARK_BYTES.inc("spilled", by=figures.spilled_bytes)


def _merged(before: SparkNews, later: SparkNews | None) -> SparkNews:
    """Return what is newest of both."""
    if later is None:
        return before
    return replace(
        before,
        progress=later.progress or before.progress,
        figures=later.figures or before.figures,
    )
