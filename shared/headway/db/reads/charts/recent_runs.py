"""SQL on the latest runs of several DAGs at once.  Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

from headway.domain.states import RunState

LATEST = text("""
    SELECT wanted.dag_id, run.run_id, run.state,
           CAST(extract(epoch FROM run.ended_at - run.started_at) AS float8) AS seconds
      FROM unnest(CAST(:dag_ids AS text[])) AS wanted (dag_id)
     CROSS JOIN LATERAL (SELECT run_id, state, started_at, ended_at, schedule_date, id
                           FROM dag_run
                          WHERE dag_run.dag_id = wanted.dag_id
                          ORDER BY schedule_date DESC, id DESC
                          LIMIT :most) AS run
     ORDER BY wanted.dag_id, run.schedule_date, run.id
""")


@dataclass(frozen=True, slots=True)
class RecentRun:
    """A run, with how long it has taken in seconds: None while it has not ended."""

    run_id: str
    state: RunState
    seconds: float | None


def latest(conn: Connection, dag_ids: Sequence[str], most: int) -> dict[str, list[RecentRun]]:
    """Return the latest runs of each DAG by their dates, the oldest of them first."""
    found: dict[str, list[RecentRun]] = {dag_id: [] for dag_id in dag_ids}
    for row in conn.execute(LATEST, {"dag_ids": list(dag_ids), "most": most}):
        found[row.dag_id].append(RecentRun(row.run_id, RunState(row.state), row.seconds))
    return found
