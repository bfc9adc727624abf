"""SQL on what is old enough to go: found in the order of an index, removed by a function.

A look reads a bounded number of rows from where the last one has stopped.  `expiry_functions`
has the function that removes, and the rights to it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from json import dumps

from sqlalchemy import Connection, Row, text

from headway.decide.scheduling.expire import Candidate, RetentionCursor
from headway.domain.arguments import JsonValue
from headway.domain.retention import KeepReason, RetainedKind

RUNS = text("""
    WITH old AS MATERIALIZED (
        SELECT id, ended_at AS at
          FROM dag_run
         WHERE ended_at < now() - make_interval(secs => :seconds)
           AND (ended_at, id) > (coalesce(CAST(:at AS timestamptz), '-infinity'), :id)
           AND (CAST(:dag_id AS text) IS NULL OR dag_id = :dag_id)
         ORDER BY ended_at, id
         LIMIT :limit
    )
    SELECT old.id, old.at, its.instances AS size, its.keep_reason, true AS is_old
      FROM old
      JOIN headway_run_keep_reasons(ARRAY(SELECT id FROM old)) AS its ON its.id = old.id
     ORDER BY old.at, old.id
""")

# In the order of their numbers, which is that of their times but for transactions side by side:
# the first one that is young ends the look.
EVENTS = text("""
    SELECT id, at, 1 AS size,
           CASE WHEN dag_id IS DISTINCT FROM coalesce(CAST(:dag_id AS text), dag_id)
                THEN 'other' END AS keep_reason,
           at < now() - make_interval(secs => :seconds) AS is_old
      FROM event
     WHERE id > :id
     ORDER BY id
     LIMIT :limit
""")

CALLBACKS = text("""
    WITH old AS MATERIALIZED (
        SELECT id, dag_run_id, created_at, ended_at
          FROM callback
         WHERE id > :id
         ORDER BY id
         LIMIT :limit
    )
    SELECT old.id, coalesce(old.ended_at, old.created_at) AS at, 1 AS size,
           CASE WHEN CAST(:dag_id AS text) <> run.dag_id THEN 'other'
                WHEN old.ended_at IS NULL THEN 'unfinished'
                WHEN old.ended_at >= now() - make_interval(secs => :seconds)
                THEN 'other' END AS keep_reason,
           old.created_at < now() - make_interval(secs => :seconds) AS is_old
      FROM old
      JOIN dag_run AS run ON run.id = old.dag_run_id
     ORDER BY old.id
""")

PROCESSES = text("""
    WITH old AS MATERIALIZED (
        SELECT id, ended_at AS at
          FROM process
         WHERE id > :id AND ended_at < now() - make_interval(secs => :seconds)
         ORDER BY id
         LIMIT :limit
    )
    SELECT old.id, old.at, 1 AS size, its.keep_reason, true AS is_old
      FROM old
      JOIN headway_process_keep_reasons(ARRAY(SELECT id FROM old)) AS its ON its.id = old.id
     ORDER BY old.id
""")

# A run is removed as a whole, however many task instances it has.
BE_PATIENT = text("SET LOCAL statement_timeout = '10min'")

REMOVE = text("""
    SELECT headway_remove(CAST(:kind AS text), CAST(:actor AS text), CAST(:ids AS bigint[]),
                          CAST(:details AS json))
""")


def candidates(
    conn: Connection,
    kind: RetainedKind,
    seconds: float,
    place: RetentionCursor,
    limit: int,
    dag_id: str | None,
) -> list[Candidate]:
    """Return the first rows after that place that may be older than so many seconds."""
    where = {"seconds": seconds, "id": place.id, "limit": limit, "dag_id": dag_id}
    match kind:
        case RetainedKind.RUNS:
            rows = conn.execute(RUNS, {**where, "at": place.at}).all()
        case RetainedKind.EVENTS:
            rows = conn.execute(EVENTS, where).all()
        case RetainedKind.CALLBACKS:
            rows = conn.execute(CALLBACKS, where).all()
        case RetainedKind.PROCESSES:
            rows = conn.execute(PROCESSES, {**where, "dag_id": None}).all()
    return [_candidate(row) for row in rows]


def remove(
    conn: Connection,
    kind: RetainedKind,
    actor: str,
    ids: Sequence[int],
    details: Mapping[str, JsonValue],
) -> int:
    """Remove these rows, but for those that another transaction has or that are needed.

    Return how many were removed.  The journal gets one event of it.
    """
    parameters = {
        "kind": str(kind),
        "actor": actor,
        "ids": list(ids),
        "details": dumps(dict(details)),
    }
    conn.execute(BE_PATIENT)
    return int(conn.scalar(REMOVE, parameters) or 0)


def _candidate(row: Row[tuple[int, datetime, int, str | None, bool]]) -> Candidate:
    keep_reason = None if row.keep_reason is None else KeepReason(row.keep_reason)
    return Candidate(row.id, row.at, row.size, keep_reason, row.is_old)
