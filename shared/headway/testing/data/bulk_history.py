"""Finished runs in bulk, as years of work leave them behind."""

from typing import Final

from sqlalchemy import Engine, text

# Neither triggers nor foreign keys, and nothing that works on the tables by itself.
_PREPARE: Final = (
    text("SET LOCAL session_replication_role = replica"),
    text("SET LOCAL statement_timeout = 0"),
    text("SET LOCAL synchronous_commit = off"),
    text("ALTER TABLE dag_run SET (autovacuum_enabled = off)"),
    text("ALTER TABLE task_instance SET (autovacuum_enabled = off)"),
    text("ALTER TABLE task_attempt SET (autovacuum_enabled = off)"),
)

_RUNS: Final = text("""
    INSERT INTO dag_run (dag_id, run_id, run_type, state, schedule_date, interval_start,
                         interval_end, run_after, version_id, started_at, ended_at, unfinished)
    SELECT dag_id, 'scheduled__' || at, 'scheduled', 'success', at, at - interval '1 hour', at,
           at, version_id, at, at, 0
      FROM generate_series(1, :runs) AS number
     CROSS JOIN LATERAL (SELECT timestamptz '1990-01-01Z' + number * interval '1 hour' AS at) AS it
     CROSS JOIN dag
""")

_TASKS: Final = text("""
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, state, attempt, pool, pool_slots,
                               queue, priority, started_at, ended_at)
    SELECT run.id, run.dag_id, task.task_id, 'success', 1, task.pool, task.pool_slots, task.queue,
           task.priority, run.started_at, run.ended_at
      FROM dag_run AS run
      JOIN dag_task AS task USING (version_id)
""")

_ATTEMPTS: Final = text("""
    INSERT INTO task_attempt (task_instance_id, attempt, phase, dag_id, pool, pool_slots, queue,
                              rank, scheduler_id, token, process_id, queued_at, claimed_until,
                              started_at, ended_at, outcome)
    SELECT id, 1, 'ended', dag_id, pool, pool_slots, queue, 0, 1, gen_random_uuid(), 1,
           started_at, ended_at, started_at, ended_at, 'success'
      FROM task_instance
""")

_XCOMS: Final = text("""
    INSERT INTO xcom (task_instance_id, attempt, key, value, length)
    SELECT id, 1, 'return_value', '[1, 2]', 2 FROM task_instance WHERE id % 10 = 1
""")

_PASSED: Final = text("""
    INSERT INTO skipped_interval (dag_id, schedule_date, first_start, interval_start, interval_end,
                                 reason)
    SELECT dag_id, run_after - interval '1 minute', interval_start, interval_start, interval_end,
           'overlap'
      FROM dag_run
     WHERE id % 10 = 0
""")

_BACKFILLS: Final = text("""
    INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned, rollup)
    SELECT dag_id, '1990-01-01Z', '1991-01-01Z', 1, 1000, 28
      FROM dag
     CROSS JOIN generate_series(1, 10)
""")

_DATES: Final = text("""
    INSERT INTO backfill_date (backfill_id, position, schedule_date, interval_start, interval_end,
                               decision, reason, run_id)
    SELECT id, position, at, at - interval '1 hour', at, 'create', 'new', 'backfill__' || at
      FROM backfill
     CROSS JOIN generate_series(1, 1000) AS position
     CROSS JOIN LATERAL (
           SELECT timestamptz '1990-01-01Z' + position * interval '1 hour' AS at) AS it
""")

_ANALYZE: Final = text("ANALYZE")


def add(engine: Engine, runs: int) -> None:
    """Enter so many finished runs of every DAG, with task instances, attempts and XComs.

    Besides, each DAG has skipped a tenth as many intervals, and had ten rolled-up backfills.
    """
    with engine.begin() as conn:
        for statement in _PREPARE:
            conn.execute(statement)
        conn.execute(_RUNS, {"runs": runs})
        conn.execute(_TASKS)
        conn.execute(_ATTEMPTS)
        conn.execute(_XCOMS)
        conn.execute(_PASSED)
        conn.execute(_BACKFILLS)
        conn.execute(_DATES)
        conn.execute(_ANALYZE)
