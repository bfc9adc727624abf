"""SQL that shows what attempts cost in Spark."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, text

from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import ALWAYS, Asked, ListPage, TimeRange

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
      JOIN dag ON dag.dag_id = run.dag_id
      JOIN task_instance AS task ON task.dag_run_id = run.id
      JOIN task_attempt AS it ON it.task_instance_id = task.id
      LEFT JOIN spark_work AS work ON work.task_instance_id = it.task_instance_id
                                  AND work.attempt = it.attempt
     WHERE it.handle IS NOT NULL AND it.ended_at IS NOT NULL
       AND (CAST(:ended_from AS timestamptz) IS NULL OR it.ended_at >= :ended_from)
       AND (CAST(:ended_before AS timestamptz) IS NULL OR it.ended_at < :ended_before)
       AND (CAST(:dag_id AS text) IS NULL OR run.dag_id = :dag_id)
       AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:after_dag AS text) IS NULL
            OR (run.dag_id, coalesce(CASE WHEN :by_run THEN run.run_id END, ''))
               > (:after_dag, :after_run))
     GROUP BY 1, 2
     ORDER BY 1, 2
     LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class SparkCost:
    """What ended attempts of a DAG, or of one run of it, took in Spark.

    `unknown` counts the attempts of which nothing is known; they are in no sum.  The sums are of
    tasks, milliseconds, bytes and rows, as in SparkFigures; each is None where nothing is known.
    `peak_memory_bytes` and `skew` are the largest of one attempt.
    """

    dag_id: str
    run_id: str | None
    attempts: int
    unknown: int
    tasks: int | None
    executor_run_ms: int | None
    executor_cpu_ms: int | None
    bytes_read: int | None
    rows_read: int | None
    bytes_written: int | None
    rows_written: int | None
    shuffle_read_bytes: int | None
    shuffle_write_bytes: int | None
    spilled_bytes: int | None
    peak_memory_bytes: int | None
    skew: float | None


def cost(
    conn: Connection,
    dag_id: str | None,
    run_id: str | None,
    *,
    by_run: bool,
) -> list[SparkCost]:
    """Return what ended attempts took in Spark, by DAG, or by run."""
    return _cost(conn, {"dag_id": dag_id, "run_id": run_id, "by_run": by_run})


def page(
    conn: Connection,
    asked: Asked,
    dag_id: str | None,
    run_id: str | None,
    *,
    by_run: bool,
    ended: TimeRange = ALWAYS,
) -> ListPage[SparkCost]:
    """Return a page of what attempts took in Spark that ended in that time, by DAG, or by run."""
    of = {"dag_id": dag_id, "run_id": run_id, "by_run": by_run}
    listing = PagedList("cost in Spark", (str, str), "dag_id", filters=of)
    after_dag, after_run = listing.key(asked.cursor) or (None, None)
    wanted = {
        **of,
        "ended_from": ended.start,
        "ended_before": ended.end,
        "bundles": paging.as_list(asked.bundles),
        "after_dag": after_dag,
        "after_run": after_run,
        "limit": asked.limit + 1,
    }
    rows = _cost(conn, wanted)
    return paging.listed(rows, asked.limit, listing, lambda row: (row.dag_id, row.run_id or ""))


def _cost(conn: Connection, given: Mapping[str, object]) -> list[SparkCost]:
    every = dict.fromkeys(
        ("bundles", "after_dag", "after_run", "limit", "ended_from", "ended_before")
    )
    rows = conn.execute(COST, {**every, **given}).mappings()
    return [SparkCost(**{name: _plain(value) for name, value in row.items()}) for row in rows]


def _plain(value: Any) -> Any:
    """Return a sum as a number; Postgres has them as decimals."""
    return int(value) if isinstance(value, Decimal) else value
