"""SQL on places: what is left in DAGs, and in the limits within them."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.decide.scheduling.admit import Budget, Limit, ReadyTask

LIVE = hot("""
    SELECT it.dag_id, task.dag_run_id, task.task_id, count(*) AS count
      FROM task_attempt AS it
      JOIN task_instance AS task ON task.id = it.task_instance_id
     WHERE it.ended_at IS NULL AND it.dag_id = ANY (:dag_ids)
     GROUP BY it.dag_id, task.dag_run_id, task.task_id
""")


def free(
    conn: Connection, places: Mapping[str, int], tasks: Sequence[ReadyTask]
) -> dict[Budget, int]:
    """Return what is left in DAGs that are locked, with `places` each, and in what they hold."""
    dags: Counter[str] = Counter()
    runs: Counter[int] = Counter()
    of_dag: Counter[tuple[str, str]] = Counter()
    of_run: Counter[tuple[int, str]] = Counter()
    for dag_id, run, task_id, count in conn.execute(LIVE, {"dag_ids": list(places)}):
        dags[dag_id] += count
        runs[run] += count
        of_dag[dag_id, task_id] += count
        of_run[run, task_id] += count
    free = {Budget(Limit.DAG, (dag_id,)): places[dag_id] - dags[dag_id] for dag_id in places}
    for task in tasks:
        run, key = task.dag_run_id, (task.dag_id, task.task_id)
        in_run = run, task.task_id
        if task.per_run is not None:
            free[Budget(Limit.RUN, (run,))] = task.per_run - runs[run]
        if task.tis_per_dag is not None:
            free[Budget(Limit.TASK, key)] = task.tis_per_dag - of_dag[key]
        if task.tis_per_dagrun is not None:
            free[Budget(Limit.TASK_IN_RUN, in_run)] = task.tis_per_dagrun - of_run[in_run]
    return free
