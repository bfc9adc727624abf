"""SQL on how runs end, or do not, by a user's wish: end, go on, start again, delete."""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from headway.domain.states import RUN_MOVES, Role, RunState

# It has no deadline any more: a run that is to end is never timed out.
END_AS = text("""
    UPDATE dag_run SET end_as = :state, deadline = NULL WHERE id = ANY (:runs) AND state = 'running'
""")

GO_ON = text("UPDATE dag_run SET end_as = NULL WHERE id = :run AND state = 'running'")

START_AGAIN = text("""
    UPDATE dag_run
       SET state = 'queued', started_at = NULL, ended_at = NULL, deadline = NULL, end_as = NULL
     WHERE id = :run AND state = ANY (:sources)
""")

END = text("""
    UPDATE dag_run
       SET state = :state, started_at = coalesce(started_at, now()), ended_at = now(),
           deadline = NULL, end_as = NULL
     WHERE id = :run AND state = ANY (:sources)
""")

# A task with depends_on_past may wait for its like in the run that is the one before.
FOLLOWING = text("""
    SELECT following.id
      FROM dag_run AS gone
      JOIN dag_run AS following ON following.dag_id = gone.dag_id
     WHERE gone.id = :run AND following.state IN ('queued', 'running')
       AND following.id > gone.id
       AND (following.schedule_date, following.id) > (gone.schedule_date, gone.id)
       AND NOT EXISTS (
           SELECT FROM dag_run AS nearer
            WHERE nearer.dag_id = gone.dag_id AND nearer.id < following.id
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

LEAVE_BACKFILL = text("UPDATE backfill SET planned = planned - 1 WHERE id = :backfill")

DELETE_LEASES = text("""
    DELETE FROM lease
     USING task_instance AS task
     WHERE lease.task_instance_id = task.id AND task.dag_run_id = :run
""")

DELETE_WAKES = text("DELETE FROM wake WHERE dag_run_id = :run")

DELETE = text("DELETE FROM dag_run WHERE id = :run")


def end_as(conn: Connection, runs: Sequence[int], state: RunState) -> None:
    """Have locked running runs end in that state, once none of their tasks is live."""
    conn.execute(END_AS, {"runs": list(runs), "state": str(state)})


def go_on(conn: Connection, run: int) -> None:
    """Take back that a locked running run is to end."""
    conn.execute(GO_ON, {"run": run})


def start_again(conn: Connection, run: int) -> None:
    """Queue a locked run that has ended; it starts when its DAG has room for it."""
    conn.execute(START_AGAIN, {"run": run, "sources": _sources(RunState.QUEUED)})


def end(conn: Connection, run: int, state: RunState) -> None:
    """End at once a locked run of which nothing is live."""
    conn.execute(END, {"run": run, "state": str(state), "sources": _sources(state)})


def following(conn: Connection, run: int) -> list[int]:
    """Return the unfinished runs of the DAG for which this one is the run before."""
    return list(conn.scalars(FOLLOWING, {"run": run}))


def lock_backfill(conn: Connection, dag_id: str, run_id: str) -> int | None:
    """Lock the backfill that the run belongs to, if it does, before the run is locked."""
    backfill: int | None = conn.scalar(LOCK_BACKFILL, {"dag_id": dag_id, "run_id": run_id})
    return backfill


def delete(conn: Connection, run: int, backfill: int | None) -> None:
    """Delete a locked run with its task instances, attempts and XComs, and its backfill's claim."""
    conn.execute(DELETE_LEASES, {"run": run})
    conn.execute(DELETE_WAKES, {"run": run})
    conn.execute(DELETE, {"run": run})
    if backfill is not None:
        conn.execute(LEAVE_BACKFILL, {"backfill": backfill})


def _sources(target: RunState) -> list[str]:
    return sorted(state for state, moves in RUN_MOVES.items() if Role.USER in moves.get(target, ()))
