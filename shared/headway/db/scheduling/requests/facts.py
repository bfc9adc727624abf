"""SQL on what decides about a request for a run: who asks, and how the DAG stands.  Reads only."""

from sqlalchemy import Connection, text

from headway.decide.scheduling.requested import RequestFacts

# A DAG of another bundle than the attempt's version is as if it were not there, even the attempt's
# own one, if it has moved: the run would be of that bundle's code, with a conf from this one's.
FACTS = text("""
    SELECT run.dag_id AS by_dag_id, run.run_id AS by_run_id, task.task_id, task.map_index,
           it.attempt, it.phase = 'running' AS is_live,
           coalesce(target.active, false) AS is_there, coalesce(target.paused, false) AS is_paused
      FROM run_request AS request
      JOIN task_attempt AS it
        ON it.task_instance_id = request.task_instance_id AND it.attempt = request.attempt
      JOIN task_instance AS task ON task.id = it.task_instance_id
      JOIN dag_run AS run ON run.id = task.dag_run_id
      LEFT JOIN dag_version AS own
        ON own.dag_id = run.dag_id AND own.id = coalesce(it.version_id, run.version_id)
      LEFT JOIN dag AS target
        ON target.dag_id = request.dag_id AND target.bundle = own.bundle
     WHERE request.id = :id
""")

# The attempts before this one that were lost, up to one that has ended otherwise, or a clear: what
# the last of them had created for the same request is there already.
TAKEN_OVER = text("""
    SELECT earlier.answer_run_id
      FROM run_request AS request
      JOIN task_instance AS task ON task.id = request.task_instance_id
      JOIN run_request AS earlier
        ON earlier.task_instance_id = request.task_instance_id
       AND earlier.attempt < request.attempt AND earlier.number = request.number
     WHERE request.id = :id
       AND earlier.attempt >= request.attempt - task.failures - task.losses
       AND earlier.attempt > coalesce(
           (SELECT max(other.attempt) FROM task_attempt AS other
             WHERE other.task_instance_id = request.task_instance_id
               AND other.attempt < request.attempt AND other.outcome <> 'lost'), 0)
       AND earlier.answer IN ('created', 'reset')
       AND (earlier.dag_id, CAST(earlier.conf AS text)) = (request.dag_id,
                                                           CAST(request.conf AS text))
       AND earlier.run_id IS NOT DISTINCT FROM request.run_id
       AND earlier.logical_date IS NOT DISTINCT FROM request.logical_date
       AND EXISTS (SELECT FROM dag_run AS run
                    WHERE run.dag_id = earlier.dag_id AND run.run_id = earlier.answer_run_id)
     ORDER BY earlier.attempt DESC
     LIMIT 1
""")


def facts(conn: Connection, request: int) -> RequestFacts:
    """Return what decides about a locked request."""
    row = conn.execute(FACTS, {"id": request}).mappings().one()
    taken_over: str | None = conn.scalar(TAKEN_OVER, {"id": request})
    return RequestFacts(**row, taken_over=taken_over)
