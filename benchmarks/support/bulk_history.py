"""Rows in bulk, as much work would have left them: history, runs that wait, tasks that are blocked.

They are entered with triggers and foreign keys off, and make sense all the same.
"""

from typing import Final

from sqlalchemy import Connection, Engine, text

_BULK: Final = text("SET LOCAL session_replication_role = replica")
_PATIENT: Final = text("SET LOCAL statement_timeout = 0")

_HISTORY_RUNS: Final = text("""
    INSERT INTO dag_run (dag_id, run_id, run_type, state, schedule_date, interval_start,
                         interval_end, run_after, version_id, started_at, ended_at)
    SELECT dag.dag_id, 'scheduled__' || at, 'scheduled', 'success', at, at - interval '1 hour', at,
           at, dag.version_id, at, at
      FROM dag
     CROSS JOIN generate_series(1, :runs) AS number
     CROSS JOIN LATERAL (SELECT timestamptz '1990-01-01Z' + number * interval '1 hour' AS at) AS it
     WHERE dag.dag_id LIKE :dags
""")

_HISTORY_TASKS: Final = text("""
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, state, attempt, pool, pool_slots,
                               queue, priority, started_at, ended_at)
    SELECT run.id, run.dag_id, task.task_id, 'success', 1, task.pool, task.pool_slots, task.queue,
           task.priority, run.started_at, run.ended_at
      FROM dag_run AS run
      JOIN dag_task AS task USING (version_id)
     WHERE run.schedule_date < '2000-01-01Z'
""")

_HISTORY_ATTEMPTS: Final = text("""
    INSERT INTO task_attempt (task_instance_id, attempt, phase, dag_id, pool, pool_slots, queue,
                              rank, scheduler_id, token, process_id, queued_at, claimed_until,
                              started_at, ended_at, outcome)
    SELECT task.id, 1, 'ended', task.dag_id, task.pool, task.pool_slots, task.queue, 0, 1,
           gen_random_uuid(), 1, task.started_at, task.ended_at, task.started_at, task.ended_at,
           'success'
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
     WHERE run.schedule_date < '2000-01-01Z'
""")

_RUNS: Final = text("""
    INSERT INTO dag_run (dag_id, run_id, run_type, state, schedule_date, interval_start,
                         interval_end, run_after, version_id, started_at, unfinished)
    SELECT dag.dag_id, 'manual__' || number, 'manual', 'running', at, at, at, at, dag.version_id,
           now(), 1
      FROM dag
     CROSS JOIN generate_series(1, :runs) AS number
     CROSS JOIN LATERAL (SELECT timestamptz '1990-01-01Z' + number * interval '1 hour' AS at) AS it
     WHERE dag.dag_id = :dag_id
""")

_TASKS: Final = text("""
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, state, attempt, pool, pool_slots,
                               queue, priority, limited, rank, started_at, retry_at)
    SELECT run.id, run.dag_id, task.task_id, :state, CASE :state WHEN 'scheduled' THEN 0 ELSE 1 END,
           task.pool, task.pool_slots, task.queue, task.priority,
           task.max_active_tis_per_dag IS NOT NULL, 0,
           CASE :state WHEN 'running' THEN now() END,
           CASE :state WHEN 'up_for_retry' THEN now() + interval '1 day' END
      FROM (SELECT * FROM dag_run WHERE dag_id = :dag_id AND state = 'running'
             ORDER BY id OFFSET :skip LIMIT :runs) AS run
      JOIN dag_task AS task USING (version_id)
""")

_ATTEMPTS: Final = text("""
    INSERT INTO task_attempt (task_instance_id, attempt, phase, dag_id, pool, pool_slots, queue,
                              rank, scheduler_id, token, process_id, queued_at, claimed_until,
                              started_at)
    SELECT id, 1, 'running', dag_id, pool, pool_slots, queue, 0,
           (SELECT max(id) FROM process WHERE kind = 'scheduler' AND ended_at IS NULL),
           gen_random_uuid(),
           (SELECT max(id) FROM process WHERE kind = 'worker' AND ended_at IS NULL),
           now(), now() + interval '1 day', now()
      FROM task_instance
     WHERE dag_id = :dag_id AND state = 'running'
""")

_VACUUM: Final = text("VACUUM (ANALYZE)")
_CHECKPOINT: Final = text("CHECKPOINT")


def add_history(engine: Engine, runs: int, dags: str = "%", *, vacuum: bool = True) -> None:
    """Enter so many finished runs of every DAG, with task instances and attempts.

    `dags` is a pattern of LIKE, of the DAGs that have any.  Without `vacuum` the server vacuums
    when its settings say so.
    """
    with engine.begin() as conn:
        _prepare(conn)
        conn.execute(_HISTORY_RUNS, {"runs": runs, "dags": dags})
        conn.execute(_HISTORY_TASKS)
        conn.execute(_HISTORY_ATTEMPTS)
    if vacuum:
        vacuum_and_checkpoint(engine)


def add_runs(engine: Engine, dag_id: str, states: dict[str, int]) -> None:
    """Enter running runs of a DAG of one task: so many with the task in each state."""
    with engine.begin() as conn:
        _prepare(conn)
        conn.execute(_RUNS, {"dag_id": dag_id, "runs": sum(states.values())})
        skip = 0
        for state, runs in states.items():
            conn.execute(_TASKS, {"dag_id": dag_id, "state": state, "skip": skip, "runs": runs})
            skip += runs
        conn.execute(_ATTEMPTS, {"dag_id": dag_id})
    vacuum_and_checkpoint(engine)


def vacuum_and_checkpoint(engine: Engine) -> None:
    """Do now what the server would do by itself in a while."""
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as conn:
        conn.execute(text("SET statement_timeout = 0"))
        conn.execute(_VACUUM)
        conn.execute(_CHECKPOINT)
        conn.execute(text("RESET statement_timeout"))


def _prepare(conn: Connection) -> None:
    conn.execute(_BULK)
    conn.execute(_PATIENT)
