"""SQL on what attempts do in Spark: how far they are, what they took, what they may have left."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from json import dumps
from typing import Any

from sqlalchemy import Connection, text

from headway.db import attempt_keys
from headway.db.attempts import AttemptKey, Claimed
from headway.db.prepared import hot
from headway.domain.spark_work import SparkFigures, SparkProgress

# An attempt that has ended is still its worker's to tell of, by its token.  What is absent
# from a report stays as it is.  In the order of ids, as all that lock attempts.
SAVE = hot("""
    WITH said AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]),
                             CAST(:tokens AS uuid[]), CAST(:progress AS text[]),
                             CAST(:figures AS text[]))
               AS said (task_instance_id, attempt, token, progress, figures)
         ORDER BY task_instance_id
    )
    INSERT INTO spark_work AS present (task_instance_id, attempt, progress, figures, updated_at)
    SELECT said.task_instance_id, said.attempt, CAST(said.progress AS json),
           CAST(said.figures AS json), clock_timestamp()
      FROM said
     CROSS JOIN LATERAL (
           SELECT FROM task_attempt AS it
            WHERE it.task_instance_id = said.task_instance_id AND it.attempt = said.attempt
              AND it.token = said.token
              FOR KEY SHARE OF it) AS it
        ON CONFLICT (task_instance_id, attempt) DO UPDATE
       SET progress = coalesce(excluded.progress, present.progress),
           figures = coalesce(excluded.figures, present.figures),
           updated_at = excluded.updated_at
""")

EARLIER = text("""
    SELECT it.attempt, it.outcome, it.handle,
           it.stop_to IS NOT NULL OR it.attempt < :first AS is_called_off,
           it.ended_at < now() - make_interval(secs => :seconds) AS is_long_ago,
           process.ended_at IS NOT NULL AS worker_is_dead
      FROM task_attempt AS it
      LEFT JOIN process ON process.id = it.process_id
     WHERE it.task_instance_id = :task_id AND it.attempt < :attempt AND it.handle IS NOT NULL
     ORDER BY it.attempt
""")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkNews:
    """What a worker has to say of an attempt in Spark; None changes nothing."""

    key: AttemptKey
    progress: SparkProgress | None = None
    figures: SparkFigures | None = None


@dataclass(frozen=True, slots=True)
class EarlierAttempt:
    """An attempt of the same task instance before, and the handle of what it did elsewhere.

    It is called off if it was told to stop, or its task was cleared since: whatever its
    outcome, nobody wants what it did.
    """

    attempt: int
    outcome: str | None
    handle: Mapping[str, str]
    is_called_off: bool
    is_long_ago: bool
    worker_is_dead: bool


def save(conn: Connection, said: Sequence[SparkNews]) -> None:
    """Record what attempts do in Spark, all in one statement; those given away are left out."""
    ordered = sorted(said, key=lambda it: (it.key.task_instance_id, it.key.attempt))
    conn.execute(
        SAVE,
        {
            **attempt_keys.columns([it.key for it in ordered]),
            "progress": [_json(it.progress) for it in ordered],
            "figures": [_json(it.figures) for it in ordered],
        },
    )


def earlier(conn: Connection, claimed: Claimed, seconds: float) -> list[EarlierAttempt]:
    """Return the attempts before this one that had something elsewhere, the oldest first.

    One is long ago when it has ended more than `seconds` before.
    """
    rows = conn.execute(
        EARLIER,
        {
            "task_id": claimed.key.task_instance_id,
            "attempt": claimed.key.attempt,
            "first": _first(claimed),
            "seconds": seconds,
        },
    )
    return [
        EarlierAttempt(
            row.attempt,
            row.outcome,
            row.handle,
            row.is_called_off,
            bool(row.is_long_ago),
            row.worker_is_dead,
        )
        for row in rows
    ]


def _first(claimed: Claimed) -> int:
    """Return the number of the first attempt since a user has last cleared the task, if any has.

    A clear sets both counts back, and without one only what counts has a successor.
    """
    return claimed.key.attempt - claimed.failures - claimed.losses


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


def _json(record: SparkProgress | SparkFigures | None) -> str | None:
    return None if record is None else dumps(asdict(record))
