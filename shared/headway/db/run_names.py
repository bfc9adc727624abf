"""SQL on which runs of a DAG there are, by their names."""

from collections.abc import Collection

from sqlalchemy import Connection, text

KNOWN = text("SELECT EXISTS (SELECT FROM dag_run WHERE dag_id = :dag_id)")

PRESENT = text("""
    SELECT run_id FROM dag_run WHERE dag_id = :dag_id AND run_id = ANY (:run_ids)
""")


def present(conn: Connection, dag_id: str, run_ids: Collection[str]) -> Collection[str]:
    """Return which of these runs are there; all of them if no run of the DAG is.

    A database without any run of the DAG is another one, or new: it says nothing of these runs.
    """
    if not conn.scalar(KNOWN, {"dag_id": dag_id}):
        return run_ids
    return set(conn.scalars(PRESENT, {"dag_id": dag_id, "run_ids": list(run_ids)}))
