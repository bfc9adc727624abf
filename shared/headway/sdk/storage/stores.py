"""Stores by scheme and connection, as fsspec knows them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from headway.sdk.exceptions import RefusedException
from headway.sdk.running.context import Context, running_context
from headway.sdk.running.granted import granted_connection
from headway.sdk.storage.options import LOCAL, Options, options_of

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Properties: TypeAlias = dict[str, str]
"""Options of a store, by the name that Airflow gives the type."""

_EXTRAS: Final = {
    "s3": "headway[s3]",
    "s3a": "headway[s3]",
    "gs": "headway[gcs]",
    "gcs": "headway[gcs]",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "adl": "adlfs",
    "az": "adlfs",
}
"""What pip installs for stores of a scheme."""


class ObjectStore:
    """A store of a scheme, reached by a connection; or the file system that was attached for it.

    Nothing is asked for before `fs` is.
    """

    def __init__(
        self,
        protocol: str,
        conn_id: str | None = None,
        fs: "AbstractFileSystem | None" = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.protocol = protocol
        self.conn_id = conn_id
        self.storage_options = storage_options
        self._attached = fs

    @property
    def fs(self) -> "AbstractFileSystem":
        """The file system of fsspec."""
        return self._attached or get_fs(self.protocol, self.conn_id, self.storage_options)

    @property
    def fsid(self) -> str:
        """What tells this store from others."""
        try:
            return str(self.fs.fsid)
        except NotImplementedError:
            return f"{self.protocol}-{self.conn_id or 'env'}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectStore):
            return NotImplemented
        return self.conn_id == other.conn_id and bool(self.fs == other.fs)

    def __hash__(self) -> int:
        return hash((self.conn_id, self.fsid))

    def __str__(self) -> str:
        return _alias(self.protocol, self.conn_id)


_ATTACHED: Final[dict[str, ObjectStore]] = {}


def attach(
    protocol: str | None = None,
    conn_id: str | None = None,
    alias: str | None = None,
    fs: "AbstractFileSystem | None" = None,
    **options: Any,
) -> ObjectStore:
    """Return the store of a scheme and a connection, or the one that was attached as `alias`.

    With `fs`, that file system is the store from now on, in this process.
    """
    if not protocol and alias not in _ATTACHED:
        raise ValueError("attach() needs a protocol, or the alias of a store that was attached.")
    known = _ATTACHED.get(alias or _alias(protocol or "", conn_id))
    if known is not None and fs is None:
        return known
    options.pop("encryption_type", None)  # Airflow does nothing with it either
    store = ObjectStore(protocol or "", conn_id, fs, options.pop("storage_options", None))
    if options:
        raise TypeError(f"attach() has no argument {min(options)!r}.")
    if fs is not None or alias:
        _ATTACHED[alias or str(store)] = store
    return store


def get_fs(
    scheme: str, conn_id: str | None = None, storage_options: Mapping[str, Any] | None = None
) -> "AbstractFileSystem":
    """Return the file system of a scheme, with the options of a connection and those given.

    RefusedException where its library is not installed, or outside of a task if a connection is
    named.
    """
    from fsspec import filesystem

    options = {**_options(scheme, conn_id), **(storage_options or {})}
    try:
        return filesystem(scheme or "file", **options)
    except ImportError as error:
        package = _EXTRAS.get(scheme)
        install = f"pip install '{package}'" if package else "install the package named above"
        raise RefusedException(
            f"Nothing here can reach {scheme}://: {error}. Where tasks run: {install}."
        ) from error


def has_fs(scheme: str) -> bool:
    """Return whether there is a file system for a scheme; its library may be missing."""
    from fsspec import available_protocols

    return scheme in available_protocols() or scheme in _ATTACHED


class TaskStore:
    """The store of a path: it is looked for when it is used, once in each task."""

    def __init__(
        self, protocol: str, conn_id: str | None, storage_options: Mapping[str, Any]
    ) -> None:
        self._asked = protocol, conn_id, dict(storage_options)
        self._found: AbstractFileSystem | None = None
        self._task: Context | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.found(), name)

    def found(self) -> "AbstractFileSystem":
        """Return the file system; a thread that a task has started gets the task's."""
        context = running_context()
        if self._found is None or (context is not None and context is not self._task):
            protocol, conn_id, options = self._asked
            self._found = attach(protocol, conn_id, storage_options=options).fs
            self._task = context
        return self._found


def _options(scheme: str, conn_id: str | None) -> Options:
    if conn_id is None or scheme in LOCAL:
        return {}
    context = running_context()
    if context is None:
        raise RefusedException(
            f"A path of {scheme}:// was used outside of a task, with the connection {conn_id!r}. "
            "Connections are given to running tasks only: make the path anywhere, and read and "
            "write by it inside of a task's function."
        )
    return options_of(scheme, granted_connection(context.runtime, conn_id))


def _alias(protocol: str, conn_id: str | None) -> str:
    return f"{protocol}-{conn_id}" if conn_id else protocol
