"""SQL on deadlines: entered with their runs, judged when they are over."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import Connection, text

from headway.db.processes import Identity
from headway.decide.judge import PATIENCE, SHORTEST_LOOK, Judgement, OpenDeadline, of_task
from headway.domain.spec import DagSpec
from headway.domain.states import DEADLINE_MOVES, TERMINAL, DeadlineState

ADD_OF_VERSIONS = text("""
    INSERT INTO dag_deadline (version_id, task_id, name, reference, seconds, at, backfills)
    SELECT it.*
      FROM unnest(CAST(:version_ids AS bigint[]), CAST(:task_ids AS text[]),
                  CAST(:names AS text[]), CAST(:refs AS text[]),
                  CAST(:seconds AS float8[]), CAST(:dates AS timestamptz[]),
                  CAST(:backfills AS bool[])) AS it
""")

# A run of a schedule is due at its date, any other one when it is created, unless its date is
# to come.  One counted from the start cannot be over before so many seconds from now.
ENTER = text("""
    INSERT INTO deadline (dag_run_id, task_id, name, due_at, check_at)
    SELECT run.id, its.task_id, its.name, due.at,
           coalesce(due.at + make_interval(secs => :patience),
                    now() + make_interval(secs => greatest(its.seconds, :shortest)))
      FROM dag_run AS run
      JOIN dag_deadline AS its ON its.version_id = run.version_id
     CROSS JOIN LATERAL (
           SELECT make_interval(secs => its.seconds) + CASE its.reference
                  WHEN 'due' THEN
                      CASE WHEN run.run_type = 'scheduled' AND run.backfill_id IS NULL
                           THEN run.schedule_date
                           ELSE greatest(run.schedule_date, run.created_at) END
                  WHEN 'queued' THEN run.created_at
                  WHEN 'fixed' THEN its.at END AS at) AS due
     WHERE run.id = ANY (:runs) AND run.state = 'queued'
       AND (its.backfills OR run.backfill_id IS NULL)
       AND NOT (its.reference = 'fixed' AND due.at < run.created_at)
     ORDER BY run.id
        ON CONFLICT DO NOTHING
""")

BY_NAME = text("""
    SELECT run.id
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:run_ids AS text[])) AS it (dag_id, run_id)
      JOIN dag_run AS run ON run.dag_id = it.dag_id AND run.run_id = it.run_id
""")

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


def add_of_versions(conn: Connection, specs: Iterable[tuple[int, DagSpec]]) -> None:
    """Store the deadlines of new versions as rows; nothing is done where there are none."""
    found = [
        (version, task_id, its)
        for version, spec in specs
        for task_id, given in [
            (None, spec.deadlines),
            *((it.task_id, it.slas) for it in spec.tasks),
        ]
        for its in given
    ]
    if not found:
        return
    conn.execute(
        ADD_OF_VERSIONS,
        {
            "version_ids": [version for version, _, _ in found],
            "task_ids": [task_id for _, task_id, _ in found],
            "names": [its.name for _, _, its in found],
            "refs": [str(its.reference) for _, _, its in found],
            "seconds": [its.seconds for _, _, its in found],
            "dates": [its.at for _, _, its in found],
            "backfills": [its.backfills for _, _, its in found],
        },
    )


def enter(conn: Connection, runs: Sequence[int]) -> None:
    """Enter the deadlines of queued runs, as their versions have them; those there are stay."""
    if runs:
        limits = {"patience": PATIENCE.total_seconds(), "shortest": SHORTEST_LOOK}
        conn.execute(ENTER, {"runs": list(runs), **limits})


def enter_named(conn: Connection, names: Sequence[tuple[str, str]]) -> None:
    """Enter the deadlines of queued runs by DAG and run id, in the transaction that creates them.

    Call it only for DAGs that have some: others cost nothing.
    """
    if names:
        parameters = {"dag_ids": [it for it, _ in names], "run_ids": [it for _, it in names]}
        enter(conn, list(conn.scalars(BY_NAME, parameters)))


def any_due(conn: Connection, now: datetime) -> bool:
    """Return whether a deadline is to be looked at."""
    return bool(conn.scalar(ANY_DUE, {"now": now}))


def lock_due(conn: Connection, now: datetime, limit: int) -> list[OpenDeadline]:
    """Lock deadlines that are to be looked at, but those that another transaction has."""
    ids = list(conn.scalars(LOCK_DUE, {"now": now, "limit": limit}))
    if not ids:
        return []
    found = [OpenDeadline(**row) for row in conn.execute(DUE, {"ids": ids, "now": now}).mappings()]
    of_tasks = [it for it in found if it.task_id is not None]
    if not of_tasks:
        return found
    rows = conn.execute(
        ENDED_TASKS,
        {
            "runs": sorted({it.dag_run_id for it in of_tasks}),
            "tasks": sorted({it.task_id for it in of_tasks if it.task_id is not None}),
            "terminal": sorted(TERMINAL),
        },
    )
    ends = {(row.dag_run_id, row.task_id): row.ended_at for row in rows}
    return [
        it if it.task_id is None else of_task(it, ends.get((it.dag_run_id, it.task_id)))
        for it in found
    ]


def write(conn: Connection, me: Identity, judged: Sequence[Judgement]) -> list[Judgement]:
    """Write what was decided of locked deadlines; return those that are no longer open by it."""
    written = set(
        conn.scalars(
            WRITE,
            {
                "ids": [it.of.id for it in judged],
                "states": [str(it.state) for it in judged],
                "dues": [it.due_at for it in judged],
                "checks": [it.check_at for it in judged],
                "process": me.id,
                "sources": [str(it) for it, moves in DEADLINE_MOVES.items() if moves],
            },
        )
    )
    ended = [it for it in judged if it.state is not DeadlineState.OPEN]
    return [it for it in ended if it.of.id in written]
