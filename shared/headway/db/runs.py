"""SQL on DAG runs: create, start, settle, end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from json import dumps

from sqlalchemy import Connection, text

from headway.db.prepared import hot
from headway.db.reservations import Scope
from headway.decide.start import QueuedRun
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

# Only as many runs of a lane (a backfill, or the DAG's own runs) as may start, the lanes in turn,
# so that a long one does not push the others out of the batch; and last those for which a parse
# was asked: they keep their place in the lane, and have none in the batch.  Each half is a range
# of the index of queued runs; IS NOT DISTINCT FROM would be none.
QUEUED = hot("""
    SELECT waiting.id, lane.dag_id, lane.backfill_id, waiting.asked
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:backfill_ids AS bigint[]),
                  CAST(:free AS int[])) AS lane (dag_id, backfill_id, free)
     CROSS JOIN LATERAL (
           (SELECT id, run_after, NOT pinned AND parse_asked_at IS NOT NULL AS asked
              FROM dag_run
             WHERE dag_id = lane.dag_id AND backfill_id = lane.backfill_id
               AND state = 'queued' AND run_after <= :now
               AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
             ORDER BY run_after, id
             LIMIT greatest(lane.free, 0))
            UNION ALL
           (SELECT id, run_after, NOT pinned AND parse_asked_at IS NOT NULL AS asked
              FROM dag_run
             WHERE dag_id = lane.dag_id AND backfill_id IS NULL AND lane.backfill_id IS NULL
               AND state = 'queued' AND run_after <= :now
               AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
             ORDER BY backfill_id, run_after, id
             LIMIT greatest(lane.free, 0))) AS waiting
     ORDER BY waiting.asked,
              row_number() OVER (PARTITION BY lane.dag_id, lane.backfill_id
                                 ORDER BY run_after, waiting.id), run_after, waiting.id
     LIMIT :limit
""")

# Lanes with queued runs are found by hopping through the index: that of the DAG's own runs
# comes last.  However many runs are queued, or have ended, this looks at few of them.  To
# order by all of its columns keeps the planner from taking any other.
FREE_LANES = hot("""
    SELECT dag.dag_id, lane.backfill_id,
           CASE WHEN NOT backfill.paused THEN backfill.max_active_runs ELSE 0 END AS most,
           (SELECT count(*) FROM dag_run
             WHERE dag_run.dag_id = dag.dag_id AND state = 'running'
               AND dag_run.backfill_id IS NOT DISTINCT FROM lane.backfill_id) AS running
      FROM unnest(CAST(:dag_ids AS text[])) AS dag (dag_id)
     CROSS JOIN LATERAL (
           WITH RECURSIVE lane AS (
               (SELECT backfill_id FROM dag_run
                 WHERE dag_id = dag.dag_id AND state = 'queued'
                 ORDER BY backfill_id, run_after, id LIMIT 1)
                UNION ALL
               SELECT following.backfill_id
                 FROM lane
                CROSS JOIN LATERAL (
                      (SELECT backfill_id FROM dag_run
                        WHERE dag_id = dag.dag_id AND state = 'queued'
                          AND dag_run.backfill_id > lane.backfill_id
                        ORDER BY backfill_id, run_after, id LIMIT 1)
                       UNION ALL
                      (SELECT backfill_id FROM dag_run
                        WHERE dag_id = dag.dag_id AND state = 'queued'
                          AND dag_run.backfill_id IS NULL AND lane.backfill_id IS NOT NULL
                        ORDER BY backfill_id, run_after, id LIMIT 1)
                      LIMIT 1) AS following
           )
           SELECT backfill_id FROM lane) AS lane
      LEFT JOIN backfill ON backfill.id = lane.backfill_id
""")

# The first tasks of most runs are known: they are scheduled with the run.  Otherwise, and when
# it runs anew, it is looked at as a whole.  The guard, here and in SETTLE, is a CASE: the planner
# cannot read all queued runs for each; nor all versions and their tasks, because of LATERAL.
START = hot("""
    WITH started AS (
        UPDATE dag_run AS run
           SET state = 'running', started_at = :now,
               deadline = CAST(:now AS timestamptz) + make_interval(secs => it.dagrun_timeout),
               unfinished = CASE WHEN NOT (it.look OR it.again) THEN it.tasks END
          FROM (SELECT run.id, version.dagrun_timeout, version.look_at_start AS look,
                       coalesce((SELECT lane FROM backfill WHERE id = run.backfill_id), 0) AS lane,
                       EXISTS (SELECT FROM task_instance WHERE dag_run_id = run.id) AS again,
                       (SELECT count(*) FROM dag_task WHERE version_id = version.id) AS tasks,
                       version.max_active_tasks_per_dagrun IS NOT NULL AS limited
                  FROM dag_run AS run
                 CROSS JOIN LATERAL (
                       SELECT * FROM dag_version WHERE id = run.version_id LIMIT 1) AS version
                 WHERE run.id = ANY (:ids)) AS it
         WHERE run.id = it.id AND CASE run.state WHEN 'queued' THEN true END
     RETURNING run.id, run.dag_id, run.version_id, it.look OR it.again AS look, it.again,
               it.limited, it.lane
    ), woken AS (
        INSERT INTO wake (dag_run_id) SELECT id FROM started WHERE look
    )
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, state, pool, pool_slots, queue,
                               priority, rank, lane, limited, up_total, scheduled_at)
    SELECT started.id, started.dag_id, task.task_id,
           CASE WHEN task.starts AND NOT started.look THEN 'scheduled' ELSE 'none' END,
           task.pool, task.pool_slots, task.queue, task.priority,
           extract(epoch FROM CAST(:now AS timestamptz))
           - task.priority * CAST(:aging AS numeric) + started.lane * 1e12, started.lane,
           started.limited OR started.lane > 0 OR task.max_active_tis_per_dag IS NOT NULL
                           OR task.max_active_tis_per_dagrun IS NOT NULL,
           task.upstreams,
           CASE WHEN task.starts AND NOT started.look THEN CAST(:now AS timestamptz) END
      FROM started
     CROSS JOIN LATERAL (
           SELECT * FROM dag_task WHERE version_id = started.version_id OFFSET 0) AS task
     WHERE NOT started.again
        OR NOT EXISTS (SELECT FROM task_instance AS it
                        WHERE it.dag_run_id = started.id AND it.task_id = task.task_id)
     ORDER BY started.id, task.position
