"""Which files are to be parsed, why, and in which order."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random

from headway.db.parsing.files import FileKey, FileRow
from headway.runtime.settings.parser import SortMode
from headway_parser.bundles.bundle_files import BundleFiles
from headway_parser.contents import stamp_of
from headway_parser.parse.answer import ParsedFile


class ParseReason(StrEnum):
    """Why a file is parsed."""

    NEW = "new"
    REQUESTED = "requested"
    CHANGED = "changed"
    ABANDONED = "abandoned"
    DUE = "due"
    INCOMPLETE = "incomplete"


def why(
    row: FileRow | None, mine: str, me: int, others: Collection[int], *, changed: bool
) -> ParseReason | None:
    """Return why this parser is to parse the file; None when it is to leave it alone.

    `mine` is the signature of the content that this parser sees; `changed` is whether that is
    another one than it had parsed, or found stored, before.  `others` are the other parsers
    that are alive.

    A parser acts on what changes before its own eyes.  What another has parsed otherwise
    is left alone, as long as that one lives: two parsers that see different files, one of
    them being late, would else go on correcting each other.
    """
    if row is None:
        return ParseReason.NEW
    if row.claimed and row.parser_id in others:
        return None
    if row.claimed:
        return ParseReason.ABANDONED
    if row.parse_requested:
        return ParseReason.REQUESTED
    if row.signature != mine:
        orphaned = row.parser_id not in others and row.parser_id != me
        return ParseReason.CHANGED if changed or orphaned else None
    return ParseReason.DUE if row.due else None


def may_forget(row: FileRow, others: Collection[int]) -> bool:
    """Tell whether a file that this parser does not find any more is its own to forget.

    Who parsed a file last sees it last: as long as that parser lives it is the judge.
    """
    return row.parser_id not in others


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A file to parse.

    `seen` is its signature in the database, '' for none, and `hashes` what the files that it
    read the last time hold here.  `bundle` is what the scan has found besides.
    `runs` wait for this parse; `first` is the one that this one is the check of, and `tries` how
    often it came to nothing by no fault of the file.  Nothing is preloaded for a job that is
    `alone`: its error is the file's.
    """

    key: FileKey
    root: Path
    reason: ParseReason
    seen: str
    hashes: Mapping[str, str]
    commit: str | None = None
    failures: int = 0
    runs: tuple[int, ...] = ()
    bundle: BundleFiles | None = None
    first: ParsedFile | None = None
    tries: int = 0
    alone: bool = False


def in_order(jobs: Iterable[Job], mode: SortMode, random: Random) -> list[Job]:
    """Return the jobs in the order to begin them; what somebody waits for comes first."""
    found = sorted(jobs, key=lambda job: job.key)
    if mode is SortMode.RANDOM:
        random.shuffle(found)
    elif mode is SortMode.MODIFIED_TIME:
        found.sort(key=_modified, reverse=True)
    return sorted(found, key=lambda job: job.reason is not ParseReason.REQUESTED)


def _modified(job: Job) -> int:
    stamp = stamp_of(job.root / job.key.path)
    return 0 if stamp is None else stamp.modified
