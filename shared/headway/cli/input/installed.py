"""The services that are installed, by name."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, Final

from headway.domain.errors import NotFoundError
from headway.runtime.processes import garbage

GROUP: Final = "headway.services"
"""The entry points by which services make themselves known: a function of the database URL."""


def modules() -> list[str]:
    """Return the modules in which the installed services begin."""
    return sorted(point.module for point in entry_points(group=GROUP))


def service(name: str) -> Callable[..., Any]:
    """Return what runs that service; NotFoundError when it is not installed."""
    found = entry_points(group=GROUP, name=name)
    if not found:
        raise NotFoundError(f"The {name} is not installed; install the whole of headway.")
    (point,) = found
    loaded: Callable[..., Any] = point.load()
    garbage.as_usual()
    return loaded
