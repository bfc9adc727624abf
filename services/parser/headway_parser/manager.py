"""The manager: which files are parsed, how many at a time, and what becomes of them."""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from threading import Event
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from headway.db.core import processes
from headway.db.core.engine import is_transient
from headway.db.core.notices import SCHEDULER, Notice, nobody
from headway.db.core.processes import Identity
from headway.db.parsing import file_claims
from headway.db.parsing.files import FileKey
from headway.domain.errors import DatabaseError
from headway.metrics.parser import CHILDREN_LOST, PARSE_SECONDS, PARSES, VERSIONS
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.database_clock import DatabaseClock
from headway.runtime.forker import Exit
from headway.runtime.settings.parser import ParserSettings
from headway_parser.contents import is_pattern
from headway_parser.discover.bundle_scan import BundleScan
from headway_parser.parse.answer import ParsedFile, explain_silence
from headway_parser.parse.backlog import ParseBacklog
from headway_parser.parse.jobs import Job, in_order
from headway_parser.parse.processor_pool import FinishedJob, ProcessorPool
from headway_parser.publish.publish import Published
from headway_parser.publish.result_writer import ParseResult, ResultWriter
from headway_parser.publish.retention import VersionRetention

log = logging.getLogger(__name__)

MOST_TRIES: Final = 5
"""How often a file is parsed again when a parse came to nothing."""

FIRST_RETRY: Final = 0.5
"""Seconds until the next try when a child was lost, twice as many after each: what took it may
last, and take others.  A parse that came to nothing by a change is done again at once."""

AHEAD: Final = 8
"""Files that are claimed for each place, so that none of these waits for the database."""

LONGEST_CLAIM: Final = 1.0
"""Seconds after which claimed files whose turn has not come are left to others."""

REST: Final = 5
"""Times as long as the last look took is waited for before one that is asked for: whatever
happens in a bundle, most of the time is left for other things."""

MOMENT: Final = 0.05
"""Seconds that a step waits for children at the longest."""


