"""What installed provider packages say of themselves: hooks by type of connection, SQL dialects."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from headway.sdk.exceptions import AirflowException

GROUP: Final = "apache_airflow_provider"
"""The entry points by which a provider package says what it has."""


class ProviderInfo(NamedTuple):
    """An installed provider package."""

    version: str
    data: Mapping[str, Any]


class HookInfo(NamedTuple):
    """The hook for a type of connection."""

    hook_class_name: str
    connection_type: str
    package_name: str


class DialectInfo(NamedTuple):
    """A dialect of SQL."""

    name: str
    dialect_class_name: str
    provider_name: str


class ProvidersManager:
    """The provider packages, as their own modules ask for them."""

    @property
    def providers(self) -> Mapping[str, ProviderInfo]:
        """The packages by name."""
        return _providers()

    @property
    def hooks(self) -> Mapping[str, HookInfo]:
        """The hooks by type of connection."""
        return _hooks()

    @property
    def dialects(self) -> Mapping[str, DialectInfo]:
        """The dialects by name."""
        return {
            row["dialect-type"]: DialectInfo(row["dialect-type"], row["dialect-class-name"], name)
            for name, row in _rows("dialects")
        }


def hook_class(conn_type: str, conn_id: str) -> Any:
    """Return the class of the hook for connections of a type."""
    found = _hooks().get(conn_type) or _hooks().get(conn_type.replace("_", "-"))
    if found is None:
        raise AirflowException(
            f"Connection {conn_id!r} is of type {conn_type!r}, and no provider package that is "
            "installed here has a hook for it. Install the one that has by `headway providers "
            "install`, or give the connection the type of an installed one."
        )
    module, _, name = found.hook_class_name.rpartition(".")
    return getattr(import_module(module), name)


def default_of_option(section: str, key: str) -> str | None:
    """Return the default of an option of Airflow's configuration that a provider package has."""
    for provider in _providers().values():
        options = (provider.data.get("config") or {}).get(section, {}).get("options", {})
        default = options.get(key, {}).get("default")
        if default is not None:
            return str(default)
    return None


def forget() -> None:
    """Ask the packages anew, after others were installed."""
    _hooks.cache_clear()
    _providers.cache_clear()


@cache
def _hooks() -> Mapping[str, HookInfo]:
    found: dict[str, HookInfo] = {}
    for name, row in _rows("connection-types"):
        conn_type = row["connection-type"]
        found.setdefault(conn_type, HookInfo(row["hook-class-name"], conn_type, name))
    return MappingProxyType(found)


@cache
def _providers() -> Mapping[str, ProviderInfo]:
    found: dict[str, ProviderInfo] = {}
    for each in sorted(entry_points(group=GROUP), key=lambda each: each.value):
        data = each.load()()
        version = each.dist.version if each.dist else ""
        found[data["package-name"]] = ProviderInfo(version, data)
    return MappingProxyType(found)


def _rows(kind: str) -> Iterator[tuple[str, Any]]:
    for name, provider in _providers().items():
        for row in provider.data.get(kind) or ():
            yield name, row
