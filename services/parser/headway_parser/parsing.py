"""The children that parse files, a few at a time."""

import logging
import selectors
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from headway.db.parsing.files import FileKey
from headway.runtime.daemon.clock import Clock
from headway.runtime.forker import ChildSpec, Exit, Forker, ForkerError
from headway.runtime.health import HealthCheck
from headway_parser.answer import ParsedFile
from headway_parser.jobs import Job
from headway_parser.processor import Bounds, DagFileProcessor

log = logging.getLogger(__name__)

ASKED_AGAIN: Final = 2.0
"""Seconds from asking for a missing fork server to asking for it again."""

SLOW_AFTER: Final = 1.0
"""Seconds of a child after which another one may be started beside it."""


class FinishedJob(NamedTuple):
    """A job that is done, by whom, and the seconds that it took."""

    job: Job
    processor: DagFileProcessor
    seconds: float

    @property
    def result(self) -> ParsedFile | Exit:
        """What came of it, which takes a while to be checked."""
        return self.processor.result()


@dataclass(slots=True)
class ProcessorPool:
    """Children of a fork server, which may be `starting`, and is replaced when it has died.

    There are as many as `places`, and as many again while those are slow.
    """

    start_forker: Callable[[], Forker]
    child_of: Callable[[Job], ChildSpec]
    bounds: Bounds
    places: int
    clock: Clock
    starting: Future[Forker] | None = None
    running: dict[FileKey, tuple[Job, DagFileProcessor]] = field(default_factory=dict)
    _forker: Forker | None = None
    _missing: str = ""
    """Why there is no fork server; nothing while there is one."""

    _again_at: float = 0.0

    @property
    def free(self) -> int:
        """How many more files may be parsed now."""
        if self._missing:
            return 0
        return self.places - len(self.running) + min(self._slow, self.places)

    @property
    def soon_free(self) -> bool:
        """Whether more files may be parsed now, or in a moment: as long as none is slow."""
        return self.free > 0 or not (self._slow or self._missing)

    @property
    def _slow(self) -> int:
        return sum(it.seconds > SLOW_AFTER for _, it in self.running.values())

    def warm_up(self) -> Forker:
        """Have the fork server ready, and return it; ForkerError if there is none."""
        if self.starting is not None:
            self._take_over()
            self._log_isolation()
        if self._forker is None or not self._forker.alive():
            self._missing = "it is being asked for"
            if self._forker is not None:
                self._forker.close()
            try:
                self._forker = self.start_forker()
            except ForkerError as error:
                self._missing = str(error)
                self._again_at = self.clock.monotonic() + ASKED_AGAIN
                raise
            self._missing = ""
            self._log_isolation()
        return self._forker

    def recover(self) -> None:
        """Ask again, from time to time, for a fork server that is missing.

        Meanwhile nothing is parsed here, and the process goes on to say that it is alive.
        """
        if self._missing and self.clock.monotonic() >= self._again_at:
            try:
                self.warm_up()
            except ForkerError as error:
                log.warning("action=await_forker next_try=%.1f error=%s", ASKED_AGAIN, error)

    def check(self) -> HealthCheck:
        """Tell whether the last file had a fork server to be parsed by; any thread may ask."""
        missing = self._missing
        return HealthCheck(
            "fork server", not missing, f"is missing: {missing}" if missing else "is there"
        )

    def start(self, job: Job) -> None:
        """Begin to parse a file."""
        processor = DagFileProcessor.start(
            self.warm_up(), self.child_of(job), job.key.path, self.bounds, self.clock
        )
        self.running[job.key] = job, processor

    def wait(self, seconds: float) -> None:
        """Wait until a child has something to say, at most so long; not at all without any."""
        if not self.running:
            return
        with selectors.PollSelector() as selector:
            for _, processor in self.running.values():
                processor.watch(selector)
            selector.select(seconds)

    def finished(self) -> list[FinishedJob]:
        """Return the jobs that are done, each once; their places are free."""
        done = []
        for key, (job, processor) in list(self.running.items()):
            if processor.has_ended():
                del self.running[key]
                done.append(FinishedJob(job, processor, processor.seconds))
                processor.close()
        return done

    def close(self) -> None:
        """Stop the children."""
        self._take_over()
        with ExitStack() as ending:
            if self._forker is not None:
                ending.callback(self._forker.close)
            for _, processor in self.running.values():
                ending.callback(processor.close)
            self.running.clear()

    def _log_isolation(self) -> None:
        if self._forker is not None and (isolation := self._forker.isolation) is not None:
            log.info("action=isolate %s", isolation.describe())

    def _take_over(self) -> None:
        if self.starting is not None:
            with suppress(ForkerError, OSError):  # whoever needs it tries again, and says why not
                self._forker = self.starting.result()
            self.starting = None
