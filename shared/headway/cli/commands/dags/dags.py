"""`headway dags`: what there is to run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.commands.dags import dag_deletion, dag_params, dag_time, dag_versions
from headway.cli.screen.output import Format, Output, as_row, tell
from headway.runtime.logs.escaping import say

if TYPE_CHECKING:
    from headway.cli.input.session import Transaction
    from headway.db.reads.dag_file_views import ListedDag

app = typer.Typer(
    help="DAGs: list, show, pause, trigger, test and delete them, and show their versions.",
    no_args_is_help=True,
)
app.command()(dag_versions.versions)
app.command()(dag_versions.diff)
app.command()(dag_versions.code)
app.command("next")(dag_time.next_runs)
app.command()(dag_deletion.reparse)
app.command()(dag_deletion.delete)

COLUMNS = ("dag_id", "version", "tasks", "paused", "running", "next_run_after", "tags")
PROBLEM_COLUMNS = ("bundle", "relative_path", "error")
FAILING_COLUMNS = ("dag_id", "schedule_error")
TASK_COLUMNS = ("task_id", "operator", "upstream", "trigger_rule", "pool", "retries")


@app.command("list")
def list_dags(
    inactive: Annotated[
        bool, typer.Option("--all", help="Include DAGs that no file defines any more.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """List DAGs, and the files that could not be parsed."""
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import dag_file_views

    with transaction() as conn:
        found = dag_file_views.dag_list(conn, inactive=inactive)
    if output is Format.JSON:
        show(map(_entry, found.entries), (), output)
        return
    show(found.dags, COLUMNS, output)
    failing = [dag for dag in found.dags if dag.schedule_error]
    if failing:
        print("\nSchedules that fail:")
        show(failing, FAILING_COLUMNS, output)
    for heading, problems in (("Import errors", found.errors), ("Warnings", found.warnings)):
        if problems:
            print(f"\n{heading}:")
            show(problems, PROBLEM_COLUMNS, output)


@app.command()
def show(dag_id: str, output: Output = Format.TABLE) -> None:
    """Show one DAG: its schedule and its tasks."""
    from headway.actions.dags.detail import dag_detail
    from headway.cli.input.session import transaction
    from headway.cli.screen import output as rendering

    with transaction() as conn:
        found = dag_detail(conn, dag_id)
    dag, start = found.dag, found.dag.next_interval_start
    next_ds = None if start is None else f"{start:%F}"
    if output is Format.JSON:
        tasks = [as_row(task) for task in found.tasks]
        read = list(found.parse_secrets)
        row = {**as_row(dag), "next_ds": next_ds, "parse_secrets": read, "tasks": tasks}
        rendering.show([row], (), output)
        return
    say(f"{dag_id}  version {dag.version}  {dag.relative_path}")
    overlap = f", overlap {found.overlap}" if found.overlap else ""
    say(f"schedule: {found.schedule} ({found.timezone}), catchup {found.catchup}{overlap}")
    if dag.next_run_after is not None:
        say(f"next run: {dag.next_run_after:%F %T}, ds {next_ds}")
    if dag.schedule_error:
        say(f"the schedule fails: {dag.schedule_error}")
    if found.parse_secrets:
        say(f"the file reads while it is parsed: {', '.join(found.parse_secrets)}")
    if dag.description:
        say(dag.description)
    rendering.show([dag], COLUMNS, output)
    print()
    rendering.show(found.tasks, TASK_COLUMNS, output)


@app.command()
def pause(dag_id: str, output: Output = Format.TABLE) -> None:
    """Pause a DAG: create no more runs, and queue no more of its tasks."""
    _set_paused(dag_id, output, paused=True)


@app.command()
def unpause(dag_id: str, output: Output = Format.TABLE) -> None:
    """Let a paused DAG continue."""
    _set_paused(dag_id, output, paused=False)


@app.command()
def trigger(  # noqa: PLR0913, PLR0917 - each is an option
    dag_id: str,
    conf: Annotated[str | None, typer.Option(help="Configuration of the run, as JSON.")] = None,
    run_id: Annotated[str | None, typer.Option(help="The id of the run.")] = None,
    logical_date: Annotated[
        str | None,
        typer.Option("--logical-date", "--date", help="The time of the run; default: now."),
    ] = None,
    interval: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Start and end of the run's interval, for example a whole month."),
    ] = None,
    help_params: Annotated[
        bool, typer.Option("--help-params", help="List what the conf may have; create no run.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """Create a run of a DAG, for now or for another time.

    A run for a future time waits for that time. Exception: if the DAG has no schedule and
    HEADWAY_SCHEDULER_ALLOW_TRIGGER_IN_FUTURE is true, the run starts at once.
    """
    if help_params:
        dag_params.show_params(dag_id, output)
        return
    made = _create_run(dag_id, conf, run_id, logical_date, interval)
    tell(f"Created the run {made} of {dag_id}.", {"dag_id": dag_id, "run_id": made}, output)


@app.command("test")
def test_dag(
    file: Annotated[Path, typer.Argument(help="The DAG file.")],
    dag_id: Annotated[str, typer.Argument(help="The id of the DAG in the file.")],
    date: Annotated[str | None, typer.Argument(help="The day for which the DAG runs.")] = None,
    conf: Annotated[str | None, typer.Option(help="Configuration of the run, as JSON.")] = None,
) -> None:
    """Run a DAG once in this process, without a database or services."""
    from headway.cli.input.session import now
    from headway.cli.input.values import parse_conf
    from headway.cli.local.dag_test import run_dag
    from headway.runtime.processes import garbage

    garbage.as_usual()
    raise typer.Exit(run_dag(file, dag_id, date, parse_conf(conf), now()))


def _entry(entry: "ListedDag") -> dict[str, Any]:
    """Return a DAG with the problems of its file; a file without a DAG has no other fields."""
    from dataclasses import fields

    from headway.db.reads.dag_views import DagView

    names = [field.name for field in fields(DagView)]
    dag = dict.fromkeys(names) if entry.dag is None else as_row(entry.dag)
    return {**dag, **as_row(entry.file)}


def _create_run(
    dag_id: str,
    conf: str | None,
    run_id: str | None,
    logical_date: str | None,
    interval: tuple[str, str] | None,
) -> str:
    from headway.actions.lookup import current_dag
    from headway.actions.runs import trigger as action
    from headway.cli.input.acting import act
    from headway.cli.input.session import actor
    from headway.cli.input.values import parse_conf, parse_date, parse_interval
    from headway.db.core.server import now
    from headway.runtime.settings import configuration
    from headway.runtime.settings.scheduler import SchedulerSettings

    given = parse_conf(conf)
    in_future = configuration.read(SchedulerSettings).allow_trigger_in_future

    def work(conn: "Transaction") -> str:
        zone = current_dag(conn, dag_id).spec.timezone
        date = None if logical_date is None else parse_date(logical_date, zone)
        about = None if interval is None else parse_interval(interval, zone)
        request = action.TriggerRequest(dag_id, given, run_id, date, in_future, about)
        return action.trigger(conn, request, now(conn), actor())

    return act(work)


def _set_paused(dag_id: str, output: Format, *, paused: bool) -> None:
    from headway.actions.dags import pause as action
    from headway.cli.input.session import actor, transaction

    with transaction(changes=True) as conn:
        changed = action.set_paused(conn, dag_id, actor(), paused=paused)
    state = "paused" if paused else "not paused"
    row = {"dag_id": dag_id, "paused": paused, "changed": changed}
    tell(f"The DAG {dag_id} is {state}{'' if changed else ' already'}.", row, output)
