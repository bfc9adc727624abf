"""`headway forker`: the fork server as a program of its own."""

from collections.abc import Collection, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from headway.domain.errors import NotFoundError
from headway.runtime.forker.hashes import fix_hashes
from headway.runtime.forker.listener import listen
from headway.runtime.settings import configuration

GROUP = "headway.preload"
"""Entry points by which a service names the modules that its children need: GROUP.service."""


def run(
    path: Path,
    service: str | None,
    preload: Sequence[str],
    supervisors: Collection[int],
    *,
    drain: bool,
) -> None:
    """Listen at `path` until told to end, with what children of the service need imported.

    With `drain` it then waits for the supervisors that it has.

    This process must have done nothing yet: it may begin anew.
    """
    fix_hashes(configuration.environment())
    modules = [*_needed_by(service), *preload] if service else list(preload)
    listen(path, modules, supervisors, drain=drain)


def _needed_by(service: str) -> list[str]:
    """Return the modules by name, in the order of their names; they are not imported here."""
    found = sorted(point.value for point in entry_points(group=f"{GROUP}.{service}"))
    if not found:
        raise NotFoundError(f"No installed service {service!r} names what its children need.")
    return found
