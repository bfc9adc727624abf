"""SQL on interventions: what users do to runs that exist, and what a run's timeout does.

Locks are waited for, in the one order: the run, then its task instances.  These, and then
their attempts, are read by statements of their own, after the lock above them was granted:
so nothing that another transaction has done meanwhile is missed, or overwritten.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, text

from headway.db.scheduling.scope import ANY_RUN, KeyFilter, Scope
from headway.decide.changes.intervene import Instance, Intervention
from headway.domain.spark_work import outliving
from headway.domain.states import TERMINAL, Phase, Role, RunState, TaskState, sources

LOCK_RUN = text("""
    SELECT id, dag_id, run_id, state, version_id, pinned
      FROM dag_run
     WHERE dag_id = :dag_id AND run_id = :run_id
       FOR NO KEY UPDATE
""")

LOCK_OVERDUE = text("""
    SELECT id, dag_id, run_id, state, version_id, pinned
      FROM dag_run
     WHERE state = 'running' AND deadline <= :now
       AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
       AND NOT id = ANY (CAST(:aside AS bigint[]))
       AND (CAST(:only AS bigint[]) IS NULL OR id = ANY (CAST(:only AS bigint[])))
     ORDER BY deadline, id
     LIMIT :limit
       FOR NO KEY UPDATE SKIP LOCKED
""")

# Queued and running ones are sought apart, as each have an index; together they would be sought
# among all that the DAG has ever had.
LOCK_SCHEDULED = text("""
    SELECT id, dag_id, run_id, state, version_id, pinned
      FROM dag_run
     WHERE id = ANY (ARRAY(
           SELECT id FROM dag_run
            WHERE dag_id = :dag_id AND run_type = 'scheduled' AND backfill_id IS NULL
              AND state = 'queued'
            UNION ALL
           SELECT id FROM dag_run
            WHERE dag_id = :dag_id AND run_type = 'scheduled' AND backfill_id IS NULL
              AND state = 'running'))
       AND state IN ('queued', 'running')
     ORDER BY id
       FOR NO KEY UPDATE
""")

LOCK_TASKS = text("""
    SELECT id, dag_run_id, task_id, map_index, state, started_at, ended_at
      FROM task_instance
     WHERE dag_run_id = ANY (:runs)
       AND (CAST(:tasks AS text[]) IS NULL OR task_id = ANY (:tasks))
       AND NOT state = ANY (:without)
     ORDER BY id
       FOR NO KEY UPDATE
""")

# Nobody moves an attempt without a lock on its task.
LIVE = text("""
    SELECT task_instance_id, phase,
           CASE WHEN phase = 'queued' OR stop_to IS NOT NULL THEN handle END AS handle
      FROM task_attempt
     WHERE task_instance_id = ANY (:ids) AND ended_at IS NULL
""")

BRING_FORWARD = text("""
    UPDATE dag_run SET run_after = :now
     WHERE dag_id = :dag_id AND run_id = :run_id AND state = 'queued' AND run_after > :now
""")

WITHDRAW = text("""
    UPDATE task_attempt
       SET phase = 'ended', ended_at = now(), outcome = 'cancelled',
           error = concat_ws(' ', 'Withdrawn before a worker began it.', CAST(:order AS text))
     WHERE task_instance_id = ANY (:ids) AND phase = 'queued'
""")

# One in the queue that minds what is left on a cluster stays there: whoever claims it ends that.
# Until its end the attempt's error says who has told it to stop.
STOP = text("""
    UPDATE task_attempt
       SET phase = CASE phase WHEN 'queued' THEN phase ELSE 'stopping' END, stop_to = :target,
           error = :order
     WHERE task_instance_id = ANY (:ids)
       AND (phase IN ('running', 'stopping') OR phase = 'queued' AND handle IS NOT NULL)
""")

RESTART = text("""
    UPDATE task_instance
       SET state = CASE state WHEN 'queued' THEN state ELSE 'restarting' END,
           failures = 0, losses = 0
     WHERE id = ANY (:ids)
       AND (state = ANY (:sources)
            OR state = 'queued'
               AND EXISTS (SELECT FROM task_attempt
                            WHERE task_instance_id = task_instance.id AND stop_to = 'none'
                              AND phase = 'queued'))
""")

MOVE = text("""
    UPDATE task_instance
       SET state = :target, ended_at = greatest(now(), started_at), retry_at = NULL, skips = '{}'
     WHERE id = ANY (:ids) AND state = ANY (:sources)
""")

# It goes with the version that its run has no more: when it ended stays as it was.
REMOVE = text("""
    UPDATE task_instance
       SET state = 'removed', ended_at = coalesce(ended_at, greatest(now(), started_at)),
           retry_at = NULL, skips = '{}'
     WHERE id = ANY (:ids) AND state = ANY (:sources)
""")

CLEAR = text("""
    UPDATE task_instance
       SET state = 'none', started_at = NULL, ended_at = NULL, retry_at = NULL,
           failures = 0, losses = 0, skips = '{}'
     WHERE id = ANY (:ids) AND state = ANY (:sources)
""")

# What is expanded anew goes on counting attempts where the highest has left off: the key of
# an attempt (DAG, run, task, map index, number) never comes twice.
COLLAPSE = text("""
    WITH dropped AS (
        DELETE FROM task_instance WHERE id = ANY (:dropped) RETURNING dag_run_id, task_id, attempt
    )
    UPDATE task_instance AS task
       SET map_index = -1,
           attempt = greatest(attempt, (SELECT max(dropped.attempt) FROM dropped
                                         WHERE (dropped.dag_run_id, dropped.task_id)
                                               = (task.dag_run_id, task.task_id)))
     WHERE id = ANY (:placeholders) AND state = 'none'
