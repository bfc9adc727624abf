"""`headway variables`: named texts, and which DAGs may read them."""

from typing import Annotated

import typer

from headway.cli.input.values import Yes
from headway.cli.screen.output import Format, Output
from headway.cli.secrets import acts, secret_input
from headway.cli.secrets.secret_input import AllDags, Bundles, Dags, Description, From, ShowSecrets
from headway.domain.errors import SecretError
from headway.domain.variable import SecretKind

app = typer.Typer(
    help="Variables: set, list, show, delete, import, export, grant to DAGs and bundles.",
    no_args_is_help=True,
)

KIND = SecretKind.VARIABLE

Plain = Annotated[
    bool, typer.Option("--plain", help="The value is no secret: logs and `get` may show it.")
]


@app.command("list")
def list_variables(output: Output = Format.TABLE) -> None:
    """List variables with the DAGs and bundles that may read them. Values are not shown."""
    acts.show_all(KIND, output)


@app.command("set")
def set_variable(
    key: str,
    value: Annotated[
        str | None, typer.Argument(help="The value, only with --plain: other users can see it.")
    ] = None,
    source: From = None,
    plain: Plain = False,
    description: Description = None,
) -> None:
    """Set a variable: from a file, from stdin, or from a hidden prompt."""
    from headway.domain.variable import StoredVariable

    if value is not None and (not plain or source is not None):
        raise SecretError(
            "A value on the command line can be seen by others: add --plain if it is no secret; "
            "else give it by --from, or without either type it when asked."
        )
    if value is None:
        value = secret_input.ask("Value") if source is None else secret_input.read(source)
    if not plain:
        secret_input.warn_if_short(value)
    acts.store([(StoredVariable(key=key, value=value, plain=plain), description)])
    print(f"The variable {key} is set.")


@app.command()
def get(key: str, show_secrets: ShowSecrets = False, output: Output = Format.TABLE) -> None:
    """Show a variable. --show-secrets also shows a value that is not plain."""
    from headway.cli.screen.output import show
    from headway.domain.variable import StoredVariable

    found = acts.read(KIND, key, whole=show_secrets)
    assert isinstance(found, StoredVariable)
    value = found.value if show_secrets or found.plain else "***"
    show([{"name": key, "plain": found.plain, "value": value}], ("name", "plain", "value"), output)


@app.command()
def delete(key: str, yes: Yes = False) -> None:
    """Delete a variable with its grants."""
    acts.delete(KIND, key, yes=yes)


@app.command("import")
def import_variables(file: str, plain: Plain = False) -> None:
    """Set variables from a JSON object. Values that are not texts are stored as JSON.

    `airflow variables export` writes such a file.
    """
    from headway.cli.input.secret_exports import exported_variable
    from headway.domain.variable import StoredVariable

    given = secret_input.read_object(file)
    found = [
        (StoredVariable(key=key, value=exported_variable(value), plain=plain), None)
        for key, value in given.items()
    ]
    acts.store(found)
    print(f"{len(found)} variables are set.")
    secret_input.tell_descriptions(given)


@app.command("export")
def export_variables(file: str, show_secrets: ShowSecrets = False) -> None:
    """Write all variables to a new file with mode 600, or to stdout (-), for `import`."""
    from headway.domain.variable import StoredVariable

    if not show_secrets:
        raise SecretError("An export holds all values; add --show-secrets if that is meant.")
    found = acts.read_all(KIND)
    secret_input.write(
        file,
        {
            variable.key: variable.value
            for variable in found
            if isinstance(variable, StoredVariable)
        },
    )


@app.command()
def grant(key: str, dags: Dags = None, all_dags: AllDags = False, bundle: Bundles = None) -> None:
    """Let DAGs read a variable, from every place where workers look; or the files of a bundle."""
    acts.grant(KIND, key, secret_input.grantees(dags, bundle, every=all_dags))


@app.command()
def revoke(key: str, dags: Dags = None, all_dags: AllDags = False, bundle: Bundles = None) -> None:
    """Revoke grants of DAGs, of bundles, or the grant of all DAGs."""
    acts.revoke(KIND, key, secret_input.grantees(dags, bundle, every=all_dags))
