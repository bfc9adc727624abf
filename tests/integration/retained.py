"""Rows as they are long after their end, for tests of what is removed."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, text

from headway.testing.data import seed

_BULK = text("SET LOCAL session_replication_role = replica")
_RUN = text("""
    INSERT INTO dag_run (dag_id, run_id, run_type, state, schedule_date, interval_start,
                         interval_end, run_after, version_id, started_at, ended_at, unfinished)
    SELECT dag_id, :type || '__' || :days, :type, :state, at, at - interval '1 day', at, at,
           version_id, at, at, 0
      FROM dag
     CROSS JOIN LATERAL (SELECT now() - make_interval(days => :days) AS at) AS it
     WHERE dag_id = :dag_id
 RETURNING id
""")
_TASKS = text("""
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, state, attempt, pool, pool_slots,
                               queue, priority, started_at, ended_at)
    SELECT id, dag_id, 't' || number, 'success', 1, 'default_pool', 1, 'default', 1, started_at,
           ended_at
      FROM dag_run CROSS JOIN generate_series(1, :tasks) AS number
     WHERE id = :run
""")
_ATTEMPTS = text("""
    INSERT INTO task_attempt (task_instance_id, attempt, phase, dag_id, pool, pool_slots, queue,
                              rank, token, process_id, queued_at, claimed_until, started_at,
                              ended_at, outcome)
    SELECT id, 1, 'ended', dag_id, pool, 1, queue, 0, gen_random_uuid(), :worker, started_at,
           ended_at, started_at, ended_at, 'success'
      FROM task_instance WHERE dag_run_id = :run
""")
_XCOMS = text("""
    INSERT INTO xcom (task_instance_id, attempt, key, value)
    SELECT id, 1, 'return_value', '{"rows": 42}' FROM task_instance WHERE dag_run_id = :run
""")
_CALLBACK = text("""
    INSERT INTO callback (dag_run_id, event, reason, state, created_at, started_at, ended_at)
    SELECT id, 'success', 'success', 'success', ended_at, ended_at, ended_at FROM dag_run
     WHERE id = :run
""")


def add_runs(
    engine: Engine,
    days: Sequence[int],
    *,
    dag_id: str = "etl",
    tasks: int = 2,
    state: str = "success",
    run_type: str = "scheduled",
    worker: int = 0,
) -> list[int]:
    """Enter runs that ended so many days ago, with attempts, XComs and a callback each."""
    with engine.begin() as conn:
        known = conn.scalar(text("SELECT count(*) FROM dag WHERE dag_id = :dag"), {"dag": dag_id})
    if not known:
        seed.store(engine, seed.dag(dag_id=dag_id), paused=True)
    with engine.begin() as conn:
        conn.execute(_BULK)
        ids = []
        for each in days:
            row = {"dag_id": dag_id, "days": each, "state": state, "type": run_type}
            ids.append(conn.scalar(_RUN, row))
            conn.execute(_TASKS, {"run": ids[-1], "tasks": tasks})
            conn.execute(_ATTEMPTS, {"run": ids[-1], "worker": worker})
            for statement in (_XCOMS, _CALLBACK):
                conn.execute(statement, {"run": ids[-1]})
    return ids


def run_sql(engine: Engine, statement: str, **parameters: object) -> None:
    """Change rows without the guards."""
    with engine.begin() as conn:
        conn.execute(_BULK)
        conn.execute(text(statement), parameters)


def ids(engine: Engine, table: str = "dag_run", column: str = "id") -> list[Any]:
    with engine.connect() as conn:
        return list(conn.scalars(text(f"SELECT {column} FROM {table} ORDER BY 1")))
