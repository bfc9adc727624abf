"""What there is to parse, in which order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

from headway.db.parsing.files import FileKey
from headway.runtime.settings.parser import SortMode
from headway_parser.answer import ParsedFile
from headway_parser.bundle_files import BundleFiles
from headway_parser.due import ParseReason
from headway_parser.stamps import stamp_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A file to parse.

    `seen` is its signature in the database, '' for none, and `hashes` what the files that it
    read the last time hold here.  `bundle` is what the scan has found besides.
    `runs` wait for this parse; `first` is the one that this one is the check of, and `tries` how
    often it came to nothing by no fault of the file.
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


def in_order(jobs: Iterable[Job], mode: SortMode, random: Random) -> list[Job]:
    """Return the jobs in the order to begin them; what somebody waits for comes first."""
    found = sorted(jobs, key=lambda job: job.key)
    if mode is SortMode.RANDOM:
        random.shuffle(found)
    elif mode is SortMode.MODIFIED_TIME:
        found.sort(key=_modified, reverse=True)
    return sorted(found, key=lambda job: job.reason is not ParseReason.ASKED)


def _modified(job: Job) -> int:
    stamp = stamp_of(job.root / job.key.path)
    return 0 if stamp is None else stamp.modified
