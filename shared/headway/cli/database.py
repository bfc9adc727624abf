"""`headway db`: migrate and check the database."""

import typer

app = typer.Typer(help="The database: migrate it, check it.", no_args_is_help=True)


@app.command()
def migrate() -> None:
    """Bring the database to the schema of this release."""
    from headway.cli.session import database_url
    from headway.db import migrate as migrations

    print(f"The database has schema {migrations.upgrade(database_url())}.")


@app.command()
def check() -> None:
    """Tell whether the database answers and has the schema of this release."""
    from headway.cli.session import database_url
    from headway.db import engine as engines
    from headway.db import migrate as migrations

    engine = engines.connect(database_url())
    print(f"The database answers and has schema {migrations.check(engine)}.")
