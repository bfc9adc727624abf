"""SQL that judges the deadlines that are over."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, text

from headway.db.core.processes import Identity
from headway.decide.scheduling.deadlines import Judgement, OpenDeadline, of_task
from headway.domain.states import DEADLINE_MOVES, TERMINAL, DeadlineState

ANY_DUE = text("""
    SELECT EXISTS (SELECT FROM deadline WHERE state = 'open' AND check_at <= :now)
""")


# Its run is locked as well: what is ending that now is seen when it is judged, in a later pass.
LOCK_DUE = text("""
    SELECT it.id
      FROM deadline AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
     WHERE it.state = 'open' AND it.check_at <= :now
     ORDER BY it.check_at, it.id
     LIMIT :limit
       FOR NO KEY UPDATE OF run, it SKIP LOCKED
""")


DUE = text("""
    SELECT it.id, it.dag_run_id, run.dag_id, run.run_id, it.task_id, it.name,
           its.version_id IS NOT NULL AS known, coalesce(its.seconds, 0) AS seconds, it.due_at,
           run.started_at, run.ended_at
      FROM deadline AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
      LEFT JOIN dag_deadline AS its
        ON its.version_id = run.version_id AND its.name = it.name
       AND coalesce(its.task_id, '') = coalesce(it.task_id, '')
     WHERE it.id = ANY (:ids) AND it.state = 'open' AND it.check_at <= :now
     ORDER BY it.id
""")


ENDED_TASKS = text("""
    SELECT dag_run_id, task_id, max(ended_at) AS ended_at
      FROM task_instance
     WHERE dag_run_id = ANY (:runs) AND task_id = ANY (:tasks)
     GROUP BY dag_run_id, task_id
    HAVING bool_and(state = ANY (:terminal))
""")


WRITE = text("""
    UPDATE deadline
       SET state = it.state, due_at = it.due_at, check_at = it.check_at,
           judged_at = CASE WHEN it.state <> 'open' THEN now() END, process_id = :process
      FROM unnest(CAST(:ids AS bigint[]), CAST(:states AS text[]),
                  CAST(:dues AS timestamptz[]), CAST(:checks AS timestamptz[]))
           AS it (id, state, due_at, check_at)
     WHERE deadline.id = it.id AND deadline.state = ANY (:sources)
 RETURNING deadline.id
""")


def any_due(conn: Connection, now: datetime) -> bool:
    """Return whether a deadline is to be looked at."""
    return bool(conn.scalar(ANY_DUE, {"now": now}))


def lock_due(conn: Connection, now: datetime, limit: int) -> list[OpenDeadline]:
    """Lock deadlines that are to be looked at, but those that another transaction has."""
    ids = list(conn.scalars(LOCK_DUE, {"now": now, "limit": limit}))
    if not ids:
        return []
    found = [OpenDeadline(**row) for row in conn.execute(DUE, {"ids": ids, "now": now}).mappings()]
    of_tasks = [deadline for deadline in found if deadline.task_id is not None]
    if not of_tasks:
        return found
    rows = conn.execute(
        ENDED_TASKS,
        {
            "runs": sorted({deadline.dag_run_id for deadline in of_tasks}),
            "tasks": sorted(
                {deadline.task_id for deadline in of_tasks if deadline.task_id is not None}
            ),
            "terminal": sorted(TERMINAL),
        },
    )
    ends = {(row.dag_run_id, row.task_id): row.ended_at for row in rows}
    return [
        deadline
        if deadline.task_id is None
        else of_task(deadline, ends.get((deadline.dag_run_id, deadline.task_id)))
        for deadline in found
    ]


def write(conn: Connection, me: Identity, judged: Sequence[Judgement]) -> list[Judgement]:
    """Write what was decided of locked deadlines; return those that are no longer open by it."""
    written = set(
        conn.scalars(
            WRITE,
            {
                "ids": [judgement.of.id for judgement in judged],
                "states": [str(judgement.state) for judgement in judged],
                "dues": [judgement.due_at for judgement in judged],
                "checks": [judgement.check_at for judgement in judged],
                "process": me.id,
                "sources": [str(state) for state, moves in DEADLINE_MOVES.items() if moves],
            },
        )
    )
    ended = [judgement for judgement in judged if judgement.state is not DeadlineState.OPEN]
    return [judgement for judgement in ended if judgement.of.id in written]
