"""`headway tasks`: task instances, their attempts, their logs, and what may be done to them."""

import shutil
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.output import Format, Output
from headway.cli.values import Reason, Version, Yes

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from headway.actions.intervene import Change

app = typer.Typer(
    help="Task instances: list them, read their logs, clear, mark and cancel them.",
    no_args_is_help=True,
)


class TaskEnd(StrEnum):
    """What a task instance may be marked as."""

    SUCCESS = "success"
    FAILED = "failed"
    SKIPPED = "skipped"


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
    from headway.cli.output import show
    from headway.cli.session import transaction
    from headway.db import views

    with transaction() as conn:
        run_of(conn, dag_id, run_id)
        tasks = views.tasks(conn, dag_id, run_id)
        attempts = views.attempts(conn, dag_id, run_id)
    rows = []
    for task in tasks:
        key = task["task_id"], task["map_index"]
        own = [dict(it) for it in attempts if (it["task_id"], it["map_index"]) == key]
        last = own[-1] if own else {"handle": None, "error": None}
        rows.append(
            {**task, "attempts": own, "spark": _spark(last["handle"]), "error": last["error"]}
        )
    show(rows, COLUMNS, output)


@app.command()
def logs(
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: Annotated[int, typer.Option(help="Which of a mapped task's instances.")] = -1,
    attempt: Annotated[int | None, typer.Option(min=1, help="Default: the last one.")] = None,
) -> None:
    """Print the log of an attempt; it must lie on this machine, under HEADWAY_HOME."""
    from headway.actions.lookup import run_of
    from headway.cli.session import transaction
    from headway.db import views
    from headway.domain.errors import NotFoundError
    from headway.runtime import settings
    from headway.runtime.attempt_logs import LogKey, logs_folder

    with transaction() as conn:
        run_of(conn, dag_id, run_id)
        found = [
            int(row["attempt"])
            for row in views.attempts(conn, dag_id, run_id, task_id)
            if row["map_index"] == map_index and row["started_at"] is not None
        ]
    if not found:
        raise NotFoundError(
            f"No attempt of task {task_id!r} has started in that run; "
            f"`headway tasks list {dag_id} {run_id}` shows how its tasks stand."
        )
    number = _one_of(found, attempt, task_id)
    path = LogKey(dag_id, run_id, task_id, map_index, number).path(logs_folder(settings.home()))
    if not path.is_file():
        raise NotFoundError(
            f"The log of attempt {number} is not on this machine ({path}). "
            "Look on the host of the worker that ran it."
        )
    with path.open("rb") as log:
        shutil.copyfileobj(log, sys.stdout.buffer)


@app.command()
def clear(  # noqa: PLR0913, PLR0917 - each is an option
    dag_id: str,
    run_id: str,
    tasks: Tasks,
    map_index: MapIndex = None,
    downstream: Annotated[
        bool, typer.Option(help="Also what lies below these tasks, directly or not.")
    ] = True,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Only tasks that failed, or for others' failure.")
    ] = False,
    version: Version = "own",
    reason: Reason = None,
    yes: Yes = False,
) -> None:
    """Have tasks of a run run again, with all their retries; one that waits for a retry, now.

    A task that is running is told to stop first. A run that has ended waits to start again.
    With another version than its own the whole run takes on that one's tasks and code.
    """
    from headway.cli.changes import author, change

    def work(conn: "Connection") -> "Change":
        from headway.actions.clear import clear_tasks
        from headway.decide.clear import Selection

        selection = Selection(tasks, map_index, downstream, only_failed)
        return clear_tasks(conn, dag_id, run_id, selection, author(reason), version)

    change(work, where=(dag_id, run_id), yes=yes)


@app.command()
def mark(  # noqa: PLR0913, PLR0917 - each is an option
    dag_id: str,
    run_id: str,
    tasks: Tasks,
    state: Annotated[TaskEnd, typer.Option("--as", help="What they are to be.")],
    map_index: MapIndex = None,
    downstream: Annotated[
        bool, typer.Option(help="Clear what failed below them, unless they are marked failed.")
    ] = True,
    reason: Reason = None,
    yes: Yes = False,
) -> None:
    """Mark tasks of a run as success, failed or skipped.

    A task that is running is told to stop first. A run that has ended waits to start again, and
    ends as its tasks stand then.
    """
    from headway.cli.changes import author, change

    def work(conn: "Connection") -> "Change":
        from headway.actions.mark import Marking, mark_tasks
        from headway.domain.states import TaskState

        marking = Marking(tasks, TaskState(state), map_index, downstream)
        return mark_tasks(conn, dag_id, run_id, marking, author(reason))

    change(work, where=(dag_id, run_id), yes=yes)


@app.command()
def cancel(
    dag_id: str,
    run_id: str,
    tasks: Tasks,
    map_index: MapIndex = None,
    reason: Reason = None,
    yes: Yes = False,
) -> None:
    """End tasks of a run: one that is running is stopped and fails, others are skipped."""
    from headway.cli.changes import author, change

    def work(conn: "Connection") -> "Change":
        from headway.actions.cancel import cancel_tasks

        return cancel_tasks(conn, (dag_id, run_id), tasks, map_index, author(reason))

    change(work, where=(dag_id, run_id), yes=yes)


def _one_of(started: list[int], attempt: int | None, task_id: str) -> int:
    from headway.domain.errors import NotFoundError

    number = started[-1] if attempt is None else attempt
    if number not in started:
        raise NotFoundError(
            f"Task {task_id!r} has no attempt {number} that has started; it has "
            f"{', '.join(map(str, started))}."
        )
    return number


def _spark(handle: object) -> str | None:
    if not isinstance(handle, dict):
        return None
    return handle.get("application_id") or handle.get("session_id")
