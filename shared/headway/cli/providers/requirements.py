"""Which provider packages are needed, and what they require besides Airflow."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from headway.domain.errors import RefusalError

PREFIX: Final = "apache-airflow-providers-"

OF_AIRFLOW: Final = frozenset(
    {"apache-airflow", "apache-airflow-core", "apache-airflow-task-sdk", "apache-airflow-sdk"}
)
"""Requirements that Headway's own modules stand for."""

SAME_FILES: Final[Mapping[str, str]] = {
    "pyspark-client": "pyspark",
    "psycopg2": "psycopg2-binary",
}
"""Distributions that would write over the files of another one, which does for both."""

UNSAID: Final = [
    "attrs",
    "deprecated",
    "packaging",
    "python-dateutil",
    "python-slugify",
    "pyyaml",
    "requests",
    "tabulate",
    "tenacity",
]
"""What provider packages import and do not require, as Airflow does."""

MOST_ROUNDS: Final = 20


@dataclass(frozen=True, slots=True)
class ProviderRelease:
    """A release of a provider package: its version, and its requirements as its metadata has them.

    One that is not installed yet is to be.
    """

    version: str
    requires: tuple[str, ...] = ()
    is_installed: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The releases of provider packages by name, and the requirements on all other packages."""

    providers: Mapping[str, ProviderRelease]
    others: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """The provider packages that are to be installed, as requirements."""
        return [
            f"{name}=={release.version}"
            for name, release in sorted(self.providers.items())
            if not release.is_installed
        ]


@dataclass(slots=True)
class _WantedProviders:
    """The requirements on provider packages, one for each package."""

    by_name: dict[str, Requirement] = field(default_factory=dict)

    def add(self, more: Requirement) -> bool:
        """Narrow what is wanted of a package; return whether it, or an extra of it, is new."""
        name = canonicalize_name(more.name)
        is_new = name not in self.by_name
        known = self.by_name.setdefault(name, Requirement(name))
        known.specifier &= more.specifier
        is_more = not more.extras <= known.extras
        known.extras |= more.extras
        return is_new or is_more


def given(texts: Sequence[str]) -> list[Requirement]:
    """Return what a user asks for; refuse what is no provider package."""
    return [_given(text) for text in texts]


def resolve(
    asked: Sequence[Requirement],
    look_up: Callable[[Sequence[Requirement]], Mapping[str, ProviderRelease]],
    installed: Collection[str] = (),
    present: Mapping[str, ProviderRelease] = MappingProxyType({}),
) -> Plan:
    """Find a release for each provider package that is needed.

    `look_up` returns one for each requirement; `installed` are the names of other distributions.
    What the `present` provider packages require counts for those that stay as they are.
    """
    chosen: dict[str, ProviderRelease] = {}
    for _ in range(MOST_ROUNDS):
        wanted = _wanted(asked, chosen, present)
        unmet = [each for name, each in wanted.by_name.items() if not _meets(chosen, name, each)]
        if not unmet:
            chosen = {name: chosen[name] for name in wanted.by_name}
            return Plan(chosen, tuple(sorted(_others(wanted, chosen, installed))))
        chosen.update(look_up(unmet))
    raise RefusalError("The provider packages require releases of each other that do not agree.")


def _given(text: str) -> Requirement:
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        raise RefusalError(
            f"{text!r} names no package; write {PREFIX}http, or with a version {PREFIX}http==6.3.0."
        ) from None
    if not canonicalize_name(requirement.name).startswith(PREFIX):
        raise RefusalError(
            f"{requirement.name!r} is no provider package; their names begin with {PREFIX}. "
            "Install any other package with pip."
        )
    if requirement.url is not None:
        raise RefusalError(f"{text!r}: a provider package is named by its version, not by a URL.")
    return requirement


def _wanted(
    asked: Sequence[Requirement],
    chosen: Mapping[str, ProviderRelease],
    present: Mapping[str, ProviderRelease],
) -> _WantedProviders:
    """Return what is wanted by what was asked for and by the chosen releases.

    A release that another one has taken the place of wants nothing.
    """
    wanted, waiting = _WantedProviders(), list(asked)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if wanted.add(requirement) and name in chosen:
            waiting += of_providers(chosen[name], wanted.by_name[name].extras)
    for staying in present.keys() - wanted.by_name.keys():
        for requirement in of_providers(present[staying]):
            if canonicalize_name(requirement.name) in wanted.by_name:
                wanted.add(requirement)
    return wanted


def of_providers(release: ProviderRelease, extras: Collection[str] = ()) -> list[Requirement]:
    """Return the requirements of a release on other provider packages."""
    required = required_here(release, extras)
    return [each for each in required if canonicalize_name(each.name).startswith(PREFIX)]


def _meets(chosen: Mapping[str, ProviderRelease], name: str, requirement: Requirement) -> bool:
    release = chosen.get(name)
    return release is not None and requirement.specifier.contains(release.version, prereleases=True)


def required_here(release: ProviderRelease, extras: Collection[str] = ()) -> Iterator[Requirement]:
    """Yield the requirements that hold here, for a release with some extras."""
    for requirement in map(Requirement, release.requires):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": each}) for each in extras or ("",)):
            requirement.marker = None
            yield requirement


def _others(
    wanted: _WantedProviders, chosen: Mapping[str, ProviderRelease], installed: Collection[str]
) -> Iterator[str]:
    """Yield what the provider packages require besides Airflow and each other, once each."""
    found = set(UNSAID)
    for name, release in chosen.items():
        for requirement in required_here(release, wanted.by_name[name].extras):
            other = canonicalize_name(requirement.name)
            is_there = SAME_FILES.get(other) in installed
            if not (other in OF_AIRFLOW or other.startswith(PREFIX) or is_there):
                found.add(str(requirement))
    yield from found
