"""Compare what bundles hold with what is stored of them: what is to be parsed, what is gone."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Engine

from headway.db.core.engine import reader
from headway.db.core.processes import Identity
from headway.db.parsing import bundles, file_claims, files, pins
from headway.db.parsing.files import FileRow
from headway.metrics.metric import Values
from headway.metrics.parser import FILES
from headway.runtime.daemon.seam import nothing
from headway_parser.bundles.source import BundlePlace, BundleSource
from headway_parser.discover.bundle_state import BundleState
from headway_parser.discover.listing import Listing
from headway_parser.parse.jobs import Job

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredBundles:
    """What the database knows.

    Files by bundle and path, the commits that bundles are to be at, the runs that wait for a
    file, by bundle and path as well, and the other parsers alive.
    """

    rows: Mapping[str, Mapping[str, FileRow]]
    commits: Mapping[str, str]
    wanted: Mapping[str, Mapping[str, tuple[int, ...]]]
    others: frozenset[int]


def _show(rows: Mapping[str, Mapping[str, FileRow]]) -> None:
    found: dict[Values, float] = {}
    for name, its in rows.items():
        found[name, "known"] = len(its)
        found[name, "failed"] = sum(file.failures > 0 for file in its.values())
    FILES.replace(found)


def _nothing(_folders: Iterable[Path]) -> None:
    """Watch no folder."""


@dataclass(slots=True)
class BundleScan:
    """The bundles of a parser, by name: where each comes from, and what is known of it.

    `forget` is told of files of a bundle that are gone, and of the other parsers.  `watch` is given
    the folders in which changes are to be noticed; `beat` is called between two bundles, since a
    slow disk may hold up each.
    """

    engine: Engine
    me: Identity
    forget: Callable[[str, Sequence[str], Sequence[int]], None]
    threshold: float
    sources: Mapping[str, BundleSource]
    states: Mapping[str, BundleState]
    watch: Callable[[Iterable[Path]], None] = _nothing
    beat: Callable[[], None] = nothing
    _warned: set[str] = field(default_factory=set)

    def take(self) -> tuple[list[Job], frozenset[int]]:
        """Return the files to parse, and the other parsers that are alive.

        Files that are gone for certain are forgotten on the way.
        """
        stored = self._stored()
        self.watch(source.watched for source in self.sources.values() if source.watched)
        jobs = [job for name in self.states for job in self._compare(name, stored)]
        return jobs, stored.others

    def _stored(self) -> StoredBundles:
        names = list(self.states)
        rows: dict[str, dict[str, FileRow]] = {name: {} for name in names}
        with reader(self.engine).connect() as conn:
            for key, row in files.board(conn, names).items():
                rows[key.bundle][key.path] = row
            _show(rows)
            return StoredBundles(
                rows,
                bundles.commits(conn, names),
                {
                    name: {parse.relative_path: parse.run_ids for parse in pins.wanted(conn, name)}
                    for name in names
                },
                file_claims.parsers(conn, self.threshold) - {self.me.id},
            )

    def _compare(self, name: str, stored: StoredBundles) -> Iterator[Job]:
        self.beat()
        place, state = self._place(name, stored), self.states[name]
        if place is None:
            return
        listing, rows = state.listed(place), stored.rows[name]
        self._forget(state, place, listing, stored)
        yield from state.jobs(place, listing, rows, stored.others, stored.wanted[name])

    def _place(self, name: str, stored: StoredBundles) -> BundlePlace | None:
        """Return where the bundle is; None while it is not at the commit that it is to be at."""
        source = self.sources[name]
        place = source.place
        if place is not None and place.commit != stored.commits.get(name, place.commit):
            source.nudge()
            return None
        return place

    def _forget(
        self, state: BundleState, place: BundlePlace, listing: Listing, stored: StoredBundles
    ) -> None:
        gone = state.gone(place, listing, stored.rows[state.name], stored.others)
        if gone:
            self.forget(state.name, gone, sorted(stored.others))
        if gone is not None:
            self._warned.discard(state.name)
        elif state.name not in self._warned:
            self._warned.add(state.name)
            log.warning(
                "action=keep_stored bundle=%s: %s is empty, missing or not readable as a whole, or "
                "lacks a volume, as an empty folder in it may; the DAGs that are missing stay in "
                "force. `headway dags delete` removes one for good.",
                state.name,
                place.root,
            )
