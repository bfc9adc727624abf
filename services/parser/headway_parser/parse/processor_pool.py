"""As many children as may parse DAG files at a time, of the fork servers that there are."""

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
from headway_parser.parse.answer import ParsedFile
from headway_parser.parse.bundle_forker import below_server
from headway_parser.parse.bundle_forkers import BundleForkers
from headway_parser.parse.jobs import Job
from headway_parser.parse.processor import START_SECONDS, Bounds, DagFileProcessor
from headway_parser.secrets.answers import SecretAnswering
from headway_parser.secrets.questions import SecretQuestions

log = logging.getLogger(__name__)


ASKED_AGAIN: Final = 2.0
"""Seconds from asking for a missing fork server to asking for it again."""


SLOW_AFTER: Final = 1.0
"""Seconds of a child after which another one may be started beside it."""


def _nothing_read(_job: Job) -> bool:
    return False


class FinishedJob(NamedTuple):
    """A job that is done, by whom, and the seconds that it took."""

    job: Job
    processor: DagFileProcessor
    seconds: float

    @property
    def result(self) -> ParsedFile | Exit:
        """What came of it, which takes a while to be checked."""
        return self.processor.result()

    @property
    def preloaded(self) -> bool:
        """Whether it was done below the fork server of its bundle."""
        return self.processor.preloaded


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
    secrets: SecretAnswering | None = None
    """What finds connections and variables for files; None where no bundle allows that."""

    reads_secrets: Callable[[Job], bool] = _nothing_read
    bundle_forkers: BundleForkers | None = None
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
        return sum(parsing.seconds > SLOW_AFTER for _, parsing in self.running.values())

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
        """Begin to parse a file, below the fork server of its bundle if that can parse it."""
        own, spec = self.warm_up(), self.child_of(job)
        processor = self._start_preloaded(job, spec) or DagFileProcessor.start(
            own, spec, job.key.path, self.bounds, self.clock
        )
        if self.secrets is not None and self.reads_secrets(job):
            processor.questions = SecretQuestions(job.key.bundle, self.secrets)
        self.running[job.key] = job, processor

    def _start_preloaded(self, job: Job, spec: ChildSpec) -> DagFileProcessor | None:
        """Begin to parse a file below the fork server of its bundle; None if there is none."""
        forkers = self.bundle_forkers
        forker = None if forkers is None else forkers.forker_for(job)
        if forkers is None or forker is None:
            return None
        try:
            return DagFileProcessor.start(
                forker, below_server(spec), job.key.path, self.bounds, self.clock, preloaded=True
            )
        except ForkerError as error:
            forkers.lose(job, str(error))
            return None

    def wait(self, seconds: float) -> None:
        """Wait until a child has something to say, at most so long; not at all without any."""
        if not self.running:
            return
        with selectors.PollSelector() as selector:
            for _, processor in self.running.values():
                processor.watch(selector)
            if self.secrets is not None:
                selector.register(self.secrets.button, selectors.EVENT_READ)
            ready = [key.fileobj for key, _ in selector.select(seconds)]
            if self.secrets is not None and self.secrets.button in ready:
                self.secrets.button.release()

    def finished(self) -> list[FinishedJob]:
        """Return the jobs that are done, each once; their places are free."""
        done = []
        self._look_after_bundles()
        for key, (job, processor) in list(self.running.items()):
            if processor.has_ended():
                if self.bundle_forkers is not None and processor.was_never_forked:
                    self.bundle_forkers.lose(job, f"it has forked nothing in {START_SECONDS:g} s")
                del self.running[key]
                done.append(FinishedJob(job, processor, processor.seconds))
                processor.close()
        return done

    def _look_after_bundles(self) -> None:
        """Begin and end fork servers of bundles."""
        if self.bundle_forkers is not None and self._forker is not None:
            parses = self.running.values()
            busy = {job.key.bundle for job, processor in parses if processor.preloaded}
            self.bundle_forkers.step(self._forker, busy)

    def close(self) -> None:
        """Stop the children."""
        self._take_over()
        with ExitStack() as ending:
            if self._forker is not None:
                ending.callback(self._forker.close)
            if self.bundle_forkers is not None:
                ending.callback(self.bundle_forkers.close)
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
