"""Install provider packages without Airflow, and with all else that they require."""

from collections.abc import Mapping, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from headway.cli.providers import installed
from headway.cli.providers.pip import Pip
from headway.cli.providers.requirements import (
    Plan,
    ProviderRelease,
    given,
    of_providers,
    resolve,
)
from headway.domain.errors import ConflictError


def install(texts: Sequence[str]) -> Plan:
    """Install provider packages; return what was found to be needed.

    What is installed and does is left as it is.  All other packages come first: where they cannot
    be had beside what Headway and other provider packages need, no provider package is installed.
    """
    asked, pip = given(texts), Pip()
    here = installed.providers()

    def look_up(wanted: Sequence[Requirement]) -> dict[str, ProviderRelease]:
        kept: dict[str, ProviderRelease] = {
            name: here[name]
            for name, each in ((canonicalize_name(each.name), each) for each in wanted)
            if _does(here.get(name), each)
        }
        others = [each for each in wanted if canonicalize_name(each.name) not in kept]
        return {**kept, **(_releases(pip, others, here) if others else {})}

    plan = resolve(asked, look_up, installed.names(), here)
    if plan.others:
        staying = [release for name, release in here.items() if name not in plan.providers]
        pip.install(plan.others, [*installed.pins(), *installed.bounds(staying)])
    if plan.missing:
        pip.install_alone(plan.missing)
    return plan


def _releases(
    pip: Pip, wanted: Sequence[Requirement], here: Mapping[str, ProviderRelease]
) -> dict[str, ProviderRelease]:
    """Return what pip finds; its error says as well what is installed here and narrows that."""
    try:
        return pip.releases(wanted)
    except ConflictError as error:
        names = {canonicalize_name(each.name) for each in wanted}
        narrows = [
            f"{name} {release.version}, which is installed here, requires {requirement}."
            for name, release in here.items()
            for requirement in of_providers(release)
            if canonicalize_name(requirement.name) in names and requirement.specifier
        ]
        raise ConflictError("\n".join([str(error), *narrows])) from error


def _does(release: ProviderRelease | None, wanted: Requirement) -> bool:
    return release is not None and wanted.specifier.contains(release.version, prereleases=True)
