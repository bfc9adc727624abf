"""Where the files of bundles are, whatever kind these are of."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class FolderBundle:
    """A folder, or a symbolic link to one that is put in its place from time to time."""

    name: str
    path: Path
    commit: None = None

    @property
    def root(self) -> Path:
        """The folder itself: who takes it once stays with it when a link is turned elsewhere."""
        return self.path.resolve()


class BundlePlace(NamedTuple):
    """Where the files of a bundle are, and of which commit; None for a plain folder."""

    root: Path
    commit: str | None = None


class BundleSource(Protocol):
    """What gives the place of a bundle's files."""

    @property
    def place(self) -> BundlePlace | None:
        """Where they are now; None while they are nowhere."""

    @property
    def watched(self) -> Path | None:
        """The folder, or a link to it, in which files may change at any time."""

    def nudge(self) -> None:
        """Say that the place is not where others are."""

    def close(self) -> None:
        """End."""


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A folder of this machine."""

    bundle: FolderBundle

    @property
    def place(self) -> BundlePlace:
        """The folder, wherever links lead at the moment."""
        return BundlePlace(self.bundle.root)

    @property
    def watched(self) -> Path:
        """The folder, as it was named."""
        return self.bundle.path

    def nudge(self) -> None:
        """Do nothing: others have the same folder."""

    def close(self) -> None:
        """Do nothing."""
