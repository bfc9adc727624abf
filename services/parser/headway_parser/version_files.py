"""The DAG files of a folder, and the two sets of files that a task has: as a parser finds them.

It is for authors, who run DAGs in a process of their own.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.errors import DagError
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.settings.layer_use import LayerUse
from headway.serialization.manifest import content_hash
from headway_parser.bundles.bundle_files import BundleFiles, BundleReader
from headway_parser.discover.listing import Lister
from headway_parser.single_parse import SilentParseError, parse_apart


@dataclass(frozen=True, slots=True)
class VersionFiles:
    """The files of the version that a DAG file would make now, and the bundle's files besides.

    Both are content hashes by path; it is the supply of their contents as well.  `notes` are
    what the author should know.
    """

    files: Mapping[str, str]
    notes: tuple[str, ...]
    contents: Mapping[str, bytes]
    bundle: BundleFiles

    def content(self, content_hash: str) -> bytes:
        """Return the content of that hash, as it was found."""
        if content_hash in self.contents:
            return self.contents[content_hash]
        path = next(path for path, digest in self.bundle.files.items() if digest == content_hash)
        found = self.bundle.reader.read(self.bundle.root, path)
        if found is None:
            raise DagError(f"{self.bundle.root / path} has gone since the test began.")
        return found[1]

    def others(self) -> Mapping[str, str]:
        """Return the bundle's files."""
        return self.bundle.files

    def prepare(self, hashes: Collection[str]) -> None:
        """Have nothing to do: contents are read where the author has them."""


def version_files(
    root: Path,
    path: str,
    cron_semantics: CronSemantics | None,
    airflow_layer: LayerUse = LayerUse.AUTO,
) -> VersionFiles:
    """Return the files of a version of the DAG file `path`; DagError if it cannot be read.

    It is read in a process of its own, which prints nothing.
    """
    if not (root / path).exists():
        raise DagError(f"There is no DAG file {root / path}.")
    try:
        answer = parse_apart(root, path, cron_semantics, airflow_layer=airflow_layer)
    except SilentParseError as silence:
        raise DagError(f"{path} cannot be imported:\n{silence}") from None
    if "files" not in answer:
        said = str(answer.get("error") or answer.get("changed"))
        raise DagError(f"{path} cannot be imported:\n{said}")
    clock = SystemClock()
    listing = Lister(clock=clock).list(root)
    found: Mapping[str, bytes] = answer["files"]
    return VersionFiles(
        files={name: content_hash(content) for name, content in found.items()},
        notes=tuple(answer["notes"]),
        contents={content_hash(content): content for content in found.values()},
        bundle=BundleFiles(root, listing.all_files, BundleReader(clock), listing.gap),
    )


def dag_files(root: Path, *, safe_mode: bool) -> tuple[str, ...]:
    """Return the paths of the files below a folder that a parser takes for DAG files."""
    return Lister(safe_mode).list(root).paths
