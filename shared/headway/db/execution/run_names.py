"""SQL on which runs there are, by their names."""

from collections.abc import Collection

from sqlalchemy import Connection, text

# Each name is two look-ups in an index, whatever the planner expects.
PRESENT = text("""
    SELECT it.dag_id, it.run_id
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:run_ids AS text[])) AS it (dag_id, run_id)
     WHERE (SELECT run.run_id FROM dag_run AS run
             WHERE run.dag_id = it.dag_id AND run.run_id = it.run_id) IS NOT NULL
        OR (SELECT run.dag_id FROM dag_run AS run
             WHERE run.dag_id = it.dag_id
             LIMIT 1) IS NULL
""")


def present(conn: Connection, runs: Collection[tuple[str, str]]) -> Collection[tuple[str, str]]:
    """Return which of these runs are there, by DAG and run id, and those of unknown DAGs.

    A database without any run of a DAG is another one, or new: it says nothing of its runs.
    """
    pairs = list(runs)
    names = {"dag_ids": [dag for dag, _ in pairs], "run_ids": [run for _, run in pairs]}
    return {(row.dag_id, row.run_id) for row in conn.execute(PRESENT, names)}
