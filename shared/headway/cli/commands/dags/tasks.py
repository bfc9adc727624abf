"""`headway tasks`: task instances, their attempts, their logs, and what may be done to them."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli.commands.dags import task_test
from headway.cli.input.values import Reason, Version, Yes
from headway.cli.screen.output import Format, Output, as_row

if TYPE_CHECKING:
    from headway.actions.change import RunChange
    from headway.cli.input.session import Transaction
    from headway.db.reads.task_views import AttemptView, TaskHistory

app = typer.Typer(
    help="Task instances: list them, read their logs, clear, mark and cancel them; test a task.",
    no_args_is_help=True,
)
app.command("test")(task_test.try_task)


class TaskEnd(StrEnum):
    """What a task instance may be marked as."""

    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"


class LogFormat(StrEnum):
    """How to print a log."""

    TEXT = "text"
    JSON = "json"


Tasks = Annotated[list[str], typer.Argument(metavar="TASK", help="One task, or several.")]
MapIndex = Annotated[
    int | None, typer.Option(min=0, help="Only this instance of a mapped task; default: all.")
]

COLUMNS = (
    "task_id",
    "map_index",
    "state",
    "attempt",
    "started_at",
    "ended_at",
    "pool",
    "spark",
    "error",
)


@app.command("list")
def list_tasks(dag_id: str, run_id: str, output: Output = Format.TABLE) -> None:
    """List the task instances of a run, with every attempt in the JSON."""
    from headway.actions.lookup import run_of
    from headway.cli.input.session import transaction
    from headway.cli.screen.output import show
    from headway.db.reads import task_views

    with transaction() as conn:
        run_of(conn, dag_id, run_id)
        found = task_views.histories(conn, dag_id, run_id)
    show(map(_row, found), COLUMNS, output)


@app.command()
def logs(  # noqa: PLR0913, PLR0917 - each is an option
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: Annotated[int, typer.Option(help="The instance of a mapped task.")] = -1,
    attempt: Annotated[
        int | None, typer.Option(min=1, help="The attempt's number; default: the last attempt.")
    ] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            "-f",
            help="Follow the log, attempt after attempt, until the task has ended.",
        ),
    ] = False,
    output: Annotated[
        LogFormat, typer.Option("--output", "-o", help="Text for people, or the JSON lines.")
    ] = LogFormat.TEXT,
) -> None:
    """Print the log of an attempt, from this machine or from the log store."""
    from headway.cli.screen.task_logs import LogRequest, follow_log, print_log

    request = LogRequest(dag_id, run_id, task_id, map_index, attempt)
    (follow_log if follow else print_log)(request, raw=output is LogFormat.JSON)


@app.command()
def clear(  # noqa: PLR0913, PLR0917 - each is an option
    dag_id: str,
    run_id: str,
    tasks: Tasks,
    map_index: MapIndex = None,
    downstream: Annotated[
        bool, typer.Option(help="Include all tasks downstream of these tasks.")
    ] = True,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Only tasks that are failed or upstream_failed.")
    ] = False,
    version: Version = "own",
    reason: Reason = None,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """Run tasks of a run again, with all their retries.

    A task that waits for a retry runs at once. A running task is told to stop first. An ended run
    is queued again. With another --version, the whole run gets that version's tasks and code.
    """
    from headway.cli.screen.changes import author, change

    def work(conn: "Transaction") -> "RunChange":
        from headway.actions.runs.clear import clear_tasks
        from headway.decide.changes.clear import Selection

        selection = Selection(tasks, map_index, downstream, only_failed)
        return clear_tasks(conn, dag_id, run_id, selection, author(reason), version)

    change(work, where=(dag_id, run_id), yes=yes, output=output)


@app.command()
def mark(  # noqa: PLR0913, PLR0917 - each is an option
    dag_id: str,
    run_id: str,
    tasks: Tasks,
    state: Annotated[TaskEnd, typer.Option("--as", help="The new state of the tasks.")],
    map_index: MapIndex = None,
    downstream: Annotated[
        bool,
        typer.Option(help="Clear failed tasks downstream, unless the tasks are marked failed."),
    ] = True,
    reason: Reason = None,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """Mark tasks of a run as success, failed or skipped.

    A running task is told to stop first. An ended run is queued again, and its end follows from the
    states of its tasks.
    """
    from headway.cli.screen.changes import author, change

    def work(conn: "Transaction") -> "RunChange":
        from headway.actions.runs.mark import Marking, mark_tasks
        from headway.domain.states import TaskState

        marking = Marking(tasks, TaskState(state), map_index, downstream)
        return mark_tasks(conn, dag_id, run_id, marking, author(reason))

    change(work, where=(dag_id, run_id), yes=yes, output=output)


@app.command()
def cancel(  # noqa: PLR0913, PLR0917 - each is an option
    dag_id: str,
    run_id: str,
    tasks: Tasks,
    map_index: MapIndex = None,
    reason: Reason = None,
    yes: Yes = False,
    output: Output = Format.TABLE,
) -> None:
    """End tasks of a run: running tasks are stopped and fail, other tasks are skipped."""
    from headway.cli.screen.changes import author, change

    def work(conn: "Transaction") -> "RunChange":
        from headway.actions.runs.cancel import cancel_tasks

        return cancel_tasks(conn, (dag_id, run_id), tasks, map_index, author(reason))

    change(work, where=(dag_id, run_id), yes=yes, output=output)


def _row(found: "TaskHistory") -> dict[str, Any]:
    return {
        **as_row(found.task),
        "attempts": [as_row(attempt) for attempt in found.attempts],
        "spark": found.last and _spark(found.last),
        "error": found.last and found.last.error,
    }


def _spark(attempt: "AttemptView") -> object:
    """Return what is known of an attempt in Spark, for people; None when it did nothing there."""
    from headway.cli.screen.spark_figures import UNKNOWN, told

    if attempt.handle is None:
        return None
    if attempt.ended_at is not None:
        return told(attempt.progress, attempt.figures, ended=True) or UNKNOWN
    running = told(attempt.progress, attempt.figures, ended=False)
    return running or attempt.handle.get("application_id") or attempt.handle.get("session_id")
