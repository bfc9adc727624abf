-- How many attempts the workers of these queues could have: those that are queued or run, and the tasks that
-- schedulers would queue if there were workers, within the slots of pools and the places of DAGs.  Limits of single
-- tasks are not looked at.  For headway_readonly.
WITH live AS MATERIALIZED (
    SELECT dag_id, pool, queue, pool_slots FROM task_attempt WHERE ended_at IS NULL
), waiting AS (
    SELECT dag_id, pool FROM task_instance
     WHERE state = 'scheduled' AND NOT limited AND queue IN (:queues)
     UNION ALL
    SELECT dag_id, pool FROM task_instance
     WHERE state = 'scheduled' AND limited AND queue IN (:queues)
), placed AS (
    SELECT pool, least(count(*), max_active_tasks
                       - (SELECT count(*) FROM live WHERE live.dag_id = dag.dag_id)) AS tasks
      FROM waiting JOIN dag USING (dag_id)
     WHERE active AND NOT paused
     GROUP BY pool, dag.dag_id
), admitted AS (
    SELECT least(sum(greatest(tasks, 0)), slots
                 - (SELECT coalesce(sum(pool_slots), 0) FROM live WHERE live.pool = pool.name)
                 - (SELECT coalesce(sum(pool_slots), 0) FROM task_instance
                     WHERE state = 'deferred' AND include_deferred AND pool = pool.name)) AS tasks
      FROM placed JOIN pool ON name = pool
     GROUP BY pool.name
)
SELECT (SELECT count(*) FROM live WHERE queue IN (:queues))
       + (SELECT coalesce(sum(greatest(tasks, 0)), 0) FROM admitted)
