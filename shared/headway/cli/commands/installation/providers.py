"""`headway providers`: packages of hooks and operators that were written for Airflow."""

from importlib.util import find_spec
from typing import Annotated

import typer

from headway.cli.screen.output import Format, Output

app = typer.Typer(
    help="Provider packages of Airflow: install them without Airflow, and list them.",
    no_args_is_help=True,
)

COLUMNS = ("package", "version", "installed")

RESTART = (
    "Restart the parsers and workers that run in this environment: until then they go on with what "
    "was installed before."
)


@app.command()
def install(
    packages: Annotated[
        list[str],
        typer.Argument(help="Such as apache-airflow-providers-http, or with ==6.3.0."),
    ],
) -> None:
    """Install provider packages here, with what they require besides Airflow.

    Versions of packages that Headway itself needs do not change. Do this wherever DAG files are
    parsed and tasks are run, and restart the parsers and workers there.
    """
    from headway.cli.screen.output import show

    _require_packaging()
    from headway.cli.providers.installation import install

    plan = install(packages)
    show(
        (
            {
                "package": name,
                "version": release.version,
                "installed": "before" if release.is_installed else "now",
            }
            for name, release in sorted(plan.providers.items())
        ),
        COLUMNS,
        Format.TABLE,
    )
    if not all(release.is_installed for release in plan.providers.values()):
        typer.echo(RESTART, err=True)


@app.command("list")
def list_providers(output: Output = Format.TABLE) -> None:
    """List the provider packages that are installed here."""
    from headway.cli.screen.output import show

    _require_packaging()
    from headway.cli.providers import installed

    found = installed.providers()
    rows = ({"package": name, "version": release.version} for name, release in found.items())
    show(rows, COLUMNS[:2], output)


def _require_packaging() -> None:
    from headway.domain.errors import NotFoundError

    if find_spec("packaging") is None:
        raise NotFoundError(
            "The package packaging is not installed, which reads requirements. Install the extra: "
            "pip install 'headway[airflow]'."
        )
