"""The files that patterns of `headway_files` name, looked for within a bound of time."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.domain.errors import DagError
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.seam import nothing
from headway.sdk.bundle.declared_files import matches
from headway.serialization.manifest import content_hash

log = logging.getLogger(__name__)

LONGEST: Final = 1.0
"""Seconds for all patterns of a bundle in one look: a parser does nothing else meanwhile."""

ABSENT: Final = "absent"
"""What stands for the content of a file that is not there, or is none to read."""

LATE: Final = "late"
"""What stands for the names of a pattern that nobody had the time to look for yet."""


class _LateError(Exception):
    """The time is over."""


def names_hash(names: Collection[str]) -> str:
    """Return the hash of the names of files that a pattern finds."""
    return content_hash("\n".join(names).encode())


def names_of(root: Path, dependency: str, hurry: Callable[[], None] = nothing) -> str:
    """Return the hash of the names of files that a pattern of `headway_files` finds.

    The dependency is the pattern with a "/" behind it, which no file's name has.
    """
    try:
        return names_hash(matches(root, dependency.removesuffix("/"), hurry))
    except DagError:
        return ABSENT


@dataclass(slots=True)
class Patterns:
    """What patterns have found when they were looked for last.

    The ones that nobody has looked for the longest come first, so that each has its turn: one that
    was interrupted is first in the next look, and last after it if it takes all the time alone.
    """

    clock: Clock
    _found: dict[tuple[Path, str], str] = field(default_factory=dict)
    _looked: dict[tuple[Path, str], int] = field(default_factory=dict)
    _number: int = 0
    _said: set[Path] = field(default_factory=set)

    def look(self, root: Path, dependencies: Collection[str]) -> None:
        """Look for the files of these patterns, until the time is over; forget other patterns."""
        deadline = self.clock.monotonic() + LONGEST

        def hurry() -> None:
            if self.clock.monotonic() > deadline:
                raise _LateError

        self._forget(root, dependencies)
        self._number += 1
        in_turn = sorted(dependencies, key=lambda it: (self._looked.get((root, it), 0), it))
        for place, name in enumerate(in_turn):
            try:
                self._found[root, name] = names_of(root, name, hurry)
            except _LateError:
                if place == 0:
                    self._looked[root, name] = self._number
                self._say(root, len(dependencies))
                return
            self._looked[root, name] = self._number
        self._said.discard(root)

    def found(self, root: Path, dependency: str) -> str:
        """Return the hash of the names that were found last; LATE if there was no time yet."""
        return self._found.get((root, dependency), LATE)

    def _forget(self, root: Path, kept: Collection[str]) -> None:
        for known in (self._found, self._looked):
            for key in [key for key in known if key[0] == root and key[1] not in kept]:
                del known[key]

    def _say(self, root: Path, count: int) -> None:
        if root not in self._said:
            self._said.add(root)
            log.warning(
                "action=look_for_patterns %s: looking for the files of %d patterns of "
                "headway_files takes more than %g s. Files that come or go are noticed later, "
                "or not at all for a pattern that takes so long alone. "
                "Name folders in the patterns, or fewer of them.",
                root,
                count,
                LONGEST,
            )
