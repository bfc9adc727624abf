"""The services that are installed, by name."""

from collections.abc import Callable
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, Final

from headway.domain.errors import NotFoundError
from headway.runtime.processes import garbage

GROUP: Final = "headway.services"
"""The entry points by which services make themselves known: a function of the database URL."""


API: Final = "api"
"""The service that needs more than the others: the packages of the extra `headway[api]`."""


def modules() -> list[str]:
    """Return the modules in which the installed services begin, without the API's.

    What the API imports is large, and of no use to the other services.
    """
    return sorted(point.module for point in entry_points(group=GROUP) if point.name != API)


def has_api() -> bool:
    """Tell whether the packages that the API needs are installed."""
    return find_spec("fastapi") is not None and find_spec("uvicorn") is not None


def service(name: str) -> Callable[..., Any]:
    """Return what runs that service; NotFoundError when it is not installed."""
    found = entry_points(group=GROUP, name=name)
    if not found:
        raise NotFoundError(f"The {name} is not installed; install the whole of headway.")
    if name == API and not has_api():
        raise NotFoundError("The api is not installed; `pip install 'headway[api]'` installs it.")
    (point,) = found
    loaded: Callable[..., Any] = point.load()
    garbage.as_usual()
    return loaded
