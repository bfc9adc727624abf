"""A bundle that is a folder of this machine; whoever writes into it needs no leave."""

from dataclasses import dataclass
from pathlib import Path


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
