"""The `headway` command: its subcommands."""

import typer

from headway.cli.commands.dags import (
    backfill,
    callbacks,
    dags,
    deadlines,
    events,
    explain,
    notifications,
    runs,
    simulate,
    spark,
    tasks,
    timetable,
)
from headway.cli.commands.installation import (
    bundles,
    database,
    doctor,
    health,
    import_check,
    metrics,
    pools,
    providers,
    status,
)
from headway.cli.launch import services
from headway.cli.screen import errors
from headway.cli.screen.output import Format, Output
from headway.cli.secrets import accounts, connections, keys, tokens, variables
from headway.runtime.processes.linux import become_undumpable

app = typer.Typer(
    name="headway",
    help="Run data pipelines on Spark: DAGs in Python, state in Postgres, many schedulers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
services.add_to(app)
app.add_typer(database.app, name="db")
app.add_typer(dags.app, name="dags")
app.add_typer(runs.app, name="runs")
app.add_typer(tasks.app, name="tasks")
app.add_typer(callbacks.app, name="callbacks")
app.add_typer(notifications.app, name="notifications")
app.add_typer(deadlines.app, name="deadlines")
app.add_typer(backfill.app, name="backfill")
app.add_typer(pools.app, name="pools")
app.add_typer(timetable.app, name="timetable")
app.add_typer(bundles.app, name="bundles")
app.add_typer(accounts.app, name="accounts")
app.add_typer(tokens.app, name="tokens")
app.add_typer(spark.app, name="spark")
app.add_typer(connections.app, name="connections")
app.add_typer(variables.app, name="variables")
app.add_typer(keys.app, name="secrets")
app.add_typer(providers.app, name="providers")
app.command("events")(events.list_events)
app.command("status")(status.status)
app.command("doctor")(doctor.doctor)
app.command("health")(health.health)
app.command("metrics")(metrics.metrics)
app.command("explain")(explain.explain)
app.command("simulate")(simulate.simulate)
app.command("import-check")(import_check.import_check)


@app.command("settings")
def list_settings(output: Output = Format.TABLE) -> None:
    """List every setting: its variable, its value here, its default."""
    from headway.cli.commands.installation import settings
    from headway.cli.screen.output import show

    show(settings.rows(), settings.COLUMNS, output)


@app.command()
def version(output: Output = Format.TABLE) -> None:
    """Print the version of Headway."""
    from headway import __version__
    from headway.cli.screen.output import tell

    tell(__version__, {"version": __version__}, output)


def main() -> None:
    """Run the command."""
    become_undumpable()  # its environment may hold the database's address
    errors.report(app)
