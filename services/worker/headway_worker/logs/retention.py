"""Which logs on this machine have been kept for long enough."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from headway.domain.retention import LEAST
from headway.runtime.logs.paths import run_of

ASKED: Final = 1000
"""Runs that the database is asked for at a time."""


@dataclass(frozen=True, slots=True)
class KeptLog:
    """A log on the disk; `changed` is the time of its last line, in seconds since the epoch."""

    relative: Path
    changed: float
    size: int


@dataclass(frozen=True, slots=True)
class Keep:
    """For how long, and how many bytes of them, logs are kept."""

    seconds: float
    size: int


def too_many(
    logs: Collection[KeptLog], keep: Keep, now: float, waiting: Collection[Path]
) -> set[Path]:
    """Return the logs to remove: the old ones, and beyond the bytes to keep the oldest.

    Those `waiting` to be copied are not old, whatever their age, but count and go like others
    where there are too many bytes.
    """
    removed: set[Path] = set()
    room = keep.size
    for log in sorted(logs, key=lambda log: (-log.changed, log.relative)):
        room -= log.size
        is_old = now - log.changed > keep.seconds and log.relative not in waiting
        if is_old or room < 0:
            removed.add(log.relative)
    return removed


Run: TypeAlias = tuple[str, str]
"""The ids of a DAG and of a run of it."""

Present: TypeAlias = Callable[[Collection[Run]], Collection[Run]]
"""Tells which of these runs are in the database, or are of DAGs of which it has no run."""


def of_no_run(logs: Iterable[Path], present: Present) -> set[Path]:
    """Return the logs whose runs are in the database no more."""
    runs: dict[Run, list[Path]] = {}
    for log in logs:
        if (its := run_of(log)) is not None:
            runs.setdefault(its, []).append(log)
    found: set[Path] = set()
    for some in _portions(sorted(runs)):
        for gone in set(some) - set(present(some)):
            found.update(runs[gone])
    return found


def tidy(
    folder: Path,
    keep: Keep,
    now: float,
    running: Collection[Path],
    waiting: Collection[Path],
    present: Present | None = None,
) -> int:
    """Remove logs that need not be kept, and the folders that it empties; return how many."""
    logs = [log for log in _logs(folder) if log.relative not in running]
    removed = too_many(logs, keep, now, waiting)
    if present is not None:
        old = [log.relative for log in logs if now - log.changed > LEAST]
        removed |= of_no_run(old, present)
    for relative in removed:
        with suppress(OSError):  # another worker of this home was faster
            (folder / relative).unlink()
            for parent in relative.parents[:-1]:
                (folder / parent).rmdir()
    return len(removed)


def _portions(runs: Sequence[Run]) -> Iterator[Sequence[Run]]:
    for start in range(0, len(runs), ASKED):
        yield runs[start : start + ASKED]


def _logs(folder: Path) -> Iterator[KeptLog]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            with suppress(OSError):  # it has been removed meanwhile
                found = path.lstat()
                yield KeptLog(path.relative_to(folder), found.st_mtime, found.st_size)
