"""Parse DAG files in child processes, a few at a time."""

import logging
import os
import selectors
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from headway.db.parsing.files import FileKey
from headway.domain.errors import SerializationError
from headway.metrics.parser import CHILDREN_KILLED
from headway.runtime.daemon.clock import Clock
from headway.runtime.forker import Child, ChildSpec, Exit, Forker, ForkerError
from headway.runtime.health import HealthCheck
from headway.runtime.processes.frames import Frame, FrameReader
from headway_parser.parse.answer import ParsedFile, check_answer, explain_silence, failure
from headway_parser.parse.bundle_forker import below_server
from headway_parser.parse.bundle_forkers import BundleForkers
from headway_parser.parse.jobs import Job

_CHUNK: Final = 256 * 2**10


END_SECONDS: Final = 10.0
"""Seconds after which a child that was killed, and has not ended, is given up."""


START_SECONDS: Final = 10.0
"""Seconds that a bundle's fork server has to fork a child."""

NEVER_FORKED: Final = Exit(lost="The fork server of its bundle has not forked it.")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a child may take: seconds, bytes that it prints, bytes of its answer."""

    seconds: float
    output_bytes: int
    answer_bytes: int


@dataclass(slots=True)
class DagFileProcessor:
    """A child that parses the file `path`.  Beyond any of its bounds it is killed."""

    path: str
    bounds: Bounds
    clock: Clock
    child: Child
    started: float
    preloaded: bool
    """Whether it is a child of its bundle's fork server."""

    _output: int
    _reader: FrameReader
    _open: set[int]
    _printed: bytearray = field(default_factory=bytearray)
    _answer: Frame | None = None
    _refused: str | None = None
    _timed_out: bool = False
    _killed_at: float | None = None
    _exit: Exit | None = None

    @classmethod
    def start(
        cls,
        forker: Forker,
        spec: ChildSpec,
        path: str,
        bounds: Bounds,
        clock: Clock,
        *,
        preloaded: bool = False,
    ) -> "DagFileProcessor":
        """Start parsing."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        try:
            child = forker.spawn(spec, writing)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        child.channel.setblocking(False)
        reader, sources = FrameReader(bounds.answer_bytes), {reading, child.channel.fileno()}
        begun = clock.monotonic()
        return cls(path, bounds, clock, child, begun, preloaded, reading, reader, sources)

    @property
    def seconds(self) -> float:
        """How long it has been at it."""
        return self.clock.monotonic() - self.started

    @property
    def was_never_forked(self) -> bool:
        """Whether its bundle's fork server has not even forked it, though it had time to."""
        return self._exit is NEVER_FORKED

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Have `selector` wake up when there is something to poll."""
        selector.register(self.child, selectors.EVENT_READ)
        if self._refused is not None:
            return
        for source in self._open:
            selector.register(source, selectors.EVENT_READ)

    def poll(self) -> ParsedFile | Exit | None:
        """Return what came of it, None while it goes on; never wait."""
        return self.result() if self.has_ended() else None

    def has_ended(self) -> bool:
        """Take what the child says; return whether it is over, or given up.  Never wait."""
        self._exit = self.child.poll()
        self._hear()
        self._listen()
        if self._exit is None and self.preloaded and self.child.pid is None:
            self._exit = NEVER_FORKED if self.seconds > START_SECONDS else None
        if self._exit is None:
            self._limit()
        return self._exit is not None or self._is_given_up()

    def result(self) -> ParsedFile | Exit:
        """Return what came of it once it has ended, also after `close`.

        An exit is returned of a child that was lost, by no fault of its file as far as is known.
        """
        if self._exit is None:
            why = self._refused or f"Reading the file took more than {self.bounds.seconds:g} s."
            told = f"{why} Its process could not be stopped, and was given up."
            return failure(told, self._text())
        if self._exit.exceeded is not None:
            return failure(
                f"Reading the file started more than {self._exit.exceeded}, and was stopped. "
                "Start them inside tasks.",
                self._text(),
            )
        if self._refused is not None:
            return failure(self._refused, self._text())
        if self._answer is not None:
            return check_answer(self.path, self._answer)
        if self._exit.lost is not None and not self._timed_out:
            return self._exit
        limit = self.bounds.seconds if self._timed_out else None
        return explain_silence(self._exit, limit, self._text())

    def close(self) -> None:
        """Let go of the child, and kill it if it still lives."""
        self.child.close()
        os.close(self._output)

    def _limit(self) -> None:
        if self.seconds > self.bounds.seconds and not self._timed_out:
            self._timed_out = True
            CHILDREN_KILLED.inc("time")
            self._kill()

    def _kill(self) -> None:
        if self._killed_at is None:
            self._killed_at = self.clock.monotonic()
        self.child.kill()

    def _is_given_up(self) -> bool:
        """Tell whether the child does not end though it was killed."""
        now = self.clock.monotonic()
        return self._killed_at is not None and now >= self._killed_at + END_SECONDS

    def _hear(self) -> None:
        """Take what the child has printed."""
        with suppress(BlockingIOError):
            while self._refused is None and self._output in self._open:
                data = os.read(self._output, _CHUNK)
                self._note_end(self._output, data)
                self._printed += data
                if len(self._printed) > self.bounds.output_bytes:
                    self._refuse(
                        f"Reading the file printed more than {self.bounds.output_bytes:,} bytes, "
                        "and was stopped. Print inside tasks."
                    )

    def _listen(self) -> None:
        """Take what the child answers."""
        channel = self.child.channel
        with suppress(BlockingIOError):
            while self._refused is None and channel.fileno() in self._open:
                try:
                    data = channel.recv(_CHUNK)
                except ConnectionResetError:
                    data = b""
                self._note_end(channel.fileno(), data)
                if self._answer is None:
                    self._take(data)

    def _note_end(self, source: int, data: bytes) -> None:
        """Listen no more to what the child has closed: it would always have something to read."""
        if not data:
            self._open.discard(source)

    def _take(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                if self._answer is None:  # the first one counts, however they come
                    self._answer = frame
        except SerializationError as error:
            self._refuse(f"What the file left behind cannot be used: {error}")

    def _refuse(self, why: str) -> None:
        self._refused = why
        CHILDREN_KILLED.inc("refused")
        self._kill()

    def _text(self) -> str:
        return self._printed.decode("utf-8", "replace")


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
            selector.select(seconds)

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
