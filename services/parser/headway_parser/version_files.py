"""The DAG files of a folder, and the two sets of files that a task has: as a parser finds them.

It is for authors, who run DAGs in a process of their own.
"""

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from socket import socket, socketpair
from typing import Final

from headway.domain.errors import DagError
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.processes.frames import Frame, receive_frame
from headway.serialization.manifest import content_hash
from headway_parser.bundles.bundle_files import BundleFiles, BundleReader
from headway_parser.child.imports import INSTALLED
from headway_parser.child.parse_file import parse
from headway_parser.discover.listing import Lister

_LARGEST_ANSWER: Final = 96 * 2**20


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


def version_files(root: Path, path: str) -> VersionFiles:
    """Return the files of a version of the DAG file `path`; DagError if no version can be made.

    It is read in a process of its own, which prints nothing.
    """
    if not (root / path).exists():
        raise DagError(f"There is no DAG file {root / path}.")
    answer = _parsed(root, path)
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


def _parsed(root: Path, path: str) -> Frame:
    ours, theirs = socketpair()
    with ours:
        with theirs:
            child = os.fork()
            if child == 0:
                _parse_and_leave(root, path, theirs)
        answer = receive_frame(ours, _LARGEST_ANSWER)
        os.waitpid(child, 0)
    if answer is None:
        raise DagError(f"Reading {path} ended its process; it must not do that.")
    return answer


def _parse_and_leave(root: Path, path: str, channel: socket) -> None:
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        _forget_bundle(f"{root}/")
        parse({"root": str(root), "path": path}, channel)
    finally:
        os._exit(0)


def _forget_bundle(prefix: str) -> None:
    """Have this process know no more of the bundle than one that has imported nothing of it."""
    sys.path[:] = [entry for entry in sys.path if not _is_of_bundle(f"{entry}/", prefix)]
    for name, module in list(sys.modules.items()):
        if _is_of_bundle(getattr(module, "__file__", None) or "", prefix):
            del sys.modules[name]


def _is_of_bundle(path: str, prefix: str) -> bool:
    return path.startswith(prefix) and not any(part in path for part in INSTALLED)
