"""SQL on DAG runs: create, start, settle, end."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from json import dumps

from sqlalchemy import Connection, text

from headway.decide.start import QueuedRun
from headway.domain.arguments import JsonValue
from headway.domain.states import RunState, RunType
from headway.timetables.base import DagRunInfo

# An interval that has a run already is left alone, whoever created it.
CREATE = text("""
    INSERT INTO dag_run (dag_id, run_id, run_type, schedule_date, interval_start, interval_end,
                         run_after, conf, version_id, backfill_id)
    SELECT :dag_id, new.run_id, :run_type, new.run_after, new.interval_start, new.interval_end,
           new.run_after, CAST(:conf AS json), :version_id, :backfill_id
      FROM unnest(CAST(:run_ids AS text[]), CAST(:starts AS timestamptz[]),
                  CAST(:ends AS timestamptz[]), CAST(:run_afters AS timestamptz[]))
           AS new (run_id, interval_start, interval_end, run_after)
     ORDER BY new.run_after
        ON CONFLICT DO NOTHING
 RETURNING run_id
""")

# Only as many runs of a lane (a backfill, or the DAG's own runs) as may start, so that
# a long backfill does not push the others out of the batch.
QUEUED = text("""
    SELECT waiting.id, lane.dag_id, lane.backfill_id
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:backfill_ids AS bigint[]),
                  CAST(:free AS int[])) AS lane (dag_id, backfill_id, free)
     CROSS JOIN LATERAL (
           SELECT id, run_after FROM dag_run
            WHERE dag_id = lane.dag_id AND backfill_id IS NOT DISTINCT FROM lane.backfill_id
              AND state = 'queued' AND run_after <= :now
            ORDER BY run_after, id
            LIMIT greatest(lane.free, 0)) AS waiting
     ORDER BY waiting.run_after, waiting.id
     LIMIT :limit
""")

FREE_LANES = text("""
    SELECT dag_run.dag_id, dag_run.backfill_id, backfill.max_active_runs,
           count(*) FILTER (WHERE dag_run.state = 'running') AS running
      FROM dag_run
      LEFT JOIN backfill ON backfill.id = dag_run.backfill_id
     WHERE dag_run.dag_id = ANY (:dag_ids) AND dag_run.state IN ('queued', 'running')
     GROUP BY dag_run.dag_id, dag_run.backfill_id, backfill.max_active_runs
""")

LOCK_QUEUED = text("""
    SELECT id
      FROM dag_run
     WHERE id = ANY (:ids) AND state = 'queued'
     ORDER BY id
       FOR NO KEY UPDATE SKIP LOCKED
""")

START = text("""
    WITH started AS (
        UPDATE dag_run SET state = 'running', started_at = :now
         WHERE id = ANY (:ids) AND state = 'queued'
     RETURNING id, dag_id, version_id
    ), woken AS (
        INSERT INTO wake (dag_run_id) SELECT id FROM started
    )
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, pool, pool_slots, queue, priority)
    SELECT started.id, started.dag_id, task.task_id, task.pool, task.pool_slots, task.queue,
           task.priority
      FROM started
      JOIN dag_task AS task ON task.version_id = started.version_id
     ORDER BY started.id, task.position
""")

LOCK_WOKEN = text("""
    SELECT id, version_id, state
      FROM dag_run
     WHERE id IN (SELECT dag_run_id FROM wake)
       AND NOT version_id = ANY (CAST(:unreadable AS bigint[]))
     ORDER BY id
     LIMIT :limit
       FOR NO KEY UPDATE SKIP LOCKED
""")

# depends_on_past: a task of the run after this one may wait for its own end in this one.
# A queued run counts: it may start, and be settled on the old states, before this commits.
FOLLOWING = text("""
    SELECT following.id, following.version_id
      FROM dag_run AS settled
     CROSS JOIN LATERAL (
           SELECT id, version_id, state FROM dag_run
            WHERE dag_id = settled.dag_id
              AND (schedule_date, id) > (settled.schedule_date, settled.id)
            ORDER BY schedule_date, id
            LIMIT 1) AS following
     WHERE settled.id = ANY (:runs) AND following.state IN ('queued', 'running')
