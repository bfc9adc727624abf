"""`headway connections`: where things outside are reached, and which DAGs may know."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.input.values import Yes
from headway.cli.screen.output import Format, Output
from headway.cli.secrets import acts, secret_input
from headway.cli.secrets.secret_input import AllDags, Bundles, Dags, Description, From, ShowSecrets
from headway.domain.errors import SecretError
from headway.domain.variable import SecretKind

if TYPE_CHECKING:
    from headway.domain.connection import Connection

app = typer.Typer(
    help="Connections: add, list, show, delete, import, export, grant to DAGs and bundles.",
    no_args_is_help=True,
)

KIND = SecretKind.CONNECTION
Uri = Annotated[
    str | None,
    typer.Option(
        help="The connection as a URI. Other users can see the command line: prefer --from FILE."
    ),
]
Password = Annotated[
    bool, typer.Option("--password", help="Ask for a password; without a terminal, read stdin.")
]
Extra = Annotated[
    str | None, typer.Option(metavar="FILE", help="A file with a JSON object of further values.")
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Replace existing ones with the same name.")
]

FIELDS = ("name", "conn_type", "host", "login", "password", "port", "schema", "extra")


@app.command("list")
def list_connections(output: Output = Format.TABLE) -> None:
    """List connections with the DAGs and bundles that may read them. Secrets are not shown."""
    acts.show_all(KIND, output)


@app.command()
def add(  # noqa: PLR0913 - one parameter for each option
    conn_id: str,
    *,
    source: From = None,
    uri: Uri = None,
    conn_type: Annotated[
        str | None, typer.Option(help="The type, such as spark, sc, k8s, postgres.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="The host.")] = None,
    port: Annotated[int | None, typer.Option(help="The port.")] = None,
    login: Annotated[str | None, typer.Option(help="The login name.")] = None,
    schema: Annotated[str | None, typer.Option(help="The schema or database.")] = None,
    password: Password = False,
    extra: Extra = None,
    description: Description = None,
    replace: Replace = False,
) -> None:
    """Add a connection: from a URI or JSON object (--from, --uri), or from its fields."""
    from headway.domain.connection import Connection

    fields = {"conn_type": conn_type, "host": host, "port": port, "login": login, "schema": schema}
    given: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    if sum([source is not None, uri is not None, bool(given or password or extra)]) != 1:
        raise SecretError("Give --from, or --uri, or the fields, such as --conn-type and --host.")
    if source is not None:
        connection = Connection.from_text(conn_id, secret_input.read(source))
    elif uri is not None:
        connection = Connection.from_uri(conn_id, uri)
    else:
        if extra is not None:
            given["extra"] = secret_input.read_object(extra)
        if password:
            given["password"] = secret_input.ask("Password")
        connection = Connection.from_fields(conn_id, given)
    secret_input.warn_if_short(connection.password)
    acts.store([(connection, description)], replace=replace)
    print(f"The connection {conn_id} is stored.")


@app.command()
def get(conn_id: str, show_secrets: ShowSecrets = False, output: Output = Format.TABLE) -> None:
    """Show a connection. --show-secrets also shows the password and the values of extra."""
    from headway.cli.screen.output import show
    from headway.domain.connection import Connection

    found = acts.read(KIND, conn_id, whole=show_secrets)
    assert isinstance(found, Connection)
    show([_shown(found, whole=show_secrets)], FIELDS, output)


@app.command()
def delete(conn_id: str, yes: Yes = False) -> None:
    """Delete a connection with its grants."""
    acts.delete(KIND, conn_id, yes=yes)


@app.command("import")
def import_connections(
    file: str,
    replace: Replace = False,
) -> None:
    """Store connections from a JSON object of ids, each with a URI or an object; - is stdin.

    `airflow connections export` writes such a file.
    """
    from headway.cli.input.secret_exports import exported_connection

    given = secret_input.read_object(file)
    found = [(exported_connection(conn_id, value), None) for conn_id, value in given.items()]
    acts.store(found, replace=replace)
    print(f"{len(found)} connections are stored.")
    secret_input.tell_descriptions(given)


@app.command("export")
def export_connections(file: str, show_secrets: ShowSecrets = False) -> None:
    """Write all connections to a new file with mode 600, or to stdout (-), for `import`."""
    from headway.domain.connection import Connection

    if not show_secrets:
        raise SecretError("An export holds all passwords; add --show-secrets if that is meant.")
    found = acts.read_all(KIND)
    secret_input.write(
        file,
        {
            connection.conn_id: connection.to_fields()
            for connection in found
            if isinstance(connection, Connection)
        },
    )


@app.command()
def grant(
    conn_id: str, dags: Dags = None, all_dags: AllDags = False, bundle: Bundles = None
) -> None:
    """Let DAGs read a connection, from every place where workers look; or the files of a bundle."""
    acts.grant(KIND, conn_id, secret_input.grantees(dags, bundle, every=all_dags))


@app.command()
def revoke(
    conn_id: str, dags: Dags = None, all_dags: AllDags = False, bundle: Bundles = None
) -> None:
    """Revoke grants of DAGs, of bundles, or the grant of all DAGs."""
    acts.revoke(KIND, conn_id, secret_input.grantees(dags, bundle, every=all_dags))


def _shown(connection: "Connection", *, whole: bool) -> dict[str, object]:
    fields = dict.fromkeys(FIELDS) | {"name": connection.conn_id} | connection.to_fields()
    if not whole:
        fields["password"] = None if connection.password is None else "***"
        fields["extra"] = dict.fromkeys(connection.extra, "***")
    return fields
