"""`headway dags`: what there is to run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.commands.dags import dag_deletion, dag_time, dag_versions
from headway.cli.screen.output import Format, Output, tell
from headway.runtime.logs.escaping import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from headway.db.reads.dag_file_views import ImportProblem
    from headway.db.reads.views import Row

app = typer.Typer(
    help="DAGs: list, show, pause, trigger and test them, and what they were.",
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
        bool, typer.Option("--all", help="Also those that no file defines any more.")
    ] = False,
    output: Output = Format.TABLE,
) -> None:
    """List DAGs, and the files that could not be read."""
    from dataclasses import asdict

    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import dag_file_views, views

    with transaction() as conn:
        rows = views.dags(conn, inactive=inactive)
        problems = {
            "Import errors": dag_file_views.errors(conn),
            "Warnings": dag_file_views.warnings(conn),
        }
    if output is Format.JSON:
        show(_with_problems(rows, *problems.values()), (), output)
        return
    show(rows, COLUMNS, output)
    failing = [row for row in rows if row["schedule_error"]]
    if failing:
        print("\nSchedules that fail:")
        show(failing, FAILING_COLUMNS, output)
    for heading, found in problems.items():
        if found:
            print(f"\n{heading}:")
            show(map(asdict, found), PROBLEM_COLUMNS, output)


@app.command()
def show(dag_id: str, output: Output = Format.TABLE) -> None:
    """Show one DAG: its schedule and its tasks."""
    from headway.actions.lookup import current_dag
    from headway.cli.input.session import transaction
    from headway.cli.screen import output as rendering
    from headway.db.reads import views
    from headway.timetables import registry

    with transaction() as conn:
        spec = current_dag(conn, dag_id).spec
        row = views.dags(conn, dag_id)[0]
    tasks = [
        {
            "task_id": task.task_id,
            "operator": task.operator,
            "upstream": list(task.upstream),
            "trigger_rule": str(task.trigger_rule),
            "pool": task.pool,
            "pool_slots": task.pool_slots,
            "queue": task.queue,
            "retries": task.retries,
        }
        for task in spec.tasks
    ]
    if output is Format.JSON:
        rendering.show([{**row, "tasks": tasks}], (), output)
        return
    schedule = registry.decode(spec.timetable).summary
    say(f"{dag_id}  version {row['version']}  {row['relative_path']}")
    overlap = f", overlap {spec.overlap}" if spec.overlap else ""
    say(f"schedule: {schedule} ({spec.timezone}), catchup {spec.missed}{overlap}")
    if row["schedule_error"]:
        say(f"the schedule fails: {row['schedule_error']}")
    if spec.description:
        say(spec.description)
    rendering.show([row], COLUMNS, output)
    print()
    rendering.show(tasks, TASK_COLUMNS, output)


@app.command()
def pause(dag_id: str, output: Output = Format.TABLE) -> None:
    """Create no more runs of a DAG, and queue no more of its tasks."""
    _set_paused(dag_id, output, paused=True)


@app.command()
def unpause(dag_id: str, output: Output = Format.TABLE) -> None:
    """Let a paused DAG go on."""
    _set_paused(dag_id, output, paused=False)


@app.command()
def trigger(
    dag_id: str,
    conf: Annotated[str | None, typer.Option(help="Configuration of the run, as JSON.")] = None,
    run_id: Annotated[str | None, typer.Option(help="What to call the run.")] = None,
    logical_date: Annotated[
        str | None,
        typer.Option("--logical-date", "--date", help="As if at that time; default: now."),
    ] = None,
    interval: Annotated[
        tuple[str, str] | None,
        typer.Option(help="From and to: what the run is about, for example a whole month."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Create a run of a DAG, now or as if at another time.

    A run for a time to come waits for it; one of a DAG without a schedule starts at once
    where HEADWAY_SCHEDULER_ALLOW_TRIGGER_IN_FUTURE is true.
    """
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

    def work(conn: "Connection") -> str:
        zone = current_dag(conn, dag_id).spec.timezone
        date = None if logical_date is None else parse_date(logical_date, zone)
        about = None if interval is None else parse_interval(interval, zone)
        request = action.TriggerRequest(dag_id, given, run_id, date, in_future, about)
        return action.trigger(conn, request, now(conn), actor())

    made = act(work)
    tell(f"Created the run {made} of {dag_id}.", {"dag_id": dag_id, "run_id": made}, output)


@app.command("test")
def test_dag(
    file: Annotated[Path, typer.Argument(help="The DAG file.")],
    dag_id: Annotated[str, typer.Argument(help="The DAG in it.")],
    date: Annotated[str | None, typer.Argument(help="The day to run it for.")] = None,
    conf: Annotated[str | None, typer.Option(help="Configuration of the run, as JSON.")] = None,
) -> None:
    """Run a DAG once in this process, without a database or services."""
    from headway.cli.input.session import now
    from headway.cli.input.values import parse_conf
    from headway.cli.local.dag_test import run_dag
    from headway.runtime.processes import garbage

    garbage.as_usual()
    raise typer.Exit(run_dag(file, dag_id, date, parse_conf(conf), now()))


def _with_problems(
    dags: "Sequence[Row]", errors: "Sequence[ImportProblem]", warnings: "Sequence[ImportProblem]"
) -> "list[Row]":
    """Return DAGs with the import error and the warning of their file, each file's once or more.

    A file of which no DAG is listed has a row of its own, without a dag_id.
    """
    told: dict[tuple[str, str], Row] = {}
    for kind, found in (("import_error", errors), ("warning", warnings)):
        for it in found:
            told.setdefault((it.bundle, it.relative_path), {})[kind] = it.error
    none = {"import_error": None, "warning": None}
    rows = [{**row, **none, **told.get((row["bundle"], row["relative_path"]), {})} for row in dags]
    listed = {(row["bundle"], row["relative_path"]) for row in dags}
    empty = dict.fromkeys(rows[0] if rows else ("dag_id",))
    rows += [
        {**empty, "bundle": bundle, "relative_path": path, **none, **problems}
        for (bundle, path), problems in told.items()
        if (bundle, path) not in listed
    ]
    return rows


def _set_paused(dag_id: str, output: Format, *, paused: bool) -> None:
    from headway.actions.dags import pause as action
    from headway.cli.input.session import actor, transaction

    with transaction(changes=True) as conn:
        changed = action.set_paused(conn, dag_id, actor(), paused=paused)
    state = "paused" if paused else "not paused"
    row = {"dag_id": dag_id, "paused": paused, "changed": changed}
    tell(f"The DAG {dag_id} is {state}{'' if changed else ' already'}.", row, output)
