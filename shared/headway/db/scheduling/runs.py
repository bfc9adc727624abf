"""SQL on DAG runs: create and settle."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from json import dumps

from sqlalchemy import Connection, text

from headway.db.core.prepared import hot
from headway.domain.arguments import JsonValue
from headway.domain.states import RunState, RunType
from headway.timetables.base import DagRunInfo

# An interval that has a run already is left alone, whoever created it.  With reparse_on_run a
# run is pinned when it is to start.
CREATE = hot("""
    INSERT INTO dag_run (dag_id, run_id, run_type, schedule_date, interval_start, interval_end,
                         run_after, conf, version_id, backfill_id, partitions, pinned)
    SELECT its.dag_id, new.run_id, its.run_type, new.schedule_date, new.interval_start,
           new.interval_end, new.run_after, CAST(its.conf AS json), its.version_id,
           its.backfill_id, its.partitions, NOT version.reparse_on_run
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:run_types AS text[]), CAST(:confs AS text[]),
                  CAST(:version_ids AS bigint[]), CAST(:backfill_ids AS bigint[]),
                  CAST(:partitions AS boolean[])) WITH ORDINALITY
           AS its (dag_id, run_type, conf, version_id, backfill_id, partitions, number)
      JOIN dag_version AS version ON version.id = its.version_id
      JOIN unnest(CAST(:numbers AS bigint[]), CAST(:run_ids AS text[]),
                  CAST(:starts AS timestamptz[]), CAST(:ends AS timestamptz[]),
                  CAST(:dates AS timestamptz[]), CAST(:run_afters AS timestamptz[]))
           AS new (number, run_id, interval_start, interval_end, schedule_date, run_after)
        ON new.number = its.number
     ORDER BY its.dag_id, new.run_after
        ON CONFLICT DO NOTHING
 RETURNING dag_id, run_id
""")


# depends_on_past: tasks of the runs after this one may wait for its own, see
# `run_snapshots.PREVIOUS`.  A run that is not running yet is looked at when it starts, and then
# sees what this has written, or waits.
# LATERAL and LIMIT leave the planner no choice but to go from run to run by the index.
# The last task may have ended after the scheduler read the clock; a run ends no earlier.
SETTLE = hot("""
    WITH settled AS (
        UPDATE dag_run AS run
           SET unfinished = it.unfinished, state = coalesce(it.state, run.state),
               ended_at = CASE WHEN it.state IS NOT NULL
                               THEN greatest(
                                    CAST(:now AS timestamptz), run.started_at,
                                    (SELECT max(task.ended_at) FROM task_instance AS task
                                      WHERE task.dag_run_id = run.id)) END
          FROM unnest(CAST(:ids AS bigint[]), CAST(:unfinished AS int[]),
                      CAST(:states AS text[])) AS it (id, unfinished, state)
         WHERE run.id = it.id AND CASE run.state WHEN 'running' THEN true END
     RETURNING run.id, run.dag_id, run.schedule_date, run.backfill_id
    )
    INSERT INTO wake (dag_run_id)
    SELECT later.id
      FROM settled
     CROSS JOIN LATERAL (
           SELECT id, schedule_date, backfill_id FROM dag_run AS run
            WHERE dag_id = settled.dag_id AND state = 'running'
              AND (id > settled.id OR backfill_id = settled.backfill_id)
              AND (schedule_date, id) > (settled.schedule_date, settled.id)
              AND (SELECT settle_at_start FROM dag_version WHERE id = run.version_id)
           OFFSET 0) AS later
     WHERE (SELECT true FROM dag_version WHERE dag_id = settled.dag_id AND settle_at_start LIMIT 1)
       AND (SELECT id FROM dag_run AS other
             WHERE other.dag_id = settled.dag_id AND other.run_type <> 'manual'
               AND (other.id < later.id OR other.backfill_id = later.backfill_id)
               AND (other.schedule_date, other.id) > (settled.schedule_date, settled.id)
               AND (other.schedule_date, other.id) < (later.schedule_date, later.id)
             ORDER BY schedule_date LIMIT 1) IS NULL
""")


NAMES = text("SELECT dag_id, run_id FROM dag_run WHERE id = :run")


@dataclass(frozen=True, slots=True)
class NewRuns:
    """Runs of one DAG to create, oldest first, pinned to a version.

    With `partitions` one that would overlap another of the DAG's is left out.  `places` says
    by schedule date when a run may start, where that is not then; `named` what they are called.
    """

    dag_id: str
    run_type: RunType
    version_id: int
    infos: Sequence[DagRunInfo]
    conf: Mapping[str, JsonValue]
    backfill_id: int | None = None
    partitions: bool = False
    places: Mapping[datetime, datetime] = field(default_factory=dict)
    named: Sequence[str] = ()

    def run_ids(self) -> Sequence[str]:
        """Return what the runs are called."""
        return self.named or [self.run_type.run_id(info.data_interval.start) for info in self.infos]


def create(conn: Connection, new: Sequence[NewRuns]) -> set[tuple[str, str]]:
    """Create runs, in state queued; return DAG and run id of those that did not exist yet."""
    infos = [
        (number, info, new_runs)
        for number, new_runs in enumerate(new, 1)
        for info in new_runs.infos
    ]
    parameters = {
        "dag_ids": [runs.dag_id for runs in new],
        "run_types": [str(runs.run_type) for runs in new],
        "confs": [dumps(dict(runs.conf)) for runs in new],
        "version_ids": [runs.version_id for runs in new],
        "backfill_ids": [runs.backfill_id for runs in new],
        "partitions": [runs.partitions for runs in new],
        "numbers": [number for number, _, _ in infos],
        "run_ids": [name for runs in new for name in runs.run_ids()],
        "starts": [info.data_interval.start for _, info, _ in infos],
        "ends": [info.data_interval.end for _, info, _ in infos],
        "dates": [info.run_after for _, info, _ in infos],
        "run_afters": [runs.places.get(info.run_after, info.run_after) for _, info, runs in infos],
    }
    return {(row.dag_id, row.run_id) for row in conn.execute(CREATE, parameters)}


def names(conn: Connection, run: int) -> tuple[str, str]:
    """Return the names of the run's DAG, and of the run within it."""
    row = conn.execute(NAMES, {"run": run}).one()
    return row.dag_id, row.run_id


def settle(
    conn: Connection, runs: Mapping[int, tuple[int | None, RunState | None]], now: datetime
) -> int:
    """Enter for running runs how many task instances have not ended, and the end of the run.

    The runs after them are woken, if tasks of theirs may have waited for these; return how many.
    """
    return conn.execute(
        SETTLE,
        {
            "ids": list(runs),
            "unfinished": [unfinished for unfinished, _ in runs.values()],
            "states": [state and str(state) for _, state in runs.values()],
            "now": now,
        },
    ).rowcount
