"""DAG runs as they stand.  Reads only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, RowMapping, text

from headway.domain.arguments import JsonValue
from headway.domain.states import UNFINISHED_RUN, RunState, RunType

OF_DAG = text("""
    SELECT run.dag_id, run.run_id, run.run_type, run.state, run.interval_start,
           run.interval_end, run.schedule_date, run.run_after, run.started_at, run.ended_at,
           run.conf, version.number AS version, run.backfill_id
      FROM dag_run AS run
      JOIN dag_version AS version ON version.id = run.version_id
     WHERE run.dag_id = :dag_id
       AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
       AND (CAST(:state AS text) IS NULL OR run.state = :state)
     ORDER BY run.schedule_date DESC, run.id DESC
     LIMIT :limit
""")

# Of all DAGs the newest are those that were created last: they have an index.
OF_ALL_DAGS = text("""
    SELECT run.dag_id, run.run_id, run.run_type, run.state, run.interval_start,
           run.interval_end, run.schedule_date, run.run_after, run.started_at, run.ended_at,
           run.conf, version.number AS version, run.backfill_id
      FROM dag_run AS run
      JOIN dag_version AS version ON version.id = run.version_id
     WHERE (CAST(:state AS text) IS NULL OR run.state = :state)
     ORDER BY run.id DESC
     LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class RunView:
    """A DAG run.

    The data interval ends before `interval_end`.  `schedule_date` is the date of the schedule
    that the run is for, and the run starts at `run_after` at the earliest.  `started_at` is None
    while the run is queued, `ended_at` until it has ended.  `version` is the number of the DAG's
    version that the run has.  `backfill_id` is None for a run outside of backfills.
    """

    dag_id: str
    run_id: str
    run_type: RunType
    state: RunState
    interval_start: datetime
    interval_end: datetime
    schedule_date: datetime
    run_after: datetime
    started_at: datetime | None
    ended_at: datetime | None
    conf: Mapping[str, JsonValue]
    version: int
    backfill_id: int | None

    @property
    def logical_date(self) -> datetime:
        """The date that a manual run was triggered for; of any other the start of its interval."""
        return self.schedule_date if self.run_type is RunType.MANUAL else self.interval_start

    @property
    def ended(self) -> bool:
        """Whether the run has ended."""
        return self.state not in UNFINISHED_RUN


def runs(
    conn: Connection,
    dag_id: str | None = None,
    state: RunState | None = None,
    limit: int = 100,
) -> list[RunView]:
    """Return runs of a DAG, the latest date first, or of all DAGs, the last created first."""
    asked = {"dag_id": dag_id, "run_id": None, "state": state, "limit": limit}
    found = conn.execute(OF_ALL_DAGS if dag_id is None else OF_DAG, asked).mappings()
    return [_view(row) for row in found]


def run(conn: Connection, dag_id: str, run_id: str) -> RunView | None:
    """Return that run; None when there is none of that name."""
    asked = {"dag_id": dag_id, "run_id": run_id, "state": None, "limit": 1}
    row = conn.execute(OF_DAG, asked).mappings().one_or_none()
    return None if row is None else _view(row)


def _view(row: RowMapping) -> RunView:
    kinds = {"run_type": RunType(row["run_type"]), "state": RunState(row["state"])}
    return RunView(**{**row, **kinds})