""")


_MOVING: Final = {
    TaskState.NONE: CLEAR,
    TaskState.RESTARTING: RESTART,
    TaskState.REMOVED: REMOVE,
}


@dataclass(frozen=True, slots=True)
class LockedRun:
    """A run that this transaction has locked."""

    id: int
    dag_id: str
    run_id: str
    state: RunState
    version_id: int
    pinned: bool


def lock_run(conn: Connection, dag_id: str, run_id: str) -> LockedRun | None:
    """Lock the run, waiting for whoever has it; None when there is none."""
    row = conn.execute(LOCK_RUN, {"dag_id": dag_id, "run_id": run_id}).one_or_none()
    return None if row is None else locked(row)


def lock_overdue(
    conn: Connection, now: datetime, limit: int, scope: Scope, choice: KeyFilter[int] = ANY_RUN
) -> list[LockedRun]:
    """Lock up to `limit` runs whose deadline is past, but those that another transaction has."""
    parameters = {"now": now, "limit": limit, **scope.parameters(), **choice.parameters()}
    return [locked(row) for row in conn.execute(LOCK_OVERDUE, parameters)]


def lock_scheduled(conn: Connection, dag_id: str) -> list[LockedRun]:
    """Lock the runs of the DAG's schedule that have not ended, waiting for whoever has them.

    Not those that a backfill runs again.
    """
    return [locked(row) for row in conn.execute(LOCK_SCHEDULED, {"dag_id": dag_id})]


def bring_forward(conn: Connection, dag_id: str, run_id: str, now: datetime) -> None:
    """Let a queued run start now that would wait for its date."""
    conn.execute(BRING_FORWARD, {"dag_id": dag_id, "run_id": run_id, "now": now})


def lock_instances(
    conn: Connection, runs: Sequence[LockedRun], tasks: Collection[str] | None = None
) -> list[Instance]:
    """Lock the instances of these tasks, or of all, in locked runs."""
    return _lock(conn, runs, tasks, frozenset())[1]


def lock_unfinished(
    conn: Connection, runs: Sequence[LockedRun], tasks: Collection[str] | None = None
) -> dict[int, list[Instance]]:
    """Lock the instances of locked runs, by run, that have not ended."""
    return _by_run(runs, *_lock(conn, runs, tasks, TERMINAL))


def lock_all(
    conn: Connection, runs: Sequence[LockedRun], tasks: Collection[str] | None = None
) -> dict[int, list[Instance]]:
    """Lock the instances of these tasks, or of all, in locked runs, by run."""
    return _by_run(runs, *_lock(conn, runs, tasks, frozenset()))


def _by_run(
    runs: Sequence[LockedRun], owners: Sequence[int], instances: Sequence[Instance]
) -> dict[int, list[Instance]]:
    found: dict[int, list[Instance]] = {run.id: [] for run in runs}
    for owner, instance in zip(owners, instances, strict=True):
        found[owner].append(instance)
    return found


def locked(row: Row[Any]) -> LockedRun:
    """Return the run of a row that was locked."""
    return LockedRun(
        row.id, row.dag_id, row.run_id, RunState(row.state), row.version_id, row.pinned
    )


def _lock(
    conn: Connection,
    runs: Sequence[LockedRun],
    tasks: Collection[str] | None,
    without: Collection[TaskState],
) -> tuple[list[int], list[Instance]]:
    wanted = None if tasks is None else sorted(tasks)
    parameters = {"runs": [run.id for run in runs], "tasks": wanted, "without": sorted(without)}
    rows = conn.execute(LOCK_TASKS, parameters).all()
    live = conn.execute(LIVE, {"ids": [row.id for row in rows]})
    found = {row.task_instance_id: (Phase(row.phase), outliving(row.handle)) for row in live}
    return [row.dag_run_id for row in rows], [
        Instance(
            row.id,
            row.task_id,
            row.map_index,
            TaskState(row.state),
            phase,
            row.started_at,
            row.ended_at,
            left is not None,
        )
        for row in rows
        for phase, left in [found.get(row.id, (None, None))]
    ]


def write(
    conn: Connection,
    what: Intervention,
    role: Role,
    author: tuple[str, str, str | None] | None = None,
) -> None:
    """Carry out what was decided about locked task instances, as `role` may.

    Of attempts that end for it, the error names the `author`: who, by what action, and why.
    """
    order = None
    if author is not None:
        who, action, why = author
        order = f"The order came from {who} ({action}){': ' + why if why else '.'}"
    if what.withdrawn:
        conn.execute(WITHDRAW, {"ids": list(what.withdrawn), "order": order})
    for target, ids in what.stops.items():
        conn.execute(STOP, {"ids": list(ids), "target": str(target), "order": order})
        if target is TaskState.NONE:
            _move(conn, TaskState.RESTARTING, ids, role)
    for target, ids in what.moves.items():
        _move(conn, target, ids, role)
    if what.placeholders:
        parameters = {"dropped": list(what.dropped), "placeholders": list(what.placeholders)}
        conn.execute(COLLAPSE, parameters)


def _move(conn: Connection, target: TaskState, ids: Sequence[int], role: Role) -> None:
    statement = _MOVING.get(target, MOVE)
    parameters = {"ids": list(ids), "sources": sources(target, role), "target": str(target)}
    conn.execute(statement, parameters)
