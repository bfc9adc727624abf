"""Contents of DAG versions by their hash, fetched from the database once and kept in a folder.

Attempts of the same account may write to the folder, so nobody trusts it: who uses a content
checks its hash, and asks the worker for one that is missing or wrong.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from sqlalchemy import Connection

from headway.db import versions
from headway.runtime.clock import Clock, SystemClock
from headway.sdk.bundle_code import check_path
from headway_worker.supply import Code

KEPT: Final = 30 * 86400.0
"""Seconds for which a content is kept that nobody fetches."""

MOST_KNOWN: Final = 1000
"""Manifests that are held in memory; the one that came first goes first."""

MOST_AT_ONCE: Final = 100
"""Contents that are read from the database by one statement."""


@dataclass(frozen=True, slots=True)
class CodeCache:
    """Contents by hash.  One that comes makes those go that nobody has fetched for a long time."""

    folder: Path
    clock: Clock = field(default_factory=SystemClock)
    _known: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def fetch(self, conn: Connection, manifest_hash: str) -> Code:
        """Return the files of a manifest; their contents are in the folder."""
        files = self._known.get(manifest_hash)
        if files is None:
            files = _checked(versions.manifest(conn, manifest_hash))
            self.provide(conn, files.values())
            self._remember(manifest_hash, files)
        return Code(self.folder, files)

    def learn(self, conn: Connection, manifest_hashes: Iterable[str]) -> None:
        """Fetch the files of several manifests, by one statement each for paths and contents."""
        missing = sorted(set(manifest_hashes) - self._known.keys())
        if missing:
            found = versions.manifests(conn, missing)
            manifests = {key: _checked(files) for key, files in found.items()}
            self.provide(conn, (it for files in manifests.values() for it in files.values()))
            for key, files in manifests.items():
                self._remember(key, files)

    def others(self, conn: Connection, version_id: int) -> Mapping[str, str]:
        """Return what the version's bundle had besides; the contents are in the folder."""
        bundle = versions.bundle_hash(conn, version_id)
        return {} if bundle is None else self.fetch(conn, bundle).files

    def provide(self, conn: Connection, hashes: Iterable[str]) -> None:
        """Have contents in the folder, as far as nobody takes them away again."""
        missing = [each for each in sorted(set(hashes)) if not self._touch(each)]
        for first in range(0, len(missing), MOST_AT_ONCE):
            found = versions.contents(conn, missing[first : first + MOST_AT_ONCE])
            for key, content in found.items():
                self._write(key, content)
        if missing:
            self._tidy()

    def mend(self, conn: Connection, content_hash: str) -> None:
        """Write a content anew: somebody has found it missing or wrong."""
        for key, content in versions.contents(conn, [content_hash]).items():
            self._write(key, content)

    def _touch(self, content_hash: str) -> bool:
        """Note that a content was fetched; return whether it is there."""
        now = self.clock.now().timestamp()
        path = self.folder / content_hash
        with suppress(PermissionError):  # it is of a worker with another account
            try:
                os.utime(path, (now, now))
            except FileNotFoundError:
                return False
        return path.is_file()

    def _remember(self, manifest_hash: str, files: Mapping[str, str]) -> None:
        with self._lock:  # attempts and callbacks are prepared by threads of their own
            while len(self._known) >= MOST_KNOWN:
                del self._known[next(iter(self._known))]
            self._known[manifest_hash] = files

    def _write(self, content_hash: str, content: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            draft = Path(scratch, content_hash)
            draft.write_bytes(content)
            draft.rename(self.folder / content_hash)

    def _tidy(self) -> None:
        last = self.clock.now().timestamp() - KEPT
        for path in self.folder.iterdir():
            with suppress(OSError):  # another worker was faster, or it is another account's
                if path.is_file() and path.stat().st_mtime < last:
                    path.unlink()


def _checked(files: Mapping[str, str]) -> Mapping[str, str]:
    return {check_path(path): key for path, key in files.items()}
