"""An archive of removed rows: Parquet files below one address, a folder for each table.

A portion is written to `_staged/<portion>/<table>.parquet` and is durable there before its rows are
removed.  When the removal is committed, each file moves to `<table>/<portion>.parquet`.  A file in
a table's folder therefore holds rows that are gone from the database, and each row is in one file.
A crash leaves a staged portion: the next archiver looks whether its rows are in the database.  If
none is, the removal was committed, and the files move.  If any is, the removal was not; the
portion is dropped when no archiver can be about to commit it.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias
from urllib.parse import urlsplit

from sqlalchemy import Connection

from headway.actions.parquet import table_of
from headway.db import archived
from headway.domain.errors import ArchiveError, SettingsError
from headway.domain.retention import Kind

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

STAGED: Final = "_staged"

FRESH: Final = 3600.0
"""Seconds within which the rows of a staged portion must be removed."""

STALE: Final = timedelta(days=1)
"""Age beyond which nobody is about to remove the rows of a staged portion."""

IsLeft: TypeAlias = Callable[[Kind, Sequence[int]], bool]


@dataclass(frozen=True, slots=True)
class Archive:
    """The files below one address."""

    files: "FileSystem"
    root: str
    address: str

    @classmethod
    def at(cls, address: str) -> Self:
        """Return the archive there, after a file was written and removed to try it."""
        its = cls(*_opened(address), address)
        with _told(address):
            probe = f"{its.root}/{STAGED}/probe-{os.getpid()}"
            its._write(probe, b"headway")
            its.files.delete_file(probe)
        return its

    def stage(self, conn: Connection, kind: Kind, ids: Sequence[int]) -> str:
        """Write what belongs to these rows, and return the name of the portion.

        The file with the rows themselves is the last one: a portion that has it is complete.
        """
        name = f"{kind}-{ids[0]:012}-{ids[-1]:012}-{len(ids)}"
        with _told(self.address):
            for table in archived.tables(kind):
                rows = archived.read(conn, kind, table, ids)
                if rows:
                    self._write(
                        f"{self.root}/{STAGED}/{name}/{table}.parquet", _parquet(table, rows)
                    )
        return name

    def keep(self, portion: str) -> None:
        """Move the files of a portion whose rows are removed to the folders of their tables."""
        with _told(self.address):
            kind = Kind(portion.partition("-")[0])
            for table in archived.tables(kind):
                self._move(portion, table)
            self._drop_folder(portion)

    def drop(self, portion: str) -> None:
        """Remove a staged portion whose rows stay in the database."""
        with _told(self.address):
            self._drop_folder(portion)

    def recover(self, is_left: IsLeft, now: datetime) -> int:
        """Finish what archivers have left that ended half way; return how many portions."""
        finished = 0
        for portion, found in self._left().items():
            kind = Kind(portion.partition("-")[0])
            main = found.get(archived.tables(kind)[-1])
            latest = max((each.mtime for each in found.values() if each.mtime), default=None)
            if main is not None and not is_left(kind, self._ids(main.path)):
                self.keep(portion)
                finished += 1
            elif latest is None or now - latest > STALE:
                self.drop(portion)
        return finished

    def _left(self) -> dict[str, dict[str, "FileInfo"]]:
        from pyarrow.fs import FileSelector, FileType

        with _told(self.address):
            selector = FileSelector(f"{self.root}/{STAGED}", allow_not_found=True, recursive=True)
            found: dict[str, dict[str, FileInfo]] = {}
            for each in self.files.get_file_info(selector):
                portion = each.path.rpartition("/")[0].rpartition("/")[2]
                if each.type is FileType.File and portion.partition("-")[0] in set(Kind):
                    found.setdefault(portion, {})[each.base_name.removesuffix(".parquet")] = each
        return found

    def _ids(self, path: str) -> list[int]:
        from pyarrow import parquet

        with _told(self.address):
            read = parquet.read_table(path, columns=["id"], filesystem=self.files)
            return [int(each) for each in read.column("id").to_pylist()]

    def _move(self, portion: str, table: str) -> None:
        from pyarrow.fs import FileType

        source = f"{self.root}/{STAGED}/{portion}/{table}.parquet"
        target = f"{self.root}/{table}/{portion}.parquet"
        if self.files.get_file_info(source).type is FileType.NotFound:
            return  # the portion has none of that table, or another archiver has moved it
        self._make_folder(f"{self.root}/{table}")
        self.files.move(source, target)
        self._make_durable(f"{self.root}/{table}")

    def _drop_folder(self, portion: str) -> None:
        from pyarrow.fs import FileType

        folder = f"{self.root}/{STAGED}/{portion}"
        if self.files.get_file_info(folder).type is not FileType.NotFound:
            self.files.delete_dir(folder)

    def _write(self, path: str, content: Any) -> None:
        folder = path.rpartition("/")[0]
        self._make_folder(folder)
        with self.files.open_output_stream(path) as file:
            file.write(content)
        for each in (path, folder, folder.rpartition("/")[0]):
            self._make_durable(each)

    def _make_folder(self, folder: str) -> None:
        if self._is_local:  # a store of objects has none
            self.files.create_dir(folder, recursive=True)

    def _make_durable(self, path: str) -> None:
        if self._is_local:
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)

    @property
    def _is_local(self) -> bool:
        return bool(self.files.type_name == "local")


@dataclass(frozen=True, slots=True)
class _told:  # noqa: N801 - it reads as a function
    """Tell of what a file system raises as an ArchiveError."""

    address: str

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError):
            raise ArchiveError(
                f"The archive at {self.address} cannot be used: {error}. Check the address, and "
                "that the account of this command may write there. What was not archived stays in "
                "the database."
            ) from error


def _opened(address: str) -> "tuple[FileSystem, str]":
    parts = urlsplit(address)
    if parts.scheme not in {"file", "s3"} or "@" in parts.netloc:
        raise SettingsError(
            f"{address!r} is no address of an archive. Write file:///folder or s3://bucket/prefix, "
            "without a login: credentials come from the environment (AWS_*), a profile or a role."
        )
    try:
        from pyarrow import ArrowException
        from pyarrow.fs import FileSystem
    except ImportError as error:
        raise SettingsError(
            "An archive needs pyarrow, which is not installed here: pip install 'headway[archive]'."
        ) from error
    with _told(address):
        try:
            files, root = FileSystem.from_uri(address)
        except (ArrowException, ValueError) as error:
            raise SettingsError(f"{address!r} is no address of an archive: {error}.") from error
    return files, root.rstrip("/")


def _parquet(table: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    from pyarrow import BufferOutputStream, parquet

    sink = BufferOutputStream()
    parquet.write_table(table_of(table, rows), sink, compression="zstd")
    return sink.getvalue()
