"""`headway tasks`: task instances, their attempts, their logs."""

import shutil
import sys
from typing import Annotated

import typer

from headway.cli.output import Format, Output

app = typer.Typer(help="Task instances: list them, read their logs.", no_args_is_help=True)

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
