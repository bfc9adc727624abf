"""The copies of logs elsewhere, by fsspec: an object store, or a folder that machines share."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

from headway.domain.errors import LogsError, SettingsError
from headway.runtime.logs.paths import logs_folder
from headway.runtime.logs.reading import LocalLogs, LogPlace

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_EXTRAS: Final = {"s3": "headway[s3]", "s3a": "headway[s3]", "gs": "headway[gcs]"}


def log_places(home: Path, remote: str | None) -> "list[LogPlace]":
    """Return where a machine finds logs: in its own home, then where logs are copied to, if so."""
    local: list[LogPlace] = [LocalLogs(logs_folder(home))]
    return local if remote is None else [*local, RemoteLogs.at(remote)]


@dataclass(frozen=True, slots=True)
class RemoteLogs:
    """Logs below one address, each at the path that it has below the folder of logs.

    What a store's library raises is its own: OSError for most, and much else.  Whoever reads
    gets a LogsError of it.
    """

    files: "AbstractFileSystem"
    root: str

    @classmethod
    def at(cls, address: str) -> Self:
        """Return the logs at that address; SettingsError when nothing here can reach it."""
        from fsspec.core import url_to_fs

        scheme = address.partition("://")[0]
        options = {"auto_mkdir": True} if scheme in {"file", "local"} else {}
        try:
            files, root = url_to_fs(address, use_listings_cache=False, **options)
        except ImportError as error:
            package = _EXTRAS.get(scheme, "the package named above")
            raise SettingsError(
                f"HEADWAY_LOGS_REMOTE: logs cannot be copied to {scheme}:// here: {error}. "
                f"Install {package}: pip install '{package}'."
            ) from error
        except ValueError as error:
            raise SettingsError(f"HEADWAY_LOGS_REMOTE: {address}: {error}.") from error
        return cls(files, root.rstrip("/"))

    def size(self, relative: Path) -> int | None:
        """Return the bytes of a log; None when it is not there."""
        try:
            return int(self.files.size(self._path(relative)))
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._unreadable(error) from error

    def read(self, relative: Path, start: int, end: int) -> bytes:
        """Return the bytes of a log from `start` to before `end`, fewer where it ends or is not."""
        try:
            return bytes(self.files.cat_file(self._path(relative), start=start, end=end))
        except FileNotFoundError:
            return b""
        except Exception as error:
            raise self._unreadable(error) from error

    def put(self, relative: Path, log: IO[bytes]) -> None:
        """Write a log, in place of what is there; whoever reads finds the old or the new one."""
        from fsspec.implementations.local import LocalFileSystem

        path = self._path(relative)
        is_folder = isinstance(self.files, LocalFileSystem)
        target = f"{path}.part" if is_folder else path
        with self.files.open(target, "wb") as copy:
            shutil.copyfileobj(log, copy)
        if is_folder:
            self.files.mv(target, path)

    def folders(self) -> list[Path]:
        """Return the folders of DAGs."""
        return [path for path in self._below("") if path.name.startswith("dag_id=")]

    def logs(self, folder: Path) -> Iterator[Path]:
        """Return the logs in the folder of a DAG."""
        return (path for path in self._below(folder.as_posix()) if path.suffix == ".log")

    def modified(self, relative: Path) -> datetime:
        """Return when a log was written the last time."""
        found: datetime = self.files.modified(self._path(relative))
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    def remove(self, relative: Path) -> None:
        """Remove a log."""
        self.files.rm_file(self._path(relative))

    def _below(self, folder: str) -> Iterator[Path]:
        try:
            found = self.files.ls(f"{self.root}/{folder}".rstrip("/"), detail=False)
        except FileNotFoundError:
            return
        for each in found:
            yield Path(folder, str(each).rstrip("/").rpartition("/")[2])

    def _unreadable(self, error: Exception) -> LogsError:
        return LogsError(
            f"Logs at {self.files.unstrip_protocol(self.root)} cannot be read: "
            f"{type(error).__name__}: {error}. Check HEADWAY_LOGS_REMOTE, the network, and that "
            "the credentials which its library finds here may read there."
        )

    def _path(self, relative: Path) -> str:
        return f"{self.root}/{relative.as_posix()}"
