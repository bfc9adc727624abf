"""Note all that is ever on `sys.path`, also what a file puts there for one import only.

A module that is loaded already is found without a look at `sys.path`, so nothing else can tell
where Python would have looked.
"""

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any, Final, SupportsIndex

_seen: Final[dict[str, None]] = {}


def watch() -> None:
    """Begin to note what is on `sys.path`, for as long as this process lasts."""
    _seen.clear()
    sys.__class__ = WatchedSys
    sys.path = [*sys.path]  # which makes it a WatchedPath


def seen() -> list[str]:
    """Return what has been on `sys.path` since then, the first first."""
    return list(_seen)


class WatchedPath(list[str]):
    """A list like `sys.path`, which notes what is added to it."""

    def __init__(self, entries: Iterable[str]) -> None:
        super().__init__(entries)
        self._note()

    def append(self, entry: str) -> None:
        """Add an entry at the end."""
        super().append(entry)
        self._note()

    def insert(self, index: SupportsIndex, entry: str) -> None:
        """Add an entry before that of an index."""
        super().insert(index, entry)
        self._note()

    def extend(self, entries: Iterable[str]) -> None:
        """Add entries at the end."""
        super().extend(entries)
        self._note()

    def __iadd__(self, entries: Iterable[str]) -> "WatchedPath":  # type: ignore[misc, override]
        super().__iadd__(entries)
        self._note()
        return self

    def __setitem__(self, index: Any, entries: Any) -> None:
        super().__setitem__(index, entries)
        self._note()

    def _note(self) -> None:
        _seen.update(dict.fromkeys(entry for entry in self if isinstance(entry, str)))


class WatchedSys(ModuleType):
    """The module `sys`, which keeps a `WatchedPath` when another list is put in the place of it."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "path" and type(value) is list:
            value = WatchedPath(value)
        super().__setattr__(name, value)
