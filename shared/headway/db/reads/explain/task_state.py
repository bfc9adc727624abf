"""SQL on what holds a task instance: its DAG, run, attempt, and what is around them.  Reads only.

Each statement has a snapshot of its own: behind a pooler there is no way to ask for one that
is the same for all.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text

from headway.decide.explain.snapshot import (
    AskedRunRow,
    AttemptRow,
    DagRow,
    EventRow,
    InstancesRow,
    ProcessRow,
    RunRow,
    TaskRow,
)
from headway.domain.spark_work import outliving
from headway.domain.states import TERMINAL, Outcome, Phase, RunState, TaskState

READ_ONLY = text("SET TRANSACTION READ ONLY")

DAG = text("""
    SELECT dag_id, relative_path, active, paused, max_active_runs, max_active_tasks,
           planned_version_id IS NOT DISTINCT FROM version_id AS planned,
           CASE WHEN next_interval_start IS NOT NULL THEN next_run_after END AS next_run_after,
           CASE WHEN next_interval_start IS NULL THEN next_run_after END AS asked_again_at,
           next_interval_start, next_run_below, schedule_error
      FROM dag
     WHERE dag_id = :dag_id
""")

RUN = text("""
    SELECT run.id, run.dag_id, run.run_id, run.state, run.run_after, run.version_id,
           version.number AS version, run.backfill_id, run.lock_id, run.end_as,
           run.pinned, run.parse_requested_at
      FROM dag_run AS run
      JOIN dag_version AS version ON version.id = run.version_id
     WHERE (CAST(:id AS bigint) IS NULL OR run.id = :id)
       AND (CAST(:dag_id AS text) IS NULL OR (run.dag_id, run.run_id) = (:dag_id, :run_id))
""")

# Unless one is named, that instance of a mapped task about which there is most to say.
TASK = text("""
    SELECT id, task_id, map_index, state, attempt, failures, losses, pool, pool_slots, queue,
           priority, rank, retry_at, started_at, ended_at
      FROM task_instance
     WHERE dag_run_id = :run AND task_id = :task_id
       AND (CAST(:map_index AS int) IS NULL OR map_index = :map_index)
     ORDER BY CASE WHEN state = ANY (:terminal) THEN CASE state WHEN 'failed' THEN 3 ELSE 4 END
                   WHEN state IN ('running', 'restarting') THEN 2
                   WHEN state = 'queued' THEN 1
                   ELSE 0 END,
              map_index
     LIMIT 1
""")

INSTANCES_BY_STATE = text("""
    SELECT state, count(*) AS instances, min(map_index) AS first, max(map_index) AS last
      FROM task_instance
     WHERE dag_run_id = :run AND task_id = :task_id
     GROUP BY state
     ORDER BY state
""")

ATTEMPT = text("""
    SELECT it.attempt, it.phase, it.outcome, it.error, it.queued_at, it.started_at, it.ended_at,
           it.process_id, coalesce(lease.expires_at, it.claimed_until) AS lease_until, it.stop_to,
           it.handle
      FROM task_attempt AS it
      LEFT JOIN lease
        ON (lease.task_instance_id, lease.attempt) = (it.task_instance_id, it.attempt)
     WHERE it.task_instance_id = :task
     ORDER BY it.attempt DESC
     LIMIT 1
""")

ASKED_RUN = text("""
    SELECT request.dag_id, request.waits, request.answered_at IS NOT NULL AS answered,
           request.answer_run_id AS run_id, run.state
      FROM run_request AS request
      LEFT JOIN dag_run AS run
        ON run.dag_id = request.dag_id AND run.run_id = request.answer_run_id
     WHERE request.task_instance_id = :task AND request.attempt = :attempt
     ORDER BY request.number DESC
     LIMIT 1
""")

# While the database was away nobody could beat: that time is held against no one.
PROCESSES = text("""
    SELECT process.id, kind, hostname, pid,
           CASE WHEN kind = 'worker' OR slots > 0 THEN slots ELSE :parallelism END AS slots,
           CASE WHEN kind = 'worker' THEN coalesce(has.running, 0)
                ELSE coalesce(owned.count, 0) END AS busy,
           CAST(extract(epoch FROM clock_timestamp()
                        - greatest(beat.beat_at, pg_postmaster_start_time())) AS float8) AS silent,
           greatest(beat.beat_at, pg_postmaster_start_time())
           >= clock_timestamp() - make_interval(secs => :threshold) AS alive,
           drain_requested_at IS NOT NULL AS draining, beat.clock_skew,
           kind IN ('scheduler', 'backfill') AND :max_clock_skew > 0
           AND coalesce(abs(beat.clock_skew) > :max_clock_skew, false) AS clock_is_wrong
      FROM process
      JOIN process_beat AS beat ON beat.process_id = process.id
      LEFT JOIN (SELECT process_id, count(*) AS running FROM task_attempt
                  WHERE ended_at IS NULL GROUP BY process_id) AS has
        ON has.process_id = process.id
      LEFT JOIN (SELECT scheduler_id, count(*) FROM task_attempt
                  WHERE ended_at IS NULL GROUP BY scheduler_id) AS owned
        ON owned.scheduler_id = process.id
     WHERE ended_at IS NULL
       AND (kind = ANY (CAST(:kinds AS text[])) OR process.id = :id)
       AND (CAST(:queue AS text) IS NULL OR :queue = ANY (queues))
     ORDER BY process.id
