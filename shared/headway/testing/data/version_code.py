"""The files of a version as a test makes them up."""

from collections.abc import Collection, Mapping
from pathlib import Path

from headway.runtime.daemon.seam import nothing
from headway.sdk.bundle.bundle_code import BundleCode
from headway.serialization.manifest import content_hash


class ContentsInMemory:
    """A supply of contents in memory: of the version's files, and of those of its bundle."""

    def __init__(self, *files: Mapping[str, bytes]) -> None:
        self.by_hash = {
            content_hash(content): content for each in files for content in each.values()
        }
        self.bundle = hashes(files[-1])
        self.asked: list[str] = []

    def content(self, content_hash: str) -> bytes:
        """Return the content of that hash."""
        self.asked.append(content_hash)
        return self.by_hash[content_hash]

    def others(self) -> Mapping[str, str]:
        """Return the bundle's files."""
        self.asked.append("others")
        return self.bundle

    def prepare(self, hashes: Collection[str]) -> None:
        """Have nothing to do: all contents are here."""


def hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the content hashes of files by path."""
    return {path: content_hash(content) for path, content in files.items()}


def version_code(
    root: Path, files: Mapping[str, bytes], others: Mapping[str, bytes] | None = None
) -> BundleCode:
    """Return a version of these files, whose bundle has those besides."""
    return BundleCode(root, hashes(files), ContentsInMemory(files, others or {}), nothing)


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by path."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def store(folder: Path, files: Mapping[str, bytes]) -> dict[str, str]:
    """Write contents to a folder by their hash, as a worker does; return the hashes by path."""
    folder.mkdir(parents=True, exist_ok=True)
    for content in files.values():
        (folder / content_hash(content)).write_bytes(content)
    return hashes(files)
