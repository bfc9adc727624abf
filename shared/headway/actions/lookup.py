"""Find what a user names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from sqlalchemy import Connection

from headway.db.changes import run_changes
from headway.db.changes.run_changes import LockedRun
from headway.db.core import stored_versions
from headway.db.reads import callback_views, dag_views, notification_views, run_views
from headway.db.reads.callback_views import CallbackView
from headway.db.reads.notification_views import NotificationView
from headway.db.reads.run_views import RunView
from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import (
    CallbackNotFoundError,
    DagNotFoundError,
    NotFoundError,
    NotificationNotFoundError,
    RunNotFoundError,
    TaskNotFoundError,
)
from headway.domain.hints import Action, Hint, act, hint
from headway.serialization import codec


@dataclass(frozen=True, slots=True)
class CurrentDag:
    """A DAG as the version in force has it."""

    spec: DagSpec
    version_id: int
    number: int
    paused: bool


def current_dag(conn: Connection, dag_id: str) -> CurrentDag:
    """Return the DAG; NotFoundError, naming the nearest ones, when there is none."""
    found = dag_views.in_force(conn, dag_id)
    if found is None or not found.active:
        raise _no_dag(conn, dag_id)
    spec = codec.decode(found.serialized)
    return CurrentDag(spec, found.version_id, found.number, found.paused)


def run_of(conn: Connection, dag_id: str, run_id: str) -> RunView:
    """Return the run; NotFoundError, naming the nearest, when there is none."""
    found = run_views.run(conn, dag_id, run_id)
    if found is None:
        raise _no_run(conn, dag_id, run_id)
    return found


def check_named(conn: Connection, dag_id: str | None, run_id: str | None = None) -> None:
    """Raise NotFoundError, naming the nearest, for a DAG that is not there, or a run of it."""
    if dag_id is None:
        return
    if run_id is None:
        current_dag(conn, dag_id)
    else:
        run_of(conn, dag_id, run_id)


def lock_run(conn: Connection, dag_id: str, run_id: str) -> LockedRun:
    """Lock the run for the rest of the transaction; NotFoundError, naming the nearest, without it.

    Whoever else changes the run is waited for.
    """
    run = run_changes.lock_run(conn, dag_id, run_id)
    if run is None:
        raise _no_run(conn, dag_id, run_id)
    return run


def graph_of(conn: Connection, run: LockedRun) -> DagGraph:
    """Return the tasks of the run, as the version has them that it was created with."""
    return DagGraph(codec.decode(stored_versions.load(conn, [run.version_id])[run.version_id]))


def check_tasks(graph: DagGraph, named: Sequence[str]) -> None:
    """Raise NotFoundError, naming the nearest, for a task that the DAG does not have."""
    for task_id in named:
        if task_id not in graph.tasks:
            dag_id = graph.dag.dag_id
            shown = hint(act(Action.SHOW_DAG, dag_id=dag_id), " shows its tasks.")
            raise TaskNotFoundError(
                f"DAG {dag_id} has no task {task_id!r} in that run.",
                hint=_nearest(task_id, graph.tasks, shown),
            )


def callback_of(conn: Connection, number: int) -> CallbackView:
    """Return the callback of that number; NotFoundError when there is none."""
    found = callback_views.callback(conn, number)
    if found is None:
        raise CallbackNotFoundError(
            f"There is no callback {number}.",
            hint=hint(act(Action.LIST_CALLBACKS), " shows those there are."),
        )
    return found


def notification_of(conn: Connection, number: int) -> NotificationView:
    """Return the notification of that number; NotFoundError when there is none."""
    found = notification_views.notification(conn, number)
    if found is None:
        raise NotificationNotFoundError(
            f"There is no notification {number}.",
            hint=hint(act(Action.LIST_NOTIFICATIONS), " shows those there are."),
        )
    return found


def _no_dag(conn: Connection, dag_id: str) -> NotFoundError:
    known = [dag.dag_id for dag in dag_views.dags(conn)]
    shown = hint(act(Action.LIST_DAGS), " shows them all.")
    return DagNotFoundError(f"There is no DAG {dag_id!r}.", hint=_nearest(dag_id, known, shown))


def _no_run(conn: Connection, dag_id: str, run_id: str) -> NotFoundError:
    if dag_views.dag(conn, dag_id) is None:
        return _no_dag(conn, dag_id)
    known = [run.run_id for run in run_views.runs(conn, dag_id)]
    shown = hint(act(Action.LIST_RUNS, dag_id=dag_id), " shows its runs.")
    return RunNotFoundError(
        f"DAG {dag_id} has no run {run_id!r}.", hint=_nearest(run_id, known, shown)
    )


def _nearest(name: str, known: Iterable[str], otherwise: Hint) -> Hint:
    near = get_close_matches(name, list(known))
    return hint(f"Did you mean {' or '.join(near)}?") if near else otherwise
