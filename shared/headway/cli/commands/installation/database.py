"""`headway db`: migrate, check, await and clean the database, and show who may do what in it."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.commands.installation import clean
from headway.cli.screen.output import Format, Output, tell

if TYPE_CHECKING:
    from headway.db.access.logins import Login
    from headway.db.access.roles import RoleStatus

app = typer.Typer(
    help="The database: migrate, check, clean, wait, list roles and grants.", no_args_is_help=True
)

app.command("clean")(clean.clean)

COLUMNS = ("role", "may_log_in", "password", "used_for")


@app.command()
def migrate() -> None:
    """Bring the database to the schema of this release, with its roles, grants and guards.

    Run it as the owner of the tables. It sets the passwords of roles that are given in
    HEADWAY_ROLES_<ROLE>_PASSWORD, and does not change other passwords.
    """
    from headway.cli.input.session import database_url
    from headway.db.access import migrate as migrations

    print(f"The database has schema {migrations.upgrade(database_url(), _passwords())}.")


@app.command()
def check(output: Output = Format.TABLE) -> None:
    """Check that the database answers and has the schema of this release."""
    from headway.cli.input.session import database_url
    from headway.db.access import migrate as migrations
    from headway.db.core import engine as engines

    engine = engines.connect(database_url())
    found = migrations.check(engine)
    tell(f"The database answers and has schema {found}.", {"schema": found}, output)


@app.command()
def wait(
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0, help="Seconds after which it gives up with status 6; default: it never gives up."
        ),
    ] = None,
) -> None:
    """Wait until the database answers and has the schema of this release.

    It waits for the server, for a login that the migration has not created yet, and for the
    migration. If the schema is newer than this release, it ends with status 6 at once.
    """
    from headway.cli.commands.installation import database_wait
    from headway.cli.input.session import database_url
    from headway.runtime.daemon import service

    service.log_to_stderr("db wait")
    found = database_wait.wait(database_url(), timeout, service.stop_on_signals())
    print(f"The database answers and has schema {found}.")


@app.command()
def roles(output: Output = Format.TABLE) -> None:
    """List the login roles, and whether each can be used."""
    from headway.cli.input.session import database_url
    from headway.cli.screen.output import show
    from headway.db.access import migrate as migrations
    from headway.db.access import roles as logins
    from headway.db.core import engine as engines

    engine = engines.connect(database_url())
    migrations.check(engine)
    with engine.connect() as conn:
        statuses = logins.statuses(conn)
    rows = [
        {
            "role": status.login,
            "may_log_in": _login(status),
            "password": {True: "set", False: "not set", None: "?"}[status.has_password],
            "used_for": logins.PURPOSES[status.login],
        }
        for status in statuses
    ]
    show(rows, COLUMNS, output)


@app.command()
def grants() -> None:
    """Print what each role may do to each table. The page is docs/grants.md."""
    from headway.db.access import grants_page

    print(grants_page.as_markdown(), end="")


def _passwords() -> "dict[Login, str]":
    from headway.db.access.logins import Login
    from headway.runtime.settings import configuration
    from headway.runtime.settings.database import RoleSettings

    given = configuration.read(RoleSettings)
    secrets = {
        Login.PARSER: given.parser_password,
        Login.SCHEDULER: given.scheduler_password,
        Login.WORKER: given.worker_password,
        Login.USER: given.user_password,
        Login.API: given.api_password,
        Login.READONLY: given.readonly_password,
    }
    return {login: secret.get_secret_value() for login, secret in secrets.items() if secret}


def _login(status: "RoleStatus") -> str:
    if not status.present:
        return "no: absent, migrate as one who may create roles"
    if not status.may_log_in:
        return f"no: ALTER ROLE {status.login} LOGIN"
    return "yes, and it may do more than it should" if status.powerful else "yes"
