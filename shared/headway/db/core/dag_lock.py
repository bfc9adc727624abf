"""The lock of one DAG, for those who may wait for it."""

from sqlalchemy import Connection, text

LOCK_DAG = text("SELECT FROM dag WHERE dag_id = :dag_id FOR NO KEY UPDATE")


def lock_dag(conn: Connection, dag_id: str) -> None:
    """Lock a DAG, after its backfills and before any of its runs; wait while another has it."""
    conn.execute(LOCK_DAG, {"dag_id": dag_id})
