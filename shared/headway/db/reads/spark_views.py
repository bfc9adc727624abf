"""SQL that shows what attempts do and cost in Spark."""

from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, text

PROGRESS = text("""
    SELECT task.task_id, task.map_index, it.attempt, work.progress, work.figures, work.updated_at
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN task_attempt AS it ON it.task_instance_id = task.id
      JOIN spark_work AS work ON work.task_instance_id = it.task_instance_id
                             AND work.attempt = it.attempt
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
     ORDER BY task.id, it.attempt
""")


# An attempt with a handle and without figures is one of which they are unknown.
COST = text("""
    SELECT run.dag_id, CASE WHEN :by_run THEN run.run_id END AS run_id,
           count(*) AS attempts,
           count(*) FILTER (WHERE work.figures IS NULL) AS unknown,
           sum(CAST(work.figures ->> 'tasks' AS bigint)) AS tasks,
           sum(CAST(work.figures ->> 'executor_run_ms' AS bigint)) AS executor_run_ms,
           sum(CAST(work.figures ->> 'executor_cpu_ms' AS bigint)) AS executor_cpu_ms,
           sum(CAST(work.figures ->> 'bytes_read' AS bigint)) AS bytes_read,
           sum(CAST(work.figures ->> 'rows_read' AS bigint)) AS rows_read,
           sum(CAST(work.figures ->> 'bytes_written' AS bigint)) AS bytes_written,
           sum(CAST(work.figures ->> 'rows_written' AS bigint)) AS rows_written,
           sum(CAST(work.figures ->> 'shuffle_read_bytes' AS bigint)) AS shuffle_read_bytes,
           sum(CAST(work.figures ->> 'shuffle_write_bytes' AS bigint)) AS shuffle_write_bytes,
           sum(CAST(work.figures ->> 'spilled_bytes' AS bigint)) AS spilled_bytes,
           max(CAST(work.figures ->> 'peak_memory_bytes' AS bigint)) AS peak_memory_bytes,
           max(CAST(work.figures ->> 'skew' AS float8)) AS skew
      FROM dag_run AS run
      JOIN task_instance AS task ON task.dag_run_id = run.id
      JOIN task_attempt AS it ON it.task_instance_id = task.id
      LEFT JOIN spark_work AS work ON work.task_instance_id = it.task_instance_id
                                  AND work.attempt = it.attempt
     WHERE it.handle IS NOT NULL AND it.ended_at IS NOT NULL
       AND (CAST(:dag_id AS text) IS NULL OR run.dag_id = :dag_id)
       AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
     GROUP BY 1, 2
     ORDER BY 1, 2
""")


def of_run(conn: Connection, dag_id: str, run_id: str) -> list[dict[str, Any]]:
    """Return what the attempts of a run do in Spark: progress and figures as plain data."""
    rows = conn.execute(PROGRESS, {"dag_id": dag_id, "run_id": run_id}).mappings()
    return [dict(row) for row in rows]


def cost(
    conn: Connection, dag_id: str | None, run_id: str | None, *, by_run: bool
) -> list[dict[str, Any]]:
    """Return the sums of what attempts that have ended took in Spark, by DAG, or by run.

    `unknown` counts the attempts of which nothing is known, and that are in no sum.
    """
    rows = conn.execute(COST, {"dag_id": dag_id, "run_id": run_id, "by_run": by_run}).mappings()
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: object) -> object:
    """Return a sum as a number; Postgres has them as decimals."""
    return int(value) if isinstance(value, Decimal) else value
