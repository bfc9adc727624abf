"""What a forked service runs: `headway db migrate`, or the service itself."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Final

from headway.cli.input.installed import service
from headway.cli.input.session import database_url
from headway.cli.screen import errors
from headway.runtime.processes import garbage
from headway.runtime.processes.linux import become_undumpable

MIGRATE: Final = ("db", "migrate")
MIGRATE_AND_LINK: Final = (*MIGRATE, "--link")
"""Migrate; then print, as the last line, the path of a link which signs `admin` in, or nothing."""


def main() -> None:
    """Be `headway db migrate`, or the service of the command line's name, in a forked process.

    They do without the modules of all other commands.  The database is the launcher's own: its
    PUBLIC gets no right.
    """
    garbage.hardly_ever()
    become_undumpable()
    errors.report(_program(tuple(sys.argv[1:])))
    garbage.never_again()


def _program(command: tuple[str, ...]) -> Callable[[], None]:
    if command in (MIGRATE, MIGRATE_AND_LINK):
        return partial(_migrate, with_link=command == MIGRATE_AND_LINK)
    return partial(_serve, *command)


def _serve(name: str) -> None:
    sys.exit(service(name)(database_url()))


def _migrate(*, with_link: bool) -> None:
    from headway.actions.accounts import first
    from headway.actions.change import Author
    from headway.cli.commands.installation.database import migrate
    from headway.cli.input.session import actor, connected
    from headway.db.access import public_rights

    public_rights.revoke(database_url())
    migrate()
    with connected(database_url) as engine, engine.begin() as conn:
        first.create_admin(conn, Author(actor()))
        if with_link:
            print(first.admin_link(conn, Author(actor())) or "")