""")

EVENT = text("""
    SELECT at, actor, action, details ->> 'reason' AS reason, details ->> 'problem' AS problem
      FROM event
     WHERE dag_id = :dag_id AND run_id = :run_id
       AND (task_id IS NULL AND action LIKE 'run.%' OR task_id = :task_id
            OR details -> 'tasks' IS NOT NULL
               AND CAST(details -> 'tasks' AS jsonb) @> to_jsonb(CAST(:task_id AS text)))
     ORDER BY id DESC
     LIMIT 1
""")


def read_only(conn: Connection) -> None:
    """Have the database refuse anything but reading, for the rest of the transaction."""
    conn.execute(READ_ONLY)


def dag(conn: Connection, dag_id: str) -> DagRow | None:
    """Return the DAG, if there is one."""
    row = conn.execute(DAG, {"dag_id": dag_id}).mappings().one_or_none()
    return None if row is None else DagRow(**row)


def run(
    conn: Connection,
    dag_id: str | None = None,
    run_id: str | None = None,
    *,
    number: int | None = None,
) -> RunRow | None:
    """Return the run, by its name or by its number, if there is one."""
    row = (
        conn.execute(RUN, {"dag_id": dag_id, "run_id": run_id, "id": number})
        .mappings()
        .one_or_none()
    )
    if row is None:
        return None
    kinds: dict[str, Any] = {
        "state": RunState(row["state"]),
        "end_as": row["end_as"] and RunState(row["end_as"]),
    }
    return RunRow(**{**row, **kinds})


def task(conn: Connection, run: int, task_id: str, map_index: int | None) -> TaskRow | None:
    """Return an instance of the task: that one, or else the one that there is most to say about."""
    parameters = {"run": run, "task_id": task_id, "map_index": map_index}
    row = conn.execute(TASK, {**parameters, "terminal": sorted(TERMINAL)}).mappings().one_or_none()
    return None if row is None else TaskRow(**{**row, "state": TaskState(row["state"])})


def instances_by_state(conn: Connection, run: int, task_id: str) -> list[InstancesRow]:
    """Return how many instances of the task are in which state."""
    rows = conn.execute(INSTANCES_BY_STATE, {"run": run, "task_id": task_id}).mappings()
    return [InstancesRow(**row) for row in rows]


def attempt(conn: Connection, task: int) -> AttemptRow | None:
    """Return the last attempt of a task instance, if it has any."""
    row = conn.execute(ATTEMPT, {"task": task}).mappings().one_or_none()
    if row is None:
        return None
    kinds: dict[str, Any] = {
        "phase": Phase(row["phase"]),
        "outcome": row["outcome"] and Outcome(row["outcome"]),
        "stop_to": row["stop_to"] and TaskState(row["stop_to"]),
    }
    known = {name: value for name, value in row.items() if name != "handle"}
    return AttemptRow(**{**known, **kinds}, left=outliving(row["handle"]))


def asked_run(conn: Connection, task: int, attempt: int) -> AskedRunRow | None:
    """Return the last run that an attempt of a task instance has asked for, if any."""
    row = conn.execute(ASKED_RUN, {"task": task, "attempt": attempt}).mappings().one_or_none()
    if row is None:
        return None
    return AskedRunRow(**{**row, "state": row["state"] and RunState(row["state"])})


def processes(
    conn: Connection,
    known: Mapping[str, float],
    kinds: Sequence[str] = (),
    *,
    queue: str | None = None,
    number: int | None = None,
) -> list[ProcessRow]:
    """Return those processes of these kinds, or the one, that have not ended.

    Those that serve `queue` only, if it is given.  `known` are `threshold`, the seconds of
    silence after which one is dead, the `parallelism` of those that have not said theirs, and
    `max_clock_skew`.
    """
    parameters = {**known, "kinds": list(kinds), "queue": queue, "id": number}
    return [ProcessRow(**row) for row in conn.execute(PROCESSES, parameters).mappings()]


def event(conn: Connection, run: RunRow, task_id: str) -> EventRow | None:
    """Return the last entry of the journal about the run, or about the task in it."""
    parameters = {"dag_id": run.dag_id, "run_id": run.run_id, "task_id": task_id}
    row = conn.execute(EVENT, parameters).mappings().one_or_none()
    return None if row is None else EventRow(**row)
