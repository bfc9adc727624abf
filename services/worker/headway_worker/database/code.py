"""Contents of DAG versions by their hash, fetched from the database once and kept in a folder.

Attempts of the same account may write to the folder, so nobody trusts it: who uses a content
checks its hash, and asks the worker for one that is missing or wrong.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from sqlalchemy import Connection

from headway.db.core import stored_versions
from headway.db.core import stored_versions as stored_code
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.sdk.bundle.bundle_code import check_path
from headway.serialization.manifest import manifest_content
from headway_worker.database.code_tidying import tidy
from headway_worker.protocol.supply import Code

TIDIED_AFTER: Final = 3600.0
"""Seconds between two times that the folder is tidied, when contents come."""

MOST_KNOWN: Final = 1000
"""Manifests that are held in memory; the one that came first goes first."""

MOST_BUNDLES: Final = 32
"""Bundles of which the hashes are held in memory, each of up to 5,000."""

MOST_AT_ONCE: Final = 100
"""Contents that are read from the database by one statement."""


@dataclass(frozen=True, slots=True)
class CodeCache:
    """Contents by hash.  Those that come make those go that nobody has fetched for a long time."""

    folder: Path
    clock: Clock = field(default_factory=SystemClock)
    _known: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _bundles: dict[int, dict[str, None]] = field(default_factory=dict)
    _hashes: dict[str, AbstractSet[str]] = field(default_factory=dict)
    _tidied: list[float] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def fetch(self, conn: Connection, manifest_hash: str) -> Code:
        """Return the files of a manifest; their contents are in the folder."""
        files = self._known.get(manifest_hash)
        if files is None:
            files = _checked(stored_code.manifest(conn, manifest_hash))
            self.provide(conn, files.values())
            self._remember(manifest_hash, files)
        return Code(self.folder, files)

    def learn(self, conn: Connection, manifest_hashes: Iterable[str]) -> None:
        """Fetch the files of several manifests, by one statement each for paths and contents."""
        missing = sorted(set(manifest_hashes) - self._known.keys())
        if missing:
            found = stored_code.manifests(conn, missing)
            manifests = {key: _checked(files) for key, files in found.items()}
            self.provide(
                conn, (digest for files in manifests.values() for digest in files.values())
            )
            for key, files in manifests.items():
                self._remember(key, files)

    def bundle(self, conn: Connection, version_id: int) -> str | None:
        """Return the manifest of what the version's bundle had besides; it is in the folder.

        Its contents come there when they are asked for.
        """
        found = stored_versions.bundle_hash(conn, version_id)
        if found is None:
            return None
        with self._lock:
            if len(self._bundles) >= MOST_KNOWN:
                self._bundles.pop(next(iter(self._bundles)))
            self._bundles.setdefault(version_id, {})[found] = None
        if not self._touch(found):
            self._write({found: self._manifest(conn, found)})
            self._tidy()
        return found

    def manifest(self, conn: Connection, version_id: int, content_hash: str) -> bytes | None:
        """Return a manifest that `bundle` has named for the version; None if it is another hash.

        It is written anew: somebody has found it missing or wrong.
        """
        if content_hash not in self._bundles.get(version_id, {}):
            return None
        content = self._manifest(conn, content_hash)
        self._write({content_hash: content})
        return content

    def others(self, conn: Connection, version_id: int) -> AbstractSet[str]:
        """Return the hashes of what the version's bundle had besides."""
        if version_id not in self._bundles:
            self.bundle(conn, version_id)
        named = self._bundles.get(version_id, {})
        return {key for bundle in tuple(named) for key in self._hashes_of(conn, bundle)}

    def provide(self, conn: Connection, hashes: Iterable[str]) -> None:
        """Have contents in the folder, as far as nobody takes them away again."""
        missing = [each for each in sorted(set(hashes)) if not self._touch(each)]
        for first in range(0, len(missing), MOST_AT_ONCE):
            self._write(stored_code.contents(conn, missing[first : first + MOST_AT_ONCE]))
        if missing:
            self._tidy()

    def mend(self, conn: Connection, content_hash: str) -> None:
        """Write a content anew: somebody has found it missing or wrong."""
        self._write(stored_code.contents(conn, [content_hash]))

    def _manifest(self, conn: Connection, bundle: str) -> bytes:
        files = _checked(stored_code.manifest(conn, bundle))
        self._hold(bundle, files)
        return manifest_content(files)

    def _hashes_of(self, conn: Connection, bundle: str) -> AbstractSet[str]:
        found = self._hashes.get(bundle)
        return self._hold(bundle, stored_code.manifest(conn, bundle)) if found is None else found

    def _hold(self, bundle: str, files: Mapping[str, str]) -> AbstractSet[str]:
        found = frozenset(files.values())
        with self._lock:
            while len(self._hashes) >= MOST_BUNDLES:
                del self._hashes[next(iter(self._hashes))]
            self._hashes[bundle] = found
        return found

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

    def _write(self, contents: Mapping[str, bytes]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            for content_hash, content in contents.items():
                draft = Path(scratch, content_hash)
                draft.write_bytes(content)
                draft.rename(self.folder / content_hash)

    def _tidy(self) -> None:
        """Remove what is old from the folder, once in a while."""
        now = self.clock.monotonic()
        with self._lock:
            if self._tidied and now - self._tidied[0] < TIDIED_AFTER:
                return
            self._tidied[:] = [now]
            in_use = {
                *self._hashes,
                *(digest for files in self._known.values() for digest in files.values()),
            }
        tidy(self.folder, self.clock.now().timestamp(), in_use)


def _checked(files: Mapping[str, str]) -> Mapping[str, str]:
    return {check_path(path): key for path, key in files.items()}
