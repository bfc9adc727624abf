"""All names that the layer gives, by module."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from headway.airflow_layer.names import (
    authoring,
    moved,
    operators,
    provider_bases,
    renamed,
    sensors,
    support,
)

_IF_NOT_INSTALLED: Final = moved.OF_PROVIDERS | {
    "airflow.providers.common.compat.sdk",
    "airflow.providers.smtp.operators.smtp",
}
"""Modules of provider packages that work as they are."""

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    **moved.MODULES,
    **authoring.MODULES,
    **operators.MODULES,
    **support.MODULES,
    **sensors.MODULES,
}
"""For each module of Airflow its names, and of each the counterpart as `module:attribute`."""


def names_of(module: str) -> Mapping[str, str]:
    """Return the names of a module; none for one that only has modules."""
    return MODULES.get(module, _NOTHING)


def provider_names_of(module: str) -> Mapping[str, str]:
    """Return the names of a module that provider packages are given besides."""
    return provider_bases.MODULES.get(module, _NOTHING)


def renamed_names_of(module: str) -> Mapping[str, str]:
    """Return the names that an installed module of a provider package may have no longer."""
    return renamed.MODULES.get(module, _NOTHING)


def has_names(module: str, *, is_installed: bool = False) -> bool:
    """Return whether the layer gives names of that module; `is_installed` if it is there anyway."""
    is_known = module in MODULES or module in provider_bases.MODULES
    return is_known and not (is_installed and module in _IF_NOT_INSTALLED)


def has_modules(name: str) -> bool:
    """Return whether the layer gives a module below that name."""
    return name in _packages()


@cache
def _packages() -> frozenset[str]:
    found: set[str] = set()
    for name in (*MODULES, *provider_bases.MODULES):
        parts = name.split(".")
        found.update(".".join(parts[:length]) for length in range(1, len(parts)))
    return frozenset(found)
