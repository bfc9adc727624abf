"""SQL on runs that wait to be pinned to the version of a parse of their DAG file."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from headway.db.core import run_deadlines
from headway.db.core.prepared import hot

# A DAG that is paused, or gone, starts no runs: they are parsed for when it may again.
WANTED = hot("""
    SELECT dag.relative_path, array_agg(run.id ORDER BY run.id) AS runs,
           min(run.parse_requested_at) AS requested_at
      FROM dag_run AS run
      JOIN dag USING (dag_id)
     WHERE run.state = 'queued' AND NOT run.pinned AND run.parse_requested_at IS NOT NULL
       AND dag.bundle = :bundle AND dag.active AND NOT dag.paused
     GROUP BY dag.relative_path
     ORDER BY requested_at, dag.relative_path
""")


# In a statement of its own: which version is in force is read when the lock was granted.
LOCK_DAGS = text("""
    SELECT dag_id
      FROM dag
     WHERE dag_id = ANY (ARRAY(SELECT dag_id FROM dag_run WHERE id = ANY (:ids)))
     ORDER BY dag_id
       FOR NO KEY UPDATE
""")


PIN = text("""
    WITH waiting AS MATERIALIZED (
        SELECT id
          FROM dag_run
         WHERE id = ANY (:ids) AND state = 'queued' AND NOT pinned
         ORDER BY id
           FOR NO KEY UPDATE
    ), pinned AS (
        UPDATE dag_run AS run
           SET version_id = dag.version_id, pinned = true
          FROM waiting, dag
         WHERE run.id = waiting.id AND dag.dag_id = run.dag_id AND dag.active AND NOT dag.paused
     RETURNING run.dag_id, run.run_id, run.version_id
    ), told AS (
        INSERT INTO event (actor, action, dag_id, run_id, details)
        SELECT :actor, 'run.not_reparsed', pinned.dag_id, pinned.run_id,
               json_build_object('problem', CAST(:problem AS text), 'version', version.number)
          FROM pinned
          JOIN dag_version AS version ON version.id = pinned.version_id
         WHERE CAST(:problem AS text) IS NOT NULL
    )
    SELECT count(*) FROM pinned
""")


@dataclass(frozen=True, slots=True)
class WantedParse:
    """A DAG file to parse for these runs, the first of which has been waiting since then."""

    relative_path: str
    run_ids: tuple[int, ...]
    requested_at: datetime


def wanted(conn: Connection, bundle: str) -> list[WantedParse]:
    """Return the files of a bundle for whose parse runs wait, and these; the longest ones first."""
    rows = conn.execute(WANTED, {"bundle": bundle})
    return [WantedParse(row.relative_path, tuple(row.runs), row.requested_at) for row in rows]


def pin(conn: Connection, run_ids: Sequence[int], actor: str, problem: str | None = None) -> int:
    """Pin runs to the version of their DAG in force, so that they may start; return how many.

    Call it in the transaction that stores a parse, with the runs that were wanted before that
    parse began.  With a `problem` for which there was none, the journal says so of each run.
    A run that was pinned or ended meanwhile is left alone, and so is one whose DAG is paused,
    or in no file any more: it goes on waiting, for the parse that follows when it may start.
    """
    if not run_ids:
        return 0
    conn.execute(LOCK_DAGS, {"ids": list(run_ids)})
    parameters = {"ids": list(run_ids), "actor": actor, "problem": problem}
    pinned = int(conn.execute(PIN, parameters).scalar_one())
    if pinned:
        run_deadlines.enter(conn, run_ids)  # of the version that they have now
    return pinned
