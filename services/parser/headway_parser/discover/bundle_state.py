"""One bundle as this parser sees it: which of its files are to be parsed, which are gone."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from headway.db.parsing.files import FileKey, FileRow
from headway.runtime.daemon.clock import Clock
from headway_parser.bundles.bundle_files import BundleFiles, BundleReader, StoredBundle
from headway_parser.bundles.source import BundlePlace
from headway_parser.contents import FileContents, is_pattern, signature_of, stamp_of
from headway_parser.discover.listing import Lister, Listing
from headway_parser.parse.jobs import Job, ParseReason, may_forget, why
from headway_parser.secrets.dependency import SecretStates, allow_none, secret_of

LARGE_LOSS: Final = 0.5
"""The share of a folder's files that, gone at once, must be gone a while later as well."""


CONFIRMED_AFTER: Final = 15.0
"""That while, in seconds."""


MOST_REPEATS: Final = 3
"""How often in a row a file that holds what it held counts as changed, on its own word."""


EMPTY_FOR: Final = 5.0
"""Seconds for which a file that is there must hold no DAG: whoever saves one may empty it first."""


COMPLETED_AFTER: Final = 15.0
"""Seconds between two parses of a file whose versions lack files of the bundle: these may be
written all the time."""


@dataclass(slots=True)
class BundleState:
    """What this parser knows of a bundle besides what is stored.

    `considered` is, for each file, the content by path that it has had parsed, or found stored.
    """

    name: str
    me: int
    lister: Lister
    contents: FileContents
    release: str
    clock: Clock
    reader: BundleReader
    secret_states: SecretStates = allow_none
    considered: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _last: StoredBundle = field(default_factory=StoredBundle)
    _parsed: dict[str, tuple[Mapping[str, str], int]] = field(default_factory=dict)
    _parsed_at: dict[str, float] = field(default_factory=dict)
    _loss: tuple[frozenset[str], float] | None = None
    _empty: dict[str, float] = field(default_factory=dict)
    _commit: tuple[str, frozenset[str]] | None = None

    def listed(self, place: BundlePlace) -> Listing:
        """Return the files that are there now."""
        return self.lister.list(place.root)

    def jobs(
        self,
        place: BundlePlace,
        listing: Listing,
        rows: Mapping[str, FileRow],
        others: Collection[int],
        wanted: Mapping[str, tuple[int, ...]],
    ) -> Iterator[Job]:
        """Yield what is to be parsed, given what is stored; `wanted` has the runs that wait.

        Each file is looked at once, however many others have imported it.
        """
        bundle = BundleFiles(place.root, listing.all_files, self.reader, listing.gap, self._last)
        there = self._look(place.root, listing, rows)
        for path in listing.paths:
            row, before = rows.get(path), self.considered.get(path)
            hashes = {name: there(name) for name in {path, *(row.paths if row else ())}}
            mine = signature_of(hashes, self.release)
            changed = before is None or any(there(name) != old for name, old in before.items())
            reason = why(row, mine, self.me, others, changed=changed)
            if row is not None and row.signature == mine:
                self.considered[path] = hashes
            if reason is None and self._may_complete(path, row) and bundle.seems_complete:
                reason = ParseReason.INCOMPLETE
            if path in wanted and (row is None or not row.claimed):
                reason = ParseReason.REQUESTED
            if reason is ParseReason.CHANGED and self._repeats(path, hashes) >= MOST_REPEATS:
                reason = None
            if reason is not None:
                yield Job(
                    key=FileKey(self.name, path),
                    root=place.root,
                    commit=place.commit,
                    reason=reason,
                    seen="" if row is None else row.signature,
                    hashes=hashes,
                    failures=0 if row is None else row.failures,
                    runs=wanted.get(path, ()),
                    bundle=bundle,
                )

    def _look(
        self, root: Path, listing: Listing, rows: Mapping[str, FileRow]
    ) -> Callable[[str], str]:
        """Look for the files of patterns; return what tells the hash of a dependency."""
        known = {
            dependency for path in listing.paths if path in rows for dependency in rows[path].paths
        }
        self.contents.patterns.look(
            root, {dependency for dependency in known if is_pattern(dependency)}
        )
        states = self._states(known)

        @cache
        def look(it: str) -> str:
            return (
                states[it] if it in states else self.contents.look(root, it, listing.stamps.get(it))
            )

        return look

    def _states(self, known: Collection[str]) -> Mapping[str, str]:
        """Return the states of the connections and variables among dependencies."""
        names = {name: it for it in known if (name := secret_of(it)) is not None}
        found = self.secret_states(self.name, names) if names else {}
        return {it: found[name] for name, it in names.items()}

    def note_parse(self, path: str, read: Mapping[str, str], hashes: Mapping[str, str]) -> None:
        """Note what a parse says that it has read, and what was there for certain.

        That is what files held when it began, and what this parser has told it of secrets.
        """
        self.considered[path] = read
        self._parsed[path] = hashes, self._repeats(path, hashes) + 1
        self._parsed_at[path] = self.clock.monotonic()

    def _repeats(self, path: str, hashes: Mapping[str, str]) -> int:
        """Return how many parses in a row have found these contents.

        What they say of others may be untrue: a child can claim to have read what nobody has.
        """
        last, times = self._parsed.get(path, ({}, 0))
        return (
            times if all(hashes.get(name, digest) == digest for name, digest in last.items()) else 0
        )

    def _may_complete(self, path: str, row: FileRow | None) -> bool:
        """Tell whether another parse is to add the bundle's files that versions lack."""
        if row is None or not row.incomplete or row.claimed or row.failures:
            return False
        last = self._parsed_at.get(path)
        return last is None or self.clock.monotonic() - last >= COMPLETED_AFTER

    def gone(
        self,
        place: BundlePlace,
        listing: Listing,
        rows: Mapping[str, FileRow],
        others: Collection[int],
    ) -> list[str] | None:
        """Return the stored files that are gone for certain; None if that cannot be told.

        A commit is what it is, unless its checkout lacks what it had.  Of a folder, one that
        is empty proves nothing, for it may not be mounted, nor does an empty one in it of what
        this parser has never seen there; and a large loss must last, as must what is left of
        it when files come back one after the other.
        """
        whole = place.commit is not None and self._is_whole(place.commit, listing)
        missing = sorted(rows.keys() - set(listing.paths))
        empty = self._empty_for_now(place, missing)
        gone = [path for path in missing if path not in empty and may_forget(rows[path], others)]
        if not gone:
            self._loss = None
            return []
        if place.commit is not None:
            return gone if whole else None
        lasts = self._lasts(frozenset(missing), len(rows))
        if listing.complete and listing.paths and not self._may_be_unmounted(place, gone):
            return gone if lasts else []
        if self._loss is not None:
            self._loss = frozenset(), self._loss[1]  # what is left of it has its own while
        return None

    def _may_be_unmounted(self, place: BundlePlace, gone: Collection[str]) -> bool:
        """Tell whether files that were never seen here may be on a volume that is not mounted.

        Its mount point is then an empty folder.  A volume that was seen is missed by the lister.
        """
        never_seen = {path for path in gone if path not in self.considered}
        folders = {(place.root / path).parent for path in never_seen}
        return any(_is_empty(_nearest(folder)) for folder in folders)

    def _is_whole(self, commit: str, listing: Listing) -> bool:
        """Tell whether a listing has all that was there when the commit was looked at first."""
        if not listing.complete:
            return False
        if self._commit is None or self._commit[0] != commit:
            self._commit = commit, frozenset(listing.paths)
        return self._commit[1] <= set(listing.paths)

    def _empty_for_now(self, place: BundlePlace, missing: Collection[str]) -> set[str]:
        """Return the files that are there, and have only just ceased to be DAG files."""
        now = self.clock.monotonic()
        there = [path for path in missing if stamp_of(place.root / path) is not None]
        self._empty = {path: self._empty.get(path, now) for path in there}
        if place.commit is not None:
            return set()
        return {path for path, since in self._empty.items() if now - since < EMPTY_FOR}

    def _lasts(self, missing: frozenset[str], known: int) -> bool:
        """Tell whether a loss is small, or has been the same for a while."""
        large = len(missing) > 1 and len(missing) >= LARGE_LOSS * known
        if self._loss is None and not large:
            return True
        now = self.clock.monotonic()
        if self._loss is None or self._loss[0] != missing:
            self._loss = missing, now
        return now - self._loss[1] >= CONFIRMED_AFTER


def _nearest(folder: Path) -> Path:
    """Return the folder, or the first of those that it lies in that is there."""
    return next((path for path in (folder, *folder.parents) if path.is_dir()), folder)


def _is_empty(folder: Path) -> bool:
    try:
        return not any(folder.iterdir())
    except OSError:
        return True
