"""Install provider packages without Airflow, and with all else that they require."""

from collections.abc import Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from headway.cli.providers import installed
from headway.cli.providers.pip import Pip
from headway.cli.providers.requirements import Plan, ProviderRelease, given, resolve


def install(texts: Sequence[str]) -> Plan:
    """Install provider packages; return what was found to be needed.

    What is installed and does is left as it is.  All other packages come first: where they cannot
    be had beside what Headway needs, no provider package is installed.
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
        return {**kept, **(pip.releases(others) if others else {})}

    plan = resolve(asked, look_up, installed.names())
    if plan.others:
        pip.install(plan.others, installed.pins())
    if plan.missing:
        pip.install_alone(plan.missing)
    return plan


def _does(release: ProviderRelease | None, wanted: Requirement) -> bool:
    return release is not None and wanted.specifier.contains(release.version, prereleases=True)
