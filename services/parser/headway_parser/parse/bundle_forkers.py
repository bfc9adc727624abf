"""The fork servers of bundles: which there are to be, and which file is parsed by one of them.

A bundle has one once a file of it was seen to import modules of installed packages.  Whatever
becomes of it, files are parsed without it.
"""

import logging
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from headway.domain.errors import HeadwayError
from headway.metrics.parser import PRELOADED_PARSES
from headway.runtime.daemon.clock import Clock
from headway.runtime.forker import Exit, Forker
from headway.runtime.forker.client import begin
from headway_parser.imported_names import imported_names
from headway_parser.parse.answer import ParsedFile
from headway_parser.parse.bundle_forker import PreloadError
from headway_parser.parse.bundle_imports import BundleImports
from headway_parser.parse.jobs import Job

log = logging.getLogger(__name__)

MOST: Final = 8
"""Fork servers of bundles that there are at a time."""

SHORTEST_PAUSE: Final = 10.0
SHARE: Final = 20.0
"""Seconds from one start for a bundle to the next, and at least so often what a start took: files
of a new bundle tell their imports one after the other."""

BEGINNING: Final = 2**16
"""Bytes of a new file in which imports of preloaded modules are looked for."""

FEW: Final = 8
"""Modules of a bundle that are left out one after the other, without a pause."""

FIRST_RETRY: Final = 60.0
LONGEST_RETRY: Final = 3600.0
"""Seconds until a bundle has another one after one was lost, twice as many after each."""

Start = Callable[[Forker, Job, tuple[str, ...]], Forker]
"""Starts a fork server for a job's bundle, with these modules; or PreloadError."""


@dataclass(slots=True)
class BundleForker:
    """A fork server that is being started for a job's bundle, or serves."""

    job: Job
    modules: tuple[str, ...]
    begun_at: float
    starting: Future[Forker]
    used_at: float = 0.0

    @property
    def forker(self) -> Forker:
        """The fork server, once it has started."""
        return self.starting.result()


@dataclass(slots=True)
class Bundle:
    """What is known of a bundle, and its fork servers: the next one, and the one that serves.

    `unfit` are files that `serving` must not parse, `suspects` those that it has failed to parse.
    """

    job: Job
    imports: BundleImports = field(default_factory=BundleImports)
    unfit: set[str] = field(default_factory=set)
    suspects: set[str] = field(default_factory=set)
    coming: BundleForker | None = None
    serving: BundleForker | None = None
    again_at: float = 0.0
    losses: int = 0


