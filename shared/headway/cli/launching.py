"""The services that are installed, by name, and how one machine's launcher runs them."""

import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from typing import Any, Final

from headway.cli import ending
from headway.cli.session import database_url
from headway.domain.errors import NotFoundError
from headway.runtime.processes import garbage
from headway.runtime.processes.linux import become_undumpable

MIGRATE: Final = ("db", "migrate")

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


def main() -> None:
    """Be `headway db migrate`, or the service of the command line's name: the stem's programs.

    They do without the modules of all other commands.  The database is the launcher's own: its
    PUBLIC gets no right.
    """
    garbage.hardly_ever()
    become_undumpable()
    command = sys.argv[1:]
    ending.report(_migrate if command == [*MIGRATE] else partial(_serve, *command))
    garbage.never_again()


def _serve(name: str) -> None:
    sys.exit(service(name)(database_url()))


def _migrate() -> None:
    from headway.cli.database import migrate
    from headway.db.access import public_rights

    public_rights.revoke(database_url())
    migrate()
