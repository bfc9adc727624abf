"""Where an attempt's files come from: the worker's folder of contents, or the worker itself."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.domain.errors import DagError
from headway.runtime.processes.frames import Frame
from headway.sdk.bundle.bundle_code import BundleCode
from headway.serialization.manifest import content_hash, manifest_files

FOLDER: Final = "headway-code"
"""The name of the folder that files are put into, in the folder that a child works in."""

MOST_PREPARED: Final = 500
"""Contents that the worker is asked for at a time."""


@dataclass(frozen=True, slots=True)
class Code:
    """The files of a version, path to content hash, and the folder that has contents by hash."""

    store: Path
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WorkerSupply:
    """Read contents from the folder `store`, and `ask` the worker for what is not there.

    Whoever may write to the folder can only have the worker be asked.  Only this process asks:
    forks of it have the same channel, and would take each other's answers.
    """

    store: Path
    ask: Callable[[Frame], Frame]
    process: int = field(default_factory=os.getpid)

    def content(self, content_hash: str) -> bytes:
        """Return the content of that hash."""
        found = self._stored(content_hash)
        return self._asked(content_hash) if found is None else found

    def others(self) -> Mapping[str, str]:
        """Return the bundle's files as of the version's commit or scan; none in a fork."""
        if os.getpid() != self.process:
            return {}
        manifest: str | None = self.ask({"ask": "bundle"})["hash"]
        return {} if manifest is None else manifest_files(self.content(manifest))

    def prepare(self, hashes: Collection[str]) -> None:
        """Have the worker put contents into the folder that are not there, many at a time."""
        if os.getpid() != self.process:
            return
        missing = sorted(digest for digest in hashes if not (self.store / digest).exists())
        for part in _parts(missing):
            self.ask({"ask": "contents", "hashes": part})

    def _stored(self, expected: str) -> bytes | None:
        try:
            with open(f"{self.store}/{expected}", "rb", buffering=0) as file:  # noqa: PTH123 - faster
                content = file.readall()
        except OSError:
            return None
        return content if content_hash(content) == expected else None

    def _asked(self, expected: str) -> bytes:
        if os.getpid() != self.process:
            raise DagError(
                f"The content {expected} is not in {self.store}, and a process that a task has "
                "forked cannot ask the worker for it. Import the module before the fork."
            )
        content, size = bytearray(), None
        while size is None or len(content) < size:
            answer = self.ask({"ask": "code", "hash": expected, "start": len(content)})
            size = int(answer["size"])
            content += answer["piece"]
        found = bytes(content)
        if content_hash(found) != expected:
            raise DagError(f"The database has another content than {expected} says.")
        return found


def _parts(hashes: Sequence[str]) -> Iterator[list[str]]:
    for first in range(0, len(hashes), MOST_PREPARED):
        yield list(hashes[first : first + MOST_PREPARED])


def code_of(code: Code, ask: Callable[[Frame], Frame]) -> BundleCode:
    """Return the files of a version for this process, which works in a folder of its own."""
    return BundleCode(Path.cwd() / FOLDER, code.files, WorkerSupply(code.store, ask))
