"""ObjectStoragePath: a path in an object store, reached by a connection when a task uses it."""

from collections.abc import Callable
from os import fspath
from typing import TYPE_CHECKING, Any, ClassVar, Self

from headway.domain.arguments import TAG, JsonValue, ObjectUrl
from headway.domain.xcoms import XComKind
from headway.sdk.storage import transfers
from headway.sdk.storage.options import LOCAL
from headway.sdk.storage.stats import ObjectStat
from headway.sdk.storage.stores import TaskStore

try:
    from upath import UPath
    from upath.extensions import ProxyUPath, classmethod_or_method
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "ObjectStoragePath needs universal-pathlib, which is not installed here. Install it where "
        "DAG files are parsed and tasks are run: pip install 'headway[airflow]'.",
        name=error.name,
    ) from None

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


class ObjectStoragePath(ProxyUPath, ObjectUrl):  # type: ignore[misc]
    """A path like those of pathlib, in an object store: `s3://conn_id@bucket/key`.

    `conn_id` names the connection to reach it by, which a task must be granted.  Other keywords
    are options of the store's library; they go before what the connection says.  Paths may be
    made anywhere, also at the top of a DAG file: the connection is asked for when a task uses one.
    """

    __slots__ = ("_conn_id",)

    sep: ClassVar[str] = "/"

    def __init__(
        self,
        *segments: Any,
        protocol: str | None = None,
        conn_id: str | None = None,
        **storage_options: Any,
    ) -> None:
        first, *others = segments or ("",)
        if isinstance(first, ProxyUPath):
            conn_id = conn_id or getattr(first, "conn_id", None)
            first = first.__wrapped__
        elif not isinstance(first, UPath):
            first, found = _without_conn_id(fspath(first))
            conn_id = conn_id or found
        self._conn_id = conn_id
        super().__init__(first, *others, protocol=protocol, **storage_options)
        _give_store(self.__wrapped__, conn_id)  # also where the first segment had another one

    @classmethod_or_method  # type: ignore[untyped-decorator]
    def _from_upath(self_or_cls, path: Any, /) -> Any:  # noqa: N805
        """Return a path that another one leads to, with the same connection."""
        is_path = isinstance(self_or_cls, ObjectStoragePath)
        cls = type(self_or_cls) if is_path else self_or_cls
        if isinstance(path, cls):
            return path
        made = object.__new__(cls)
        made.__wrapped__ = path
        made._conn_id = self_or_cls.conn_id if is_path else None
        if not isinstance(getattr(path, "_fs_cached", None), TaskStore):
            _give_store(path, made._conn_id)
        return made

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[Any, ...]]:
        options = dict(self.storage_options)
        return _again, (type(self), str(self.__wrapped__), self.protocol, self.conn_id, options)

    @property
    def conn_id(self) -> str | None:
        """The id of the connection."""
        return self._conn_id

    @property
    def fs(self) -> "AbstractFileSystem":
        """The file system of fsspec that has the path."""
        found = self.__wrapped__.fs
        return found.found() if isinstance(found, TaskStore) else found

    @property
    def bucket(self) -> str:
        """The first part of the address: a bucket, a container or a host."""
        return str(self._url.netloc)

    container = bucket

    @property
    def key(self) -> str:
        """What comes after the bucket, without a leading slash."""
        return str(self._url.path).lstrip(self.sep)

    @property
    def namespace(self) -> str:
        """The scheme and the bucket."""
        return f"{self.protocol}://{self.bucket}" if self.bucket else str(self.protocol)

    def __str__(self) -> str:
        url = self._address()
        scheme, colon, rest = url.partition("://")
        return f"{scheme}{colon}{self.conn_id}@{rest}" if self.conn_id and colon else url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __hash__(self) -> int:
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        return self.samestore(other) and str(self) == str(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def samestore(self, other: object) -> bool:
        """Return whether another path is of the same store, by the same connection."""
        return (
            isinstance(other, ObjectStoragePath)
            and (self.protocol, self.conn_id) == (other.protocol, other.conn_id)
            and self.storage_options == other.storage_options
        )

    def open(self, mode: str = "r", **options: Any) -> Any:
        """Open the file; options are those of fsspec, such as `compression`."""
        if "buffering" in options:
            options.setdefault("block_size", options.pop("buffering"))
        return self.fs.open(self.path, mode=mode, **options)

    def stat(self, **_follow: Any) -> ObjectStat:
        """Return what the store says of the file or folder."""
        found = self.fs.stat(self.path)
        return ObjectStat(found, protocol=self.protocol, conn_id=self.conn_id)

    def samefile(self, other_path: object) -> bool:
        """Return whether another path leads to the same file."""
        if not isinstance(other_path, ObjectStoragePath) or not self.samestore(other_path):
            return False
        here, there = self.stat(), other_path.stat()
        return self.path == other_path.path or here.st_ino == there.st_ino != 0

    def replace(self, target: Any) -> Any:
        """Rename the file, over what has that name."""
        return self.rename(target)

    @classmethod
    def cwd(cls) -> Self:
        """Return the working folder of the process."""
        return cls(UPath.cwd())

    @classmethod
    def home(cls) -> Self:
        """Return the home folder of the process."""
        return cls(UPath.home())

    def size(self) -> int:
        """Return the bytes of the file."""
        return int(self.fs.size(self.path))

    def ukey(self) -> str:
        """Return a text that changes when the file does."""
        return str(self.fs.ukey(self.path))

    def checksum(self) -> int:
        """Return a number that changes when the file does."""
        return int(self.fs.checksum(self.path))

    def read_block(self, offset: int, length: int | None, delimiter: bytes | None = None) -> bytes:
        """Return so many bytes; with a delimiter, from one of them to another."""
        found = self.fs.read_block(self.path, offset=offset, length=length, delimiter=delimiter)
        return bytes(found)

    def sign(self, expiration: int = 100, **options: Any) -> str:
        """Return an address that reads the file without a connection, for so many seconds."""
        return str(self.fs.sign(self.path, expiration=expiration, **options))

    def copy(self, target: Any, recursive: bool = False, **options: Any) -> Any:
        """Copy the file; with `recursive`, a folder.  Return the target."""
        there = self._path(target)
        transfers.copy(self, there, recursive, **options)
        return there

    def copy_into(self, target_dir: Any, recursive: bool = False, **options: Any) -> Any:
        """Copy the file into a folder that exists."""
        return self.copy(self._folder(target_dir) / self.name, recursive, **options)

    def move(self, target: Any, recursive: bool = False, **options: Any) -> Any:
        """Move the file, also into another store; with `recursive`, a folder."""
        there = self._path(target)
        if self.samestore(there):
            self.fs.move(self.path, there.path, recursive=recursive, **options)
        else:
            self.copy(there, recursive, **options)
            self.fs.rm(self.path, recursive=recursive)
        return there

    def move_into(self, target_dir: Any, recursive: bool = False, **options: Any) -> Any:
        """Move the file into a folder that exists."""
        return self.move(self._folder(target_dir) / self.name, recursive, **options)

    def serialize(self) -> dict[str, Any]:
        """Return what `deserialize` makes the path of."""
        kwargs = dict(self.storage_options)
        return {"path": str(self), "conn_id": self.conn_id, "kwargs": kwargs}

    @classmethod
    def deserialize(cls, data: dict[str, Any], version: int = 1) -> Self:
        """Return the path of such data."""
        del version
        return cls(data["path"], conn_id=data.get("conn_id"), **data.get("kwargs", {}))

    def as_data(self) -> dict[str, JsonValue]:
        """Return the path as a URL and the id of its connection.

        ValueError if it has options of its own, which may be secret.
        """
        options = sorted(self.storage_options.keys() - {"host", "port"})
        if options:
            raise ValueError(
                f"has the storage option {options[0]!r}, which is not stored: put it into the "
                "extra of a connection, and pass conn_id="
            )
        kind = str(XComKind.OBJECT_STORAGE_PATH)
        return {TAG: kind, "value": self._address(), "conn_id": self.conn_id}

    def map_texts(self, change: Callable[[str], object]) -> "ObjectStoragePath":
        """Return the path with its address and its connection changed: templates are rendered."""
        url, conn_id = self._address(), self.conn_id
        new, new_id = str(change(url)), conn_id and str(change(conn_id))
        if (new, new_id) == (url, conn_id):
            return self
        options = {n: v for n, v in self.storage_options.items() if n not in ("host", "port")}
        return ObjectStoragePath(new, protocol=self.protocol, conn_id=new_id, **options)

    def _address(self) -> str:
        """Return the URL without the connection; a local path may be none."""
        host, port = (self.storage_options.get(name) for name in ("host", "port"))
        if not host or not isinstance(host, str) or "://" in self.path:
            return str(self.__wrapped__)
        server = f"{host}:{port}" if port else host
        return f"{self.protocol}://{server}{self.path}"

    def _path(self, target: Any) -> "ObjectStoragePath":
        return target if isinstance(target, ObjectStoragePath) else ObjectStoragePath(target)

    def _folder(self, target: Any) -> "ObjectStoragePath":
        found = self._path(target)
        if not found.is_dir():
            raise NotADirectoryError(f"{found} is not a folder.")
        return found


def _without_conn_id(url: str) -> tuple[str, str | None]:
    """Return a URL without what stands before the @ of its server, and that."""
    scheme, colon, rest = url.partition("://")
    server, slash, key = rest.partition("/")
    conn_id, at, host = server.rpartition("@")
    return (f"{scheme}{colon}{host}{slash}{key}", conn_id or None) if at else (url, None)


def _give_store(path: Any, conn_id: str | None) -> None:
    """Have a path of universal-pathlib reach its store by a connection, when it is used."""
    if path.protocol not in LOCAL:
        path._fs_cached = TaskStore(path.protocol, conn_id, path.storage_options)  # noqa: SLF001


def _again(
    cls: type[ObjectStoragePath], url: str, protocol: str, conn_id: str, options: dict[str, Any]
) -> ObjectStoragePath:
    return cls(UPath(url, protocol=protocol, **options), conn_id=conn_id)