@dataclass(slots=True)
class DagFileProcessorManager:
    """Keep the database true to bundles of DAG files, beside others who do the same.

    A file is parsed when it, or a file that it took in, has changed.  One that is
    being parsed is not started again, and slow ones hold up no others.
    Set `scan_requested` to have it look as soon as it has rested from the last look.
    """

    engine: Engine
    me: Identity
    settings: ParserSettings
    clock: Clock
    scan: BundleScan
    parsing: ProcessorPool
    writer: ResultWriter
    retention: VersionRetention
    notify: Callable[[Notice], None] = nobody
    random: Random = field(default_factory=Random)
    scan_requested: Event = field(default_factory=Event)
    database_clock: DatabaseClock = field(init=False)
    _backlog: ParseBacklog = field(init=False)
    _due: deque[Job] = field(default_factory=deque)
    _claimed: deque[Job] = field(default_factory=deque)
    _once_more: deque[Job] = field(default_factory=deque)
    _lost: dict[FileKey, tuple[Job, float]] = field(default_factory=dict)
    _claimed_until: float = 0.0
    _outdated: set[FileKey] = field(default_factory=set)
    _others: frozenset[int] = frozenset()
    _next_look: float = 0.0
    _rested_at: float = 0.0
    _next_beat: float = 0.0

    def __post_init__(self) -> None:
        self.scan.beat = self._beat
        self.database_clock = DatabaseClock(self.clock)
        self._backlog = ParseBacklog(self.clock)
        self._backlog.show()

    def step(self) -> bool:
        """Look, start, wait a moment for children, store; return whether there is more to do."""
        self._beat()
        self.look()
        self._claim()
        self._start()
        if self.parsing.running:
            self.parsing.wait(MOMENT)
        else:
            self.writer.wait(MOMENT)
        finished = self.parsing.finished()
        try:
            self._start()  # no place stands empty while answers are checked
        finally:
            for each in finished:
                self._take(each)
        self._settle()
        self.retention.step()
        waiting = self._due or self._claimed or self._once_more
        return bool(waiting or self.parsing.running or self.writer.busy)

    def close(self) -> None:
        """Stop the children, and give up what was claimed."""
        self.parsing.close()
        self.writer.close()
        self.retention.close()
        try:
            with self.engine.begin() as conn:
                file_claims.release_all(conn, self.me.id)
        except (DBAPIError, DatabaseError) as error:
            if not is_transient(error):
                raise
            log.warning("The database is away; what was claimed is free when this has ended.")

    def _start(self) -> None:
        """Fill the places; what is parsed once more comes before what has not been."""
        now = self.clock.monotonic()
        for key, (job, again_at) in list(self._lost.items()):
            if now >= again_at:
                del self._lost[key]
                self._once_more.append(job)
        for queue in (self._once_more, self._claimed):
            while queue and self.parsing.free > 0:
                self.parsing.start(queue[0])
                self._backlog.begin(queue.popleft().key)

    def _beat(self) -> None:
        if self.clock.monotonic() >= self._next_beat:
            with self.engine.begin() as conn:
                before = self.clock.now()
                theirs = processes.beat(conn, self.me, self.database_clock.skew)
                self.database_clock.compare(before, theirs)
            self._next_beat = self.clock.monotonic() + self.settings.heartbeat_interval

    def look(self) -> None:
        """Find what is to be parsed, from time to time and whenever something asks for it."""
        begun_at = self.clock.monotonic()
        if begun_at < (self._rested_at if self.scan_requested.is_set() else self._next_look):
            return
        self.scan_requested.clear()
        try:
            jobs, self._others = self.scan.take()
        except BaseException:
            self.scan_requested.set()
            raise
        begun = {key: job for key, (job, _) in self.parsing.running.items()} | self.writer.jobs
        lost = (job for job, _ in self._lost.values())
        waiting = {job.key: job for job in (*self._claimed, *self._once_more, *lost)}
        self._outdated = {job.key for job in jobs if _is_outdated({**waiting, **begun}, job)}
        free = [job for job in jobs if job.key not in begun and job.key not in waiting]
        self._due = deque(in_order(free, self.settings.file_parsing_sort_mode, self.random))
        self._backlog.find([*waiting, *(job.key for job in self._due)])
        now = self.clock.monotonic()
        self._next_look = now + self.settings.dag_dir_list_interval
        self._rested_at = min(now + REST * (now - begun_at), self._next_look)

    def _claim(self) -> None:
        """Claim files that are due, before there is a place for them, unless that may take long.

        Others may have come first to some.
        """
        if self._claimed and self.clock.monotonic() >= self._claimed_until:
            self._give_up()
        room = AHEAD * self.parsing.places - len(self._claimed)
        if len(self._claimed) >= self.parsing.places:
            return
        if not (self._due and self.parsing.soon_free):
            return
        jobs = [self._due.popleft() for _ in range(min(room, len(self._due)))]
        with self.engine.begin() as conn:
            processes.confirm(conn, self.me, repeatable=True)
            seen = {job.key: job.seen for job in jobs}
            got = file_claims.claim(conn, self.me.id, seen, self._others)
        self._claimed += [job for job in jobs if job.key in got]
        self._claimed_until = self.clock.monotonic() + LONGEST_CLAIM

    def _give_up(self) -> None:
        """Leave to others what slow files keep from being parsed here."""
        with self.engine.begin() as conn:
            file_claims.release(conn, self.me.id, [job.key for job in self._claimed])
        self._due.extendleft(reversed(self._claimed))
        self._claimed.clear()

    def _settle(self) -> None:
        """Have what is new stored, and see what became of what was."""
        stored = self.writer.collect(more=bool(self._due or self._claimed or self._once_more))
        for result, published in stored:
            self._note_end(result, published)
        if stored:
            self.notify(SCHEDULER)

    def _take(self, finished: FinishedJob) -> None:
        """Keep what came of a parse, or have the file parsed once more."""
        job, result = finished.job, finished.result
        PARSE_SECONDS.observe(finished.seconds)
        if self._is_repeated(finished, result):
            return
        if isinstance(result, Exit):
            CHILDREN_LOST.inc()
            if job.tries < MOST_TRIES:
                log.warning("action=retry file=%s reason=%r", job.key.path, result.lost)
                again_at = self.clock.monotonic() + FIRST_RETRY * 2.0**job.tries
                self._lost[job.key] = replace(job, tries=job.tries + 1), again_at
                return
            result = explain_silence(result, None, "")
        if result.changed or self._is_contradicted(job, result):
            if job.tries < MOST_TRIES:
                self._once_more.append(replace(job, tries=job.tries + 1))
                return
            result = ParsedFile(error="The file, or one that it reads, is written all the time.")
        self.writer.add(ParseResult(job, result, finished.seconds))

    def _is_repeated(self, finished: FinishedJob, result: ParsedFile | Exit) -> bool:
        """Tell whether a file is parsed once more because modules were preloaded for it.

        An error, or the loss of a child, could be due to them.
        """
        forkers, job = self.parsing.bundle_forkers, finished.job
        if forkers is None:
            return False
        if finished.preloaded and (isinstance(result, Exit) or result.error is not None):
            forkers.blame(job, result)
            self._once_more.append(replace(job, alone=True))
            return True
        if isinstance(result, ParsedFile) and not result.changed:
            forkers.learn(job, result, preloaded=finished.preloaded)
        return False

    def _is_contradicted(self, job: Job, result: ParsedFile) -> bool:
        """Tell whether a file holds what it held before the parse, but another content is claimed.

        It would seem to have changed for ever.  Patterns are looked for in the next look.
        """
        contents = self.scan.states[job.key.bundle].contents
        return any(
            said != job.hashes.get(path, said)
            and not is_pattern(path)
            and contents.look(job.root, path) == job.hashes[path]
            for path, said in (result.read or {}).items()
        )

    def _note_end(self, result: ParseResult, published: Published | None) -> None:
        job = result.job
        if published is not None and not published.unstable:
            PARSES.inc("good" if published.error is None else "error")
            VERSIONS.inc(by=published.changed)
        if published is not None and published.unstable:
            self._once_more.append(replace(job, first=result.parsed))
        elif published is not None:
            found = {**job.hashes, **result.parsed.secrets}
            self.scan.states[job.key.bundle].note_parse(job.key.path, result.read, found)
        if job.key in self._outdated or (published is not None and published.freed):
            self.scan_requested.set()


def _is_outdated(running: Mapping[FileKey, Job], now: Job) -> bool:
    """Tell whether a parse that is under way began too early for what is asked for by now."""
    job = running.get(now.key)
    return job is not None and (job.hashes != now.hashes or not set(now.runs) <= set(job.runs))