""")

# depends_on_past: tasks of the runs after this one may wait for its own.  A run that is not
# running yet is looked at when it starts, and then sees what this has written, or waits.
# LATERAL and LIMIT leave the planner no choice but to go from run to run by the index.
SETTLE = hot("""
    WITH settled AS (
        UPDATE dag_run AS run
           SET unfinished = it.unfinished, state = coalesce(it.state, run.state),
               ended_at = CASE WHEN it.state IS NOT NULL
                               THEN greatest(CAST(:now AS timestamptz), run.started_at) END
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
              AND (SELECT look_at_start FROM dag_version WHERE id = run.version_id)
           OFFSET 0) AS later
     WHERE (SELECT true FROM dag_version WHERE dag_id = settled.dag_id AND look_at_start LIMIT 1)
       AND (SELECT id FROM dag_run AS other
             WHERE other.dag_id = settled.dag_id
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
        return self.named or [self.run_type.run_id(it.data_interval.start) for it in self.infos]


def create(conn: Connection, new: Sequence[NewRuns]) -> set[tuple[str, str]]:
    """Create runs, in state queued; return DAG and run id of those that did not exist yet."""
    infos = [(number, info, it) for number, it in enumerate(new, 1) for info in it.infos]
    parameters = {
        "dag_ids": [it.dag_id for it in new],
        "run_types": [str(it.run_type) for it in new],
        "confs": [dumps(dict(it.conf)) for it in new],
        "version_ids": [it.version_id for it in new],
        "backfill_ids": [it.backfill_id for it in new],
        "partitions": [it.partitions for it in new],
        "numbers": [number for number, _, _ in infos],
        "run_ids": [name for it in new for name in it.run_ids()],
        "starts": [info.data_interval.start for _, info, _ in infos],
        "ends": [info.data_interval.end for _, info, _ in infos],
        "dates": [info.run_after for _, info, _ in infos],
        "run_afters": [it.places.get(info.run_after, info.run_after) for _, info, it in infos],
    }
    return {(row.dag_id, row.run_id) for row in conn.execute(CREATE, parameters)}


def free_run_slots(
    conn: Connection, max_active_runs: Mapping[str, int]
) -> dict[str, dict[int | None, int]]:
    """Return how many more runs may be active in each lane of these locked DAGs."""
    free: dict[str, dict[int | None, int]] = {}
    for row in conn.execute(FREE_LANES, {"dag_ids": list(max_active_runs)}):
        limit = row.most if row.backfill_id else max_active_runs[row.dag_id]
        free.setdefault(row.dag_id, {})[row.backfill_id] = limit - row.running
    return free


def queued(
    conn: Connection,
    free: Mapping[str, Mapping[int | None, int]],
    now: datetime,
    limit: int,
    scope: Scope,
) -> dict[str, list[QueuedRun]]:
    """Return the queued runs that find room in these lanes of locked DAGs, oldest first, by DAG."""
    lanes = [(dag_id, lane, room) for dag_id in free for lane, room in free[dag_id].items()]
    parameters = {
        "dag_ids": [dag_id for dag_id, _, _ in lanes],
        "backfill_ids": [lane for _, lane, _ in lanes],
        "free": [room for _, _, room in lanes],
    }
    waiting: dict[str, list[QueuedRun]] = {}
    given = {"now": now, "limit": limit, **scope.parameters()}
    for row in conn.execute(QUEUED, parameters | given):
        waiting.setdefault(row.dag_id, []).append(QueuedRun(row.id, row.backfill_id, row.asked))
    return waiting


def start(conn: Connection, ids: Sequence[int], now: datetime, aging: float) -> None:
    """Start runs: they get their task instances, and the first of these are scheduled."""
    conn.execute(START, {"ids": list(ids), "now": now, "aging": aging})


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
