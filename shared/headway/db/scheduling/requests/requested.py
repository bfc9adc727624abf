"""SQL on requests for runs: lock one, answer it."""

from sqlalchemy import Connection, text

from headway.db.scheduling.scope import ANY_RUN, KeyFilter
from headway.decide.scheduling.requested import RunRequest
from headway.domain.dag.run_request import RunAnswer, RunWanted

LOCK = text("""
    SELECT id, task_instance_id, attempt, number, dag_id, run_id, logical_date, conf, reset,
           unless_paused, waits, note, created_at
      FROM run_request
     WHERE answered_at IS NULL
       AND NOT id = ANY (CAST(:aside AS bigint[]))
       AND (CAST(:only AS bigint[]) IS NULL OR id = ANY (CAST(:only AS bigint[])))
     ORDER BY id
     LIMIT 1
       FOR NO KEY UPDATE SKIP LOCKED
""")

# Who still answers a request of an earlier attempt is waited for: what it has created is seen by
# the statement after this one.
LOCK_EARLIER = text("""
    SELECT id
      FROM run_request
     WHERE task_instance_id = :task AND attempt < :attempt
     ORDER BY id
       FOR SHARE
""")

ANSWER = text("""
    UPDATE run_request
       SET answer = :answer, answer_run_id = :run_id, reason = :reason, answered_at = now()
     WHERE id = :id AND answered_at IS NULL
""")

NAMES = text("SELECT dag_id FROM run_request WHERE id = :id")


def lock_next(conn: Connection, choice: KeyFilter[int] = ANY_RUN) -> RunRequest | None:
    """Lock the first request without an answer, but those that another scheduler has."""
    row = conn.execute(LOCK, choice.parameters()).one_or_none()
    if row is None:
        return None
    if row.attempt > 1:
        earlier = {"task": row.task_instance_id, "attempt": row.attempt}
        conn.execute(LOCK_EARLIER, earlier).all()
    wanted = RunWanted(
        dag_id=row.dag_id,
        run_id=row.run_id,
        logical_date=row.logical_date,
        conf=row.conf,
        reset=row.reset,
        unless_paused=row.unless_paused,
        waits=row.waits,
        note=row.note,
    )
    return RunRequest(row.id, wanted, row.created_at)


def answer(conn: Connection, request: int, given: RunAnswer) -> None:
    """Write the answer to a locked request."""
    conn.execute(
        ANSWER,
        {
            "id": request,
            "answer": str(given.answer),
            "run_id": given.run_id,
            "reason": given.reason,
        },
    )


def names(conn: Connection, request: int) -> tuple[str, None]:
    """Return the DAG of which a run is asked for."""
    dag_id: str = conn.execute(NAMES, {"id": request}).scalar_one()
    return dag_id, None
