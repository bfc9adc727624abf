"""SQL on how runs end, or do not, by a user's wish: end, go on, start again, delete."""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from headway.domain.states import RUN_MOVES, Role, RunState

# It has no deadline any more: a run that is to end is never timed out.
END_AS = text("""
    UPDATE dag_run SET end_as = :state, timed_out = :timed_out, deadline = NULL
     WHERE id = ANY (:runs) AND state = 'running'
""")

GO_ON = text("""
    UPDATE dag_run SET end_as = NULL, timed_out = false WHERE id = :run AND state = 'running'
""")

START_AGAIN = text("""
    UPDATE dag_run
       SET state = 'queued', started_at = NULL, ended_at = NULL, deadline = NULL, end_as = NULL,
           timed_out = false
     WHERE id = ANY (:runs) AND state = ANY (:sources)
""")

END = text("""
    UPDATE dag_run
       SET state = :state, started_at = coalesce(started_at, now()),
           ended_at = greatest(now(), started_at),
           deadline = NULL, end_as = NULL
     WHERE id = :run AND state = ANY (:sources)
""")

# What a backfill that is over had run again is a run of the schedule as before.
LEAVE_BACKFILL = text("""
    WITH its AS (
        SELECT run.id, run.backfill_id
          FROM dag_run AS run
          JOIN backfill ON backfill.id = run.backfill_id
         WHERE run.id = :run AND run.run_type <> 'backfill'
           AND (backfill.cancelled_at IS NOT NULL
                OR NOT EXISTS (SELECT FROM dag_run AS other
                                WHERE other.backfill_id = backfill.id
                                  AND other.state IN ('queued', 'running')))
    ), gone AS (
        UPDATE dag_run SET backfill_id = NULL FROM its WHERE dag_run.id = its.id
    ), moved AS (
        UPDATE task_instance AS task SET priority_class = 0 FROM its WHERE task.dag_run_id = its.id
    )
    UPDATE backfill SET planned = planned - 1 FROM its WHERE backfill.id = its.backfill_id
""")

REVIVE_BACKFILL = text("""
    UPDATE backfill SET cancelled_at = NULL
     WHERE id = (SELECT backfill_id FROM dag_run WHERE id = :run AND run_type = 'backfill')
""")

# A task with depends_on_past may wait for its like in the run that is the one before.
FOLLOWING = text("""
    SELECT following.id
      FROM dag_run AS gone
      JOIN dag_run AS following ON following.dag_id = gone.dag_id
     WHERE gone.id = :run AND following.state IN ('queued', 'running')
       AND (following.id > gone.id OR following.backfill_id = gone.backfill_id)
       AND (following.schedule_date, following.id) > (gone.schedule_date, gone.id)
       AND NOT EXISTS (
           SELECT FROM dag_run AS nearer
            WHERE nearer.dag_id = gone.dag_id AND nearer.run_type <> 'manual'
              AND (nearer.id < following.id OR nearer.backfill_id = following.backfill_id)
              AND (nearer.schedule_date, nearer.id) > (gone.schedule_date, gone.id)
              AND (nearer.schedule_date, nearer.id) < (following.schedule_date, following.id))
     ORDER BY following.id
""")

# Before the run is locked: the backfill comes first in the order of locks.
LOCK_BACKFILL = text("""
    SELECT backfill.id
      FROM dag_run AS run
      JOIN backfill ON backfill.id = run.backfill_id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
       FOR NO KEY UPDATE OF backfill
""")

# Nothing tells a scheduler that the interval of a run which is gone is due, but this.
FREE_INTERVAL = text("""
    UPDATE dag SET next_run_after = least(next_run_after, run.run_after)
      FROM dag_run AS run
     WHERE run.id = :run AND run.run_type <> 'manual' AND dag.dag_id = run.dag_id
""")

DELETE_LEASES = text("""
    DELETE FROM lease
     USING task_instance AS task
     WHERE lease.task_instance_id = task.id AND task.dag_run_id = :run
""")

DELETE_WAKES = text("DELETE FROM wake WHERE dag_run_id = :run")

# Of the backfill that it is in by now: one may have taken it before it was locked.
DELETE = text("""
    WITH gone AS (
        DELETE FROM dag_run WHERE id = :run RETURNING backfill_id
    )
    UPDATE backfill SET planned = planned - 1
      FROM gone
     WHERE backfill.id = gone.backfill_id
""")


def end_as(
    conn: Connection, runs: Sequence[int], state: RunState, *, timed_out: bool = False
) -> None:
    """Have locked running runs end in that state, once none of their tasks is live."""
    conn.execute(END_AS, {"runs": list(runs), "state": str(state), "timed_out": timed_out})


def go_on(conn: Connection, run: int) -> None:
    """Take back that a locked running run is to end."""
    conn.execute(GO_ON, {"run": run})


def start_again(conn: Connection, runs: Sequence[int], role: Role = Role.USER) -> None:
    """Queue locked runs that have ended; they start when their DAG has room for them."""
    conn.execute(START_AGAIN, {"runs": list(runs), "sources": _sources(RunState.QUEUED, role)})


def step_out(conn: Connection, run: int) -> None:
    """Take a locked run that is to go on out of its backfill, if that is over or cancelled.

    A run that a backfill has created stays in it, and the backfill goes on with it.
    """
    conn.execute(LEAVE_BACKFILL, {"run": run})
    conn.execute(REVIVE_BACKFILL, {"run": run})


def end(conn: Connection, run: int, state: RunState, role: Role = Role.USER) -> None:
    """End at once a locked run of which nothing is live, as `role` may."""
    conn.execute(END, {"run": run, "state": str(state), "sources": _sources(state, role)})


def following(conn: Connection, run: int) -> list[int]:
    """Return the unfinished runs of the DAG for which this one is the run before."""
    return list(conn.scalars(FOLLOWING, {"run": run}))


def lock_backfill(conn: Connection, dag_id: str, run_id: str) -> None:
    """Lock the backfill that the run belongs to, if it does, before the run is locked.

    While that is waited for, a later one may take the run: then that is locked too.
    """
    locked: int | None = None
    while (its := conn.scalar(LOCK_BACKFILL, {"dag_id": dag_id, "run_id": run_id})) != locked:
        locked = its


def delete(conn: Connection, run: int) -> None:
    """Delete a locked run with its task instances, attempts and XComs, and its backfill's claim.

    Its DAG, which is locked too, is planned again: the interval may be due now.
    """
    conn.execute(FREE_INTERVAL, {"run": run})
    conn.execute(DELETE_LEASES, {"run": run})
    conn.execute(DELETE_WAKES, {"run": run})
    conn.execute(DELETE, {"run": run})


def _sources(target: RunState, role: Role = Role.USER) -> list[str]:
    return sorted(state for state, moves in RUN_MOVES.items() if role in moves.get(target, ()))
