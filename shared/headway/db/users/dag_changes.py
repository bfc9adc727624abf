"""SQL on what users do to a DAG: pause it, lock it for its removal, ask for a parse of its file."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

PAUSE = text("""
    UPDATE dag
       SET paused = :paused, planned_version_id = NULL,
           scheduled_since = CASE WHEN :paused THEN scheduled_since ELSE now() END
     WHERE dag_id = :dag_id AND active
""")


def set_paused(conn: Connection, dag_id: str, *, paused: bool) -> bool:
    """Pause or unpause; False when there is no such DAG.  Its next run is computed anew."""
    return conn.execute(PAUSE, {"dag_id": dag_id, "paused": paused}).rowcount > 0


# Before the DAG's row, as a parser does that stores what the file defines.
LOCK_FILE = text("""
    SELECT FROM dag_file AS file
      JOIN dag USING (bundle, relative_path)
     WHERE dag.dag_id = :dag_id
       FOR NO KEY UPDATE OF file
""")


LOCK_DAG = text("""
    SELECT dag_id, bundle, relative_path, active FROM dag WHERE dag_id = :dag_id
       FOR NO KEY UPDATE
""")


REQUEST_PARSE = text("""
    UPDATE dag_file SET parse_requested = true
     WHERE bundle = :bundle AND relative_path = :relative_path
""")


@dataclass(frozen=True, slots=True)
class LockedDag:
    """A DAG that this transaction has locked, and the file that it is active in, or was."""

    dag_id: str
    bundle: str
    relative_path: str
    active: bool


def lock_dag(conn: Connection, dag_id: str) -> LockedDag | None:
    """Lock the DAG and its file, waiting for whoever has them; None when there is none."""
    conn.execute(LOCK_FILE, {"dag_id": dag_id})
    row = conn.execute(LOCK_DAG, {"dag_id": dag_id}).one_or_none()
    if row is None:
        return None
    return LockedDag(row.dag_id, row.bundle, row.relative_path, row.active)


def request_parse(conn: Connection, dag: LockedDag) -> bool:
    """Have the file of a DAG parsed soon, whether or not it has changed; False without the file.

    Tell parsers by `notices.PARSER` when that is committed.
    """
    where = {"bundle": dag.bundle, "relative_path": dag.relative_path}
    return conn.execute(REQUEST_PARSE, where).rowcount > 0