""")

END = text("""
    UPDATE dag_run SET state = :state, ended_at = :now WHERE id = ANY (:ids) AND state = 'running'
""")


@dataclass(frozen=True, slots=True)
class NewRuns:
    """Runs of one DAG to create, oldest first, pinned to a version."""

    dag_id: str
    run_type: RunType
    version_id: int
    infos: Sequence[DagRunInfo]
    conf: Mapping[str, JsonValue]
    backfill_id: int | None = None

    def run_ids(self) -> list[str]:
        """Return what the runs are called: their type and the start of their interval."""
        return [f"{self.run_type}__{info.data_interval.start.isoformat()}" for info in self.infos]


@dataclass(frozen=True, slots=True)
class WokenRun:
    """A locked run in which something has changed."""

    id: int
    version_id: int
    state: RunState


def create(conn: Connection, new: NewRuns, run_ids: Sequence[str] = ()) -> list[str]:
    """Create runs, in state queued; return the ids of those that did not exist yet."""
    rows = conn.scalars(
        CREATE,
        {
            "dag_id": new.dag_id,
            "run_type": str(new.run_type),
            "version_id": new.version_id,
            "backfill_id": new.backfill_id,
            "conf": dumps(dict(new.conf)),
            "run_ids": list(run_ids or new.run_ids()),
            "starts": [info.data_interval.start for info in new.infos],
            "ends": [info.data_interval.end for info in new.infos],
            "run_afters": [info.run_after for info in new.infos],
        },
    )
    return list(rows)


def queued(
    conn: Connection, free: Mapping[str, Mapping[int | None, int]], now: datetime, limit: int
) -> dict[str, list[QueuedRun]]:
    """Return the queued runs that find room in these lanes of locked DAGs, oldest first, by DAG."""
    lanes = [(dag_id, lane, room) for dag_id in free for lane, room in free[dag_id].items()]
    rows = conn.execute(
        QUEUED,
        {
            "dag_ids": [dag_id for dag_id, _, _ in lanes],
            "backfill_ids": [lane for _, lane, _ in lanes],
            "free": [room for _, _, room in lanes],
            "now": now,
            "limit": limit,
        },
    )
    waiting: dict[str, list[QueuedRun]] = {}
    for row in rows:
        waiting.setdefault(row.dag_id, []).append(QueuedRun(row.id, row.backfill_id))
    return waiting


def free_lanes(
    conn: Connection, max_active_runs: Mapping[str, int]
) -> dict[str, dict[int | None, int]]:
    """Return how many more runs may be active in each lane of these locked DAGs."""
    free: dict[str, dict[int | None, int]] = {}
    for row in conn.execute(FREE_LANES, {"dag_ids": list(max_active_runs)}):
        limit = row.max_active_runs if row.backfill_id else max_active_runs[row.dag_id]
        free.setdefault(row.dag_id, {})[row.backfill_id] = limit - row.running
    return free


def lock_queued(conn: Connection, ids: Sequence[int]) -> list[int]:
    """Lock those of these runs that are queued and that no other transaction holds."""
    return list(conn.scalars(LOCK_QUEUED, {"ids": list(ids)}))


def start(conn: Connection, ids: Sequence[int], now: datetime) -> None:
    """Start runs: they get their task instances, and are looked at next."""
    conn.execute(START, {"ids": list(ids), "now": now})


def lock_woken(conn: Connection, limit: int, unreadable: Collection[int] = ()) -> list[WokenRun]:
    """Lock runs in which something has changed, the oldest first; none of `unreadable` versions."""
    rows = conn.execute(LOCK_WOKEN, {"limit": limit, "unreadable": list(unreadable)})
    return [WokenRun(row.id, row.version_id, RunState(row.state)) for row in rows]


def following(conn: Connection, settled: Sequence[int]) -> dict[int, int]:
    """Return the unfinished runs that come after these in their DAG's schedule: id to version."""
    rows = conn.execute(FOLLOWING, {"runs": list(settled)})
    return {row.id: row.version_id for row in rows}


def end(conn: Connection, ids: Sequence[int], state: RunState, now: datetime) -> None:
    """End running runs of which every task has ended."""
    conn.execute(END, {"ids": list(ids), "state": str(state), "now": now})
