"""What is installed in this environment: provider packages, and what Headway itself needs."""

from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from headway.cli.providers.requirements import PREFIX, ProviderRelease, required_here

HEADWAY = "headway"


def names() -> frozenset[str]:
    """Return the names of all distributions."""
    return frozenset(canonicalize_name(each.name) for each in distributions())


def providers() -> dict[str, ProviderRelease]:
    """Return the provider packages by name."""
    found = {canonicalize_name(each.name): each for each in distributions()}
    return {
        name: ProviderRelease(each.version, tuple(each.requires or ()), is_installed=True)
        for name, each in sorted(found.items())
        if name.startswith(PREFIX)
    }


def pins() -> list[str]:
    """Return the constraints that keep Headway whole, as lines of pip's.

    What Headway names itself, also in extras, keeps its version.  What these packages require in
    turn stays within what they allow.
    """
    exact: dict[str, str] = {}
    allowed: dict[str, SpecifierSet] = {}
    open_names = [HEADWAY]
    while open_names:
        parent = open_names.pop()
        for requirement in _required(parent):
            name = canonicalize_name(requirement.name)
            here = _distribution(name)
            if here is None or name == HEADWAY:
                continue
            if name not in allowed:
                allowed[name] = SpecifierSet()
                open_names.append(name)
            allowed[name] &= requirement.specifier
            if parent == HEADWAY:
                exact[name] = here.version
    kept = [f"{name}=={version}" for name, version in sorted(exact.items())]
    others = sorted((name, str(each)) for name, each in allowed.items() if name not in exact)
    return [*kept, *(f"{name}{specifier}" for name, specifier in others if specifier)]


def bounds(releases: Iterable[ProviderRelease]) -> list[str]:
    """Return the constraints that keep these provider packages whole, as lines of pip's.

    What is broken already binds nobody: a package that is missing, or in another version.
    """
    return sorted(
        {
            f"{canonicalize_name(requirement.name)}{requirement.specifier}"
            for release in releases
            for requirement in required_here(release)
            if requirement.specifier and _is_met(requirement)
        }
    )


def _is_met(requirement: Requirement) -> bool:
    here = _distribution(requirement.name)
    return here is not None and requirement.specifier.contains(here.version, prereleases=True)


def _required(name: str) -> Iterator[Requirement]:
    here = _distribution(name)
    for requirement in map(Requirement, () if here is None else here.requires or ()):
        marker = requirement.marker
        if marker is None or name == HEADWAY or marker.evaluate({"extra": ""}):
            yield requirement


def _distribution(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None
