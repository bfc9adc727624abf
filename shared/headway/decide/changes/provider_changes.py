"""Which provider packages are other ones now than those that a version of a DAG was made with."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProviderChange:
    """A package, and its versions: the one that is noted, and the one that is installed."""

    package: str
    noted: str
    installed: str


def provider_changes(
    noted: Mapping[str, str], installed: Mapping[str, str]
) -> tuple[ProviderChange, ...]:
    """Return what differs, by name; what is not known to be installed is left out."""
    return tuple(
        ProviderChange(package, version, installed[package])
        for package, version in sorted(noted.items())
        if package in installed and installed[package] != version
    )
