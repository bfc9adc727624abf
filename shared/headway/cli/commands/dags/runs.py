"""`headway runs`: DAG runs as they stand, and what may be done to them."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.input.values import Reason, Version, Yes
from headway.cli.screen.errors import ExitStatus
from headway.cli.screen.output import Format, Output, as_row, tell
from headway.domain.states import RunState

if TYPE_CHECKING:
    from headway.actions.change import RunChange
    from headway.actions.dags.history import RunDetail
    from headway.cli.input.session import Transaction

app = typer.Typer(
    help="DAG runs: list, show, watch, clear, mark, cancel and delete them.", no_args_is_help=True
)


class RunEnd(StrEnum):
    """What a run may be marked as."""

    SUCCESS = "success"
    FAILED = "failed"


COLUMNS = ("dag_id", "run_id", "run_type", "state", "interval_start", "started_at", "ended_at")
TASK_COLUMNS = ("task_id", "map_index", "state", "attempt", "started_at", "ended_at")
DEADLINE_COLUMNS = ("deadline", "task_id", "due_at", "state", "ended_at")


@app.command("list")
def list_runs(
    dag_id: Annotated[str | None, typer.Argument(help="Only the runs of this DAG.")] = None,
    state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most runs to list.")] = 100,
    output: Output = Format.TABLE,
) -> None:
    """List DAG runs. With a DAG, the latest date comes first, else the last created run."""
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import run_views

    with transaction() as conn:
        rows = run_views.runs(conn, dag_id, state, limit)
        if not rows and dag_id is not None:
            from headway.actions.lookup import current_dag  # it reads more than all the rest

            current_dag(conn, dag_id)
    show(rows, COLUMNS, output)


@app.command()
def show(dag_id: str, run_id: str, output: Output = Format.TABLE) -> None:
    """Show one run, the graph of its version, and its task instances."""
    from headway.actions.dags.history import run_detail
    from headway.cli.input.session import transaction
    from headway.cli.screen import output as rendering
    from headway.cli.screen import run_graph
    from headway.cli.screen.terminal import show_lines

    with transaction() as conn:
        found = run_detail(conn, dag_id, run_id)
    if output is Format.JSON:
        rendering.show([_detail(found)], (), output)
        return
    rendering.show([found.run], COLUMNS, output)
    print()
    show_lines(run_graph.lines(found.graph, found.tasks))
    print()
    rendering.show(found.tasks, TASK_COLUMNS, output)
    if found.deadlines:
        print()
        rendering.show(found.deadlines, DEADLINE_COLUMNS, output)


@app.command()
def watch(dag_id: str, run_id: str) -> None:
    """Watch a run and its Spark progress until the run ends; exit 1 if it fails."""
    from headway.cli.screen.watch_run import watch_run

    if watch_run(dag_id, run_id) != RunState.SUCCESS:
        raise typer.Exit(ExitStatus.FAILED)


@app.command()
def clear(  # noqa: PLR0913, PLR0917 - each is an option
    dag_id: str,
    run_id: str,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Only tasks that are failed or upstream_failed.")
    ] = False,
    version: Version = "own",
    reason: Reason = None,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """Run all tasks of a run again, with all their retries.

    A running task is told to stop first. An ended run is queued again. With another --version,
    the run gets the tasks and the code of that version.
    """
    from headway.cli.screen.changes import author, change

    def work(conn: "Transaction") -> "RunChange":
        from headway.actions.runs.clear import clear_tasks
        from headway.decide.changes.clear import Selection

        selection = Selection(only_failed=only_failed)
        return clear_tasks(conn, dag_id, run_id, selection, author(reason), version)

    change(work, where=(dag_id, run_id), yes=yes, output=output)


@app.command()
def mark(
    dag_id: str,
    run_id: str,
    state: Annotated[RunEnd, typer.Option("--as", help="The new state of the run.")],
    reason: Reason = None,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """Mark a run as success or failed.

    If the run has ended, only its state changes. Otherwise the run ends: running tasks are told to
    stop and get the state of the run, and tasks that have not begun are skipped.
    """
    from headway.cli.screen.changes import author, change

    def work(conn: "Transaction") -> "RunChange":
        from headway.actions.runs.mark import mark_run

        return mark_run(conn, dag_id, run_id, RunState(state), author(reason))

    change(work, where=(dag_id, run_id), yes=yes, output=output)


@app.command()
def cancel(
    dag_id: str,
    run_id: str,
    reason: Reason = None,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """End a run as failed: running tasks are stopped, tasks that have not begun are skipped."""
    from headway.cli.screen.changes import author, change

    def work(conn: "Transaction") -> "RunChange":
        from headway.actions.runs.cancel import cancel_run

        return cancel_run(conn, dag_id, run_id, author(reason))

    change(work, where=(dag_id, run_id), yes=yes, output=output)


@app.command()
def delete(
    dag_id: str,
    run_id: str,
    reason: Reason = None,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """Delete a run with its task instances, attempts and XComs.

    A running run is refused: cancel it first. Its events stay. Workers remove its logs later.
    """
    from headway.cli.input.acting import act, ask, rehearse
    from headway.cli.screen.changes import author

    def work(conn: "Transaction") -> int:
        from headway.actions.runs.delete import delete_run

        return delete_run(conn, dag_id, run_id, author(reason))

    if not yes:
        ask(f"The run {run_id} of {dag_id} with {rehearse(work)} task instances will be deleted.")
    instances = act(work)
    row = {"dag_id": dag_id, "run_id": run_id, "instances": instances}
    tell(f"Deleted the run {run_id} of {dag_id} with {instances} task instances.", row, output)


def _detail(found: "RunDetail") -> dict[str, Any]:
    """Return a run with its graph and its tasks as one row, for programs."""
    return {
        **as_row(found.run),
        "in_force": found.graph.in_force,
        "upstream": {task.task_id: list(task.upstream) for task in found.graph.graph.dag.tasks},
        "tasks": [as_row(task) for task in found.tasks],
        "deadlines": [as_row(deadline) for deadline in found.deadlines],
    }
