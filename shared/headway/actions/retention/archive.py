"""An archive of removed rows: Parquet files below one address, a folder for each table.

A portion is written to `_staged/<portion>/<table>.parquet` and is durable there before its rows are
removed.  When the removal is committed, each file moves to `<table>/<portion>.parquet`.  A file in
a table's folder therefore holds rows that are gone from the database, and each row is in one file.
A crash leaves a staged portion.  The next archiver looks whether the journal has the removal of
it: then the files move.  A portion without a removal is dropped when no archiver can be about to
commit one, and when nothing is lost by that: it is incomplete, or its rows are in the database.
Any other one stays, as it may be of another database.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol, Self
from urllib.parse import urlsplit
from uuid import uuid4

from headway.actions.retention.parquet import table_of
from headway.db.retention import archived
from headway.domain.errors import ArchiveError, SettingsError
from headway.domain.retention import RetainedKind

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

STAGED: Final = "_staged"

FRESH: Final = 3600.0
"""Seconds within which the rows of a staged portion must be removed."""

STALE: Final = timedelta(days=1)
"""Age beyond which nobody is about to remove the rows of a staged portion."""


class Database(Protocol):
    """What an archiver asks of the database.  No transaction stays open after an answer."""

    def read(
        self, kind: RetainedKind, table: str, ids: Sequence[int]
    ) -> Sequence[Mapping[str, Any]]:
        """Return what goes from that table with the rows of these ids."""

    def removed(self, portions: Collection[str]) -> Collection[str]:
        """Return the portions whose removal the journal has."""

    def has_all(self, kind: RetainedKind, rows: Sequence[tuple[int, datetime]]) -> bool:
        """Tell whether all these rows, by id and the moment they came, are in the database."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was done about portions that archivers have left."""

    kept: int = 0
    dropped: int = 0
    left: int = 0
    """Old ones of which it is not known whether their rows are anywhere else."""


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
            probe = f"{its.root}/{STAGED}/probe-{uuid4().hex}"
            its._write(probe, b"headway")
            its.files.delete_file(probe)
        return its

    def stage(self, database: Database, kind: RetainedKind, ids: Sequence[int]) -> str:
        """Write what belongs to these rows, and return the name of the portion.

        The file with the rows themselves is the last one: a portion that has it is complete.  No
        other portion has its name, of whatever archiver and database.  No transaction is open
        while a file is written: the server would end it if the store is slow.
        """
        name = f"{kind}-{ids[0]:012}-{ids[-1]:012}-{len(ids)}-{uuid4().hex}"
        with _told(self.address):
            for table in archived.tables(kind):
                rows = database.read(kind, table, ids)
                if rows:
                    self._write(
                        f"{self.root}/{STAGED}/{name}/{table}.parquet", _parquet(table, rows)
                    )
        return name

    def keep(self, portion: str) -> None:
        """Move the files of a portion whose rows are removed to the folders of their tables."""
        with _told(self.address):
            *others, main = archived.tables(RetainedKind(portion.partition("-")[0]))
            for table in others:
                self._move(portion, table)
            if not self._move(portion, main):
                raise ArchiveError(
                    f"The archive at {self.address} has lost {STAGED}/{portion}/{main}.parquet, "
                    "whose rows are removed from the database. Look for it in a backup of the "
                    "archive, and keep others from removing files there."
                )
            self._drop_folder(portion)

    def drop(self, portion: str) -> None:
        """Remove a staged portion whose rows stay in the database."""
        with _told(self.address):
            self._drop_folder(portion)

    def recover(self, database: Database, now: datetime) -> Recovered:
        """Finish what archivers have left that ended half way."""
        found = self._left()
        kept = set(database.removed(list(found))) if found else set()
        for portion in kept:
            self.keep(portion)
        dropped = left = 0
        for portion in found.keys() - kept:
            files = found[portion]
            if not all(each.mtime and now - each.mtime > STALE for each in files.values()):
                continue
            kind = RetainedKind(portion.partition("-")[0])
            main = files.get(archived.tables(kind)[-1])
            if main is None or database.has_all(kind, self._rows(kind, main.path)):
                self.drop(portion)
                dropped += 1
            else:
                left += 1
        return Recovered(len(kept), dropped, left)

    def _left(self) -> dict[str, dict[str, "FileInfo"]]:
        from pyarrow.fs import FileSelector, FileType

        with _told(self.address):
            selector = FileSelector(f"{self.root}/{STAGED}", allow_not_found=True, recursive=True)
            found: dict[str, dict[str, FileInfo]] = {}
            for each in self.files.get_file_info(selector):
                portion = each.path.rpartition("/")[0].rpartition("/")[2]
                if each.type is FileType.File and portion.partition("-")[0] in set(RetainedKind):
                    found.setdefault(portion, {})[each.base_name.removesuffix(".parquet")] = each
        return found

    def _rows(self, kind: RetainedKind, path: str) -> list[tuple[int, datetime]]:
        from pyarrow import parquet

        columns = ["id", archived.moment(kind)]
        with _told(self.address):
            read = parquet.read_table(path, columns=columns, filesystem=self.files)
            ids, moments = (read.column(name).to_pylist() for name in columns)
            return list(zip(ids, moments, strict=True))

    def _move(self, portion: str, table: str) -> bool:
        """Move a file if it is there; tell whether it is where it belongs."""
        source = f"{self.root}/{STAGED}/{portion}/{table}.parquet"
        target = f"{self.root}/{table}/{portion}.parquet"
        if self._is_there(source):
            self._make_folder(f"{self.root}/{table}")
            try:
                self.files.move(source, target)
            except OSError:
                if self._is_there(source):
                    raise
                # Another archiver, which recovers the portion, has moved it meanwhile.
            self._make_durable(f"{self.root}/{table}")
        return self._is_there(target)

    def _is_there(self, path: str) -> bool:
        from pyarrow.fs import FileType

        return bool(self.files.get_file_info(path).type is not FileType.NotFound)

    def _drop_folder(self, portion: str) -> None:
        folder = f"{self.root}/{STAGED}/{portion}"
        if self._is_there(folder):
            try:
                self.files.delete_dir(folder)
            except OSError:
                if self._is_there(folder):
                    raise
                # Another archiver, which recovers the portion as well, was faster.

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