@dataclass(slots=True)
class BundleForkers:
    """The fork servers of all bundles, each started in a thread; one thread may use this object.

    One ends that has parsed nothing for `idle_seconds`, or holds what is not wanted any more.
    """

    start: Start
    clock: Clock
    idle_seconds: float
    _bundles: dict[str, Bundle] = field(default_factory=dict)
    _leaving: list[tuple[str, Forker]] = field(default_factory=list)

    def forker_for(self, job: Job) -> Forker | None:
        """Return the fork server that is to parse a file, None if that is the parser's own."""
        bundle = self._bundles.get(job.key.bundle)
        if bundle is None or bundle.serving is None or job.alone:
            return None
        serving = bundle.serving
        if serving.job.root != job.root or job.key.path in bundle.unfit:
            return None
        names = bundle.imports.of(job.key.path)
        if (imported_names(_source(job)) if names is None else names).isdisjoint(serving.modules):
            return None
        serving.used_at = self.clock.monotonic()
        return serving.forker

    def learn(self, job: Job, parsed: ParsedFile, *, preloaded: bool) -> None:
        """Take note of what a file imports, and of who was at fault if it was parsed once more."""
        if preloaded:
            PRELOADED_PARSES.inc("kept")
        bundle = self._bundles.get(job.key.bundle)
        if bundle is None:
            if not parsed.imports:
                return
            bundle = self._bundles[job.key.bundle] = Bundle(job)
        path, is_good = job.key.path, parsed.error is None
        if not preloaded and path in bundle.suspects and is_good:
            log.warning("action=preload_unfit bundle=%s file=%s", *job.key)
            bundle.unfit.add(path)
        bundle.suspects.discard(path)
        if is_good:
            bundle.losses = 0 if preloaded else bundle.losses
            bundle.job = job
            there = bundle.serving.modules if preloaded and bundle.serving else ()
            bundle.imports.note(path, parsed.imports, there, self.clock.monotonic())

    def blame(self, job: Job, result: ParsedFile | Exit) -> None:
        """Take note that a preloaded parse came to nothing: the file is parsed alone after this."""
        PRELOADED_PARSES.inc("repeated")
        bundle = self._bundles[job.key.bundle]
        why = result.lost if isinstance(result, Exit) else result.error
        log.info("action=preload_repeat bundle=%s file=%s why=%r", *job.key, why)
        if isinstance(result, ParsedFile) and result.outdated:
            self._end(bundle, "what is installed has changed")
            bundle.imports.refused.clear()
        else:
            bundle.suspects.add(job.key.path)

    def lose(self, job: Job, why: str) -> None:
        """Take note that the fork server of a job's bundle does not do what it is asked for."""
        self._lose(self._bundles[job.key.bundle], why)

    def step(self, forker: Forker, busy: Collection[str]) -> None:
        """Take, end and begin fork servers, below `forker`; never wait.

        `busy` are the bundles with parses by one: an old one stays until these have ended.
        """
        now = self.clock.monotonic()
        for bundle in self._bundles.values():
            if bundle.coming is not None and bundle.coming.starting.done():
                self._take(bundle, bundle.coming, now)
            if bundle.serving is not None and not bundle.serving.forker.alive():
                self._lose(bundle, "it has died")
            if bundle.serving is not None and now >= bundle.serving.used_at + self.idle_seconds:
                self._end(bundle, "it has parsed nothing for long")
                bundle.imports.forget()  # of files as old as that
        for each in [each for each in self._leaving if each[0] not in busy]:
            self._leaving.remove(each)
            each[1].close()
        for bundle in self._bundles.values():
            self._begin_if_due(bundle, forker, now)

    def close(self) -> None:
        """End all of them, and their children; those being started end with their fork server."""
        for bundle in self._bundles.values():
            self._end(bundle, "the parser ends")
        while self._leaving:
            self._leaving.pop()[1].close()

    def _begin_if_due(self, bundle: Bundle, forker: Forker, now: float) -> None:
        """Begin a fork server for a bundle that has none, or one that is not as it should be."""
        if bundle.coming is not None or now < bundle.again_at:
            return
        job, modules = bundle.job, bundle.imports.wanted(now - self.idle_seconds)
        serving = bundle.serving
        if not modules or (
            serving is not None and (serving.modules, serving.job.root) == (modules, job.root)
        ):
            return
        if serving is None and self._count() >= MOST:
            return
        starting = begin(lambda: self.start(forker, job, modules))
        bundle.coming = BundleForker(job, modules, now, starting)

    def _count(self) -> int:
        bundles = self._bundles.values()
        return len(self._leaving) + sum(bool(each.serving or each.coming) for each in bundles)

    def _take(self, bundle: Bundle, coming: BundleForker, now: float) -> None:
        """Have a fork server serve that was begun, instead of the one before."""
        name, took = bundle.job.key.bundle, now - coming.begun_at
        bundle.coming = None
        bundle.again_at = now + max(SHORTEST_PAUSE, SHARE * took)
        try:
            coming.starting.result()
        except PreloadError as error:
            self._refuse(bundle, error)
            return
        except HeadwayError as error:
            self._retreat(bundle, str(error))
            return
        if bundle.serving is not None:
            self._end(bundle, "another one takes its place")
        coming.used_at = now
        bundle.serving = coming
        bundle.unfit.clear()
        bundle.suspects.clear()  # of the one before
        modules = ",".join(coming.modules)
        log.info("action=preload bundle=%s seconds=%.1f modules=%s", name, took, modules)

    def _refuse(self, bundle: Bundle, error: PreloadError) -> None:
        """Do without a module that cannot be preloaded, or without all for a while."""
        if error.module is None:
            self._retreat(bundle, str(error))
            return
        bundle.imports.refused.add(error.module)
        bundle.again_at = 0.0 if len(bundle.imports.refused) <= FEW else bundle.again_at
        told = (bundle.job.key.bundle, error.module, str(error))
        log.warning("action=preload_refuse bundle=%s module=%s why=%r", *told)

    def _end(self, bundle: Bundle, why: str) -> None:
        """Let a fork server go, once none of its parses is left."""
        if bundle.serving is not None:
            log.info("action=preload_end bundle=%s why=%r", bundle.job.key.bundle, why)
            self._leaving.append((bundle.job.key.bundle, bundle.serving.forker))
            bundle.serving = None

    def _lose(self, bundle: Bundle, why: str) -> None:
        """Let go at once of a fork server that has failed, and do without one for a while."""
        if bundle.serving is not None:
            bundle.serving.forker.close()
            bundle.serving = None
            self._retreat(bundle, why)

    def _retreat(self, bundle: Bundle, why: str) -> None:
        pause = min(FIRST_RETRY * 2.0**bundle.losses, LONGEST_RETRY)
        bundle.losses += 1
        bundle.again_at = self.clock.monotonic() + pause
        told = (bundle.job.key.bundle, pause, why)
        log.warning("action=preload_lost bundle=%s next_try=%.0f why=%r", *told)


def _source(job: Job) -> bytes:
    try:
        with (job.root / job.key.path).open("rb") as file:
            return file.read(BEGINNING)
    except OSError:
        return b""  # its parse will say so
