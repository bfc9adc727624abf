"""The code of DAG versions, fetched from the database once and kept in a folder."""

import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from sqlalchemy import Connection

from headway.db import versions
from headway.domain.errors import SerializationError
from headway.runtime.clock import Clock, SystemClock

KEPT: Final = 30 * 86400.0
"""Seconds for which code is kept that nobody fetches: no attempt should be as long under way."""

_FETCHED: Final = ".fetched"


@dataclass(frozen=True, slots=True)
class CodeCache:
    """Folders of code by manifest hash.  What is there is complete and never changes.

    Beside each there is a file whose time is that of its last fetch.  Code that comes makes
    code go that nobody has fetched for a long time.
    """

    folder: Path
    clock: Clock = field(default_factory=SystemClock)

    def fetch(self, conn: Connection, manifest_hash: str) -> Path:
        """Return the folder that holds exactly the files of the manifest."""
        target = self.folder / manifest_hash
        if not target.is_dir():
            files = versions.manifest(conn, manifest_hash)
            contents = versions.contents(conn, sorted(set(files.values())))
            self._write(target, {path: contents[key] for path, key in files.items()})
            self._tidy()
        self._stamp(manifest_hash)
        return target if target.is_dir() else self.fetch(conn, manifest_hash)

    def _stamp(self, manifest_hash: str) -> None:
        stamp, now = self.folder / f"{manifest_hash}{_FETCHED}", self.clock.now().timestamp()
        with suppress(PermissionError):  # it is of a worker with another account
            stamp.touch()
            os.utime(stamp, (now, now))

    def _tidy(self) -> None:
        last = self.clock.now().timestamp() - KEPT
        with tempfile.TemporaryDirectory(dir=self.folder) as bin_:
            for stamp in self.folder.glob(f"*{_FETCHED}"):
                with suppress(OSError):  # another worker was faster, or it is another account's
                    if stamp.stat().st_mtime < last:
                        stamp.unlink()
                        code = stamp.with_suffix("")
                        code.rename(Path(bin_, code.name))  # at once, and not file by file

    def _write(self, target: Path, files: dict[str, bytes]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            draft = Path(scratch) / "code"
            draft.mkdir()
            for name, content in files.items():
                path = draft / _inside(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            # Two workers may share the folder: whoever comes second finds it done.
            try:
                os.rename(draft, target)  # noqa: PTH104
            except OSError:
                if not target.is_dir():
                    raise
                shutil.rmtree(draft)


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if not path.parts or "\0" in name or path.is_absolute() or ".." in path.parts:
        raise SerializationError(f"A code manifest names {name!r}, which is not in its bundle.")
    return path
