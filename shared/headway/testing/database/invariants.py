"""What must hold at every commit, as questions to the database: each returns its violations.

Every question is one statement, which sees one committed state of everything it asks about.
"""

from typing import Final

from sqlalchemy import Engine, TextClause, text

POOLS: Final = text("""
    SELECT 'pool ' || name AS what, in_use, slots AS allowed
      FROM pool
     CROSS JOIN LATERAL (SELECT sum(pool_slots) AS in_use FROM task_attempt
                          WHERE pool = pool.name AND ended_at IS NULL) AS live
     WHERE in_use > slots
""")

ACTIVE_TASKS: Final = text("""
    SELECT 'max_active_tasks of ' || dag_id AS what, count(*), max_active_tasks AS allowed
      FROM task_attempt JOIN dag USING (dag_id)
     WHERE ended_at IS NULL
     GROUP BY dag_id, max_active_tasks
    HAVING count(*) > max_active_tasks
""")

NARROWER: Final = text("""
    WITH live AS (
        SELECT task.dag_id, task.dag_run_id, task.task_id, version.max_active_tasks_per_dagrun,
               definition.max_active_tis_per_dag, definition.max_active_tis_per_dagrun
          FROM task_attempt AS it
          JOIN task_instance AS task ON task.id = it.task_instance_id
          JOIN dag_run AS run ON run.id = task.dag_run_id
          JOIN dag_version AS version ON version.id = run.version_id
          JOIN dag_task AS definition
            ON (definition.version_id, definition.task_id) = (version.id, task.task_id)
         WHERE it.ended_at IS NULL
    )
    SELECT 'run ' || dag_run_id AS what, count(*), max_active_tasks_per_dagrun AS allowed
      FROM live GROUP BY dag_run_id, max_active_tasks_per_dagrun
    HAVING count(*) > max_active_tasks_per_dagrun
     UNION ALL
    SELECT 'task ' || dag_id || '.' || task_id, count(*), max_active_tis_per_dag
      FROM live GROUP BY dag_id, task_id, max_active_tis_per_dag
    HAVING count(*) > max_active_tis_per_dag
     UNION ALL
    SELECT 'task ' || dag_run_id || '.' || task_id, count(*), max_active_tis_per_dagrun
      FROM live GROUP BY dag_run_id, task_id, max_active_tis_per_dagrun
    HAVING count(*) > max_active_tis_per_dagrun
""")

ACTIVE_RUNS: Final = text("""
    SELECT 'max_active_runs of ' || run.dag_id || coalesce(' in backfill ' || backfill_id, '')
           AS what, count(*), coalesce(backfill.max_active_runs, dag.max_active_runs) AS allowed
      FROM dag_run AS run
      JOIN dag USING (dag_id)
      LEFT JOIN backfill ON backfill.id = run.backfill_id
     WHERE run.state = 'running'
     GROUP BY run.dag_id, run.backfill_id, backfill.max_active_runs, dag.max_active_runs
    HAVING count(*) > coalesce(backfill.max_active_runs, dag.max_active_runs)
""")

STATES: Final = text("""
    SELECT 'task instance ' || task.id || ' is ' || task.state || ', its attempt '
           || coalesce(it.phase, 'is not there') AS what
      FROM task_instance AS task
      LEFT JOIN task_attempt AS it
        ON (it.task_instance_id, it.attempt) = (task.id, task.attempt)
     WHERE CASE task.state
                WHEN 'queued' THEN it.phase IS DISTINCT FROM 'queued'
                WHEN 'running' THEN it.phase IS NULL OR it.phase NOT IN ('running', 'stopping')
                WHEN 'restarting' THEN it.phase IS DISTINCT FROM 'stopping'
                ELSE it.phase IS NOT NULL AND it.phase <> 'ended' END
""")

ENDED_RUNS: Final = text("""
    SELECT 'run ' || run.id || ' is ' || run.state || ' and its task ' || task.id || ' '
           || task.state AS what
      FROM dag_run AS run
      JOIN task_instance AS task ON task.dag_run_id = run.id
     WHERE run.state IN ('success', 'failed')
       AND task.state NOT IN ('success', 'failed', 'skipped', 'upstream_failed', 'removed')
""")

# What a user clears is expanded anew, and its instances go on counting: none begins with 1.
ATTEMPTS: Final = text("""
    SELECT 'task instance ' || task_instance_id || ' has attempts '
           || string_agg(it.attempt::text, ', ' ORDER BY it.attempt) AS what
      FROM task_attempt AS it
      JOIN task_instance AS task ON task.id = it.task_instance_id
     GROUP BY task_instance_id, task.map_index
    HAVING (min(it.attempt) <> 1 AND task.map_index <= 0)
        OR max(it.attempt) - min(it.attempt) + 1 <> count(*)
        OR count(*) FILTER (WHERE it.ended_at IS NULL) > 1
""")

OVERLAPS: Final = text("""
    SELECT 'attempt ' || later.attempt || ' of task instance ' || later.task_instance_id
           || ' was queued before the one before it had ended' AS what
      FROM task_attempt AS later
      JOIN task_attempt AS earlier
        ON earlier.task_instance_id = later.task_instance_id
       AND earlier.attempt = later.attempt - 1
     WHERE earlier.ended_at IS NULL
""")

RUNS: Final = text("""
    SELECT 'DAG ' || dag_id || ' has ' || count(*) || ' runs of ' || schedule_date AS what
      FROM dag_run
     WHERE run_type <> 'manual'
     GROUP BY dag_id, schedule_date
    HAVING count(*) > 1
""")

LIMITS: Final = (POOLS, ACTIVE_TASKS, NARROWER, ACTIVE_RUNS)
"""Limits that are never exceeded, as long as nobody lowers them."""

ALL: Final = (*LIMITS, STATES, ENDED_RUNS, ATTEMPTS, OVERLAPS, RUNS)


def violations(engine: Engine, questions: tuple[TextClause, ...] = ALL) -> list[str]:
    """Return what does not hold, in words; nothing when all is well."""
    found = []
    with engine.connect() as conn:
        for question in questions:
            found += [" ".join(map(str, row)) for row in conn.execute(question)]
            conn.rollback()
    return found
