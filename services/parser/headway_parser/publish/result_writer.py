"""Write what came of parses in a thread of its own: no child waits for the database."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from headway.db.parsing.files import FileKey
from headway.runtime.daemon.clock import Clock
from headway_parser.contents import signature_of
from headway_parser.parse.answer import ParsedFile
from headway_parser.parse.jobs import Job
from headway_parser.publish.publish import Published
from headway_parser.publish.stored_parse import StoredParse

MOST_AT_ONCE: Final = 32


MOST_BYTES: Final = 16 * 2**20
"""Files that are stored in one transaction, and bytes, unless one alone has more."""


GATHERING: Final = 0.2
"""Seconds for which a result waits for others to be stored with it, if more are to come."""


StoreFiles: TypeAlias = Callable[[Sequence[StoredParse]], Mapping[FileKey, Published]]


class ParseResult(NamedTuple):
    """A job that was done, what came of it, and the seconds that it took."""

    job: Job
    parsed: ParsedFile
    seconds: float

    @property
    def read(self) -> Mapping[str, str]:
        """What the result depends on; a child that failed cannot tell of all that it read.

        What it leaves out is taken as it was before: otherwise the file would seem to have
        changed.
        """
        known = {**(self.parsed.read or {}), **self.parsed.secrets}
        if self.parsed.error is None and self.parsed.read is not None:
            return known
        return {**self.job.hashes, **known}

    def parse(self, release: str) -> StoredParse:
        """Return this as it is stored by what reads files here."""
        job = self.job
        return StoredParse(
            file=job.key,
            result=self.parsed,
            signature=signature_of(self.read, release),
            paths=sorted(self.read),
            seconds=self.seconds,
            failures=job.failures,
            commit=job.commit,
            bundle=job.bundle,
            first=job.first,
            runs=job.runs,
        )


@dataclass(slots=True)
class ResultWriter:
    """Results that wait to be stored: those that come while others are stored go together."""

    store: StoreFiles
    release: str
    clock: Clock
    _store_by: float = 0.0
    _waiting: list[ParseResult] = field(default_factory=list)
    _under_way: tuple[Sequence[ParseResult], "Future[Mapping[FileKey, Published]]"] | None = None
    _thread: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, "result writer")
    )

    def add(self, result: ParseResult) -> None:
        """Have a result stored."""
        if not self._waiting:
            self._store_by = self.clock.monotonic() + GATHERING
        self._waiting.append(result)

    @property
    def jobs(self) -> dict[FileKey, Job]:
        """The jobs of which the results are still to be stored."""
        under_way = self._under_way[0] if self._under_way else ()
        return {result.job.key: result.job for result in (*self._waiting, *under_way)}

    @property
    def busy(self) -> bool:
        """Whether anything is still to be stored."""
        return bool(self._waiting or self._under_way)

    def wait(self, seconds: float) -> None:
        """Wait until something is stored, at most so long; not at all when nothing is to be."""
        if self._under_way is not None:
            wait([self._under_way[1]], seconds)

    def collect(self, *, more: bool) -> list[tuple[ParseResult, Published | None]]:
        """Return what was stored since, and begin with what waits; never wait.

        With `more` results to come, few are not worth a transaction yet.  None stands for
        what another parser has taken over.  What could not be stored waits for the next time,
        and the error goes through.
        """
        stored: list[tuple[ParseResult, Published | None]] = []
        if self._under_way is not None and self._under_way[1].done():
            results, future = self._under_way
            self._under_way = None
            self._waiting[:0] = results
            published = future.result()
            del self._waiting[: len(results)]
            stored = [(result, published.get(result.job.key)) for result in results]
        if self._under_way is None and self._waiting and (not more or self._is_enough()):
            results = self._batch()
            del self._waiting[: len(results)]
            parses = [result.parse(self.release) for result in results]
            self._under_way = results, self._thread.submit(self.store, parses)
        return stored

    def _batch(self) -> list[ParseResult]:
        """Return the first of those that wait: as many as one transaction is to hold."""
        batch: list[ParseResult] = []
        left = MOST_BYTES
        for result in self._waiting[:MOST_AT_ONCE]:
            left -= result.parsed.size
            if batch and left < 0:
                break
            batch.append(result)
        return batch

    def _is_enough(self) -> bool:
        return len(self._waiting) >= MOST_AT_ONCE or self.clock.monotonic() >= self._store_by

    def close(self) -> None:
        """Wait for what is under way, and store nothing else."""
        self._thread.shutdown(wait=True)
