"""SQL on how runs stand: what the settling of a run is decided on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Connection, Row, text

from headway.db.core.prepared import hot
from headway.db.scheduling.scope import ANY_RUN, KeyFilter, Scope
from headway.decide.scheduling.advance import Undecided
from headway.decide.scheduling.run_counts import NO_INDEXES, TaskCounts
from headway.domain.dag.trigger_rules import Tally
from headway.domain.states import RunState, TaskState

# Woken runs are found by hopping through the index of wakes, and each is locked as it is found:
# no further one is looked for when there are enough.
LOCK_WOKEN = hot("""
    WITH RECURSIVE hop AS (
        (SELECT dag_run_id FROM wake ORDER BY dag_run_id LIMIT 1)
         UNION ALL
        SELECT (SELECT dag_run_id FROM wake
                 WHERE wake.dag_run_id > hop.dag_run_id ORDER BY dag_run_id LIMIT 1)
          FROM hop WHERE hop.dag_run_id IS NOT NULL
    )
    SELECT its.*
      FROM hop
     CROSS JOIN LATERAL (
           SELECT id, version_id, state, unfinished, end_as, timed_out
             FROM dag_run
            WHERE id = hop.dag_run_id
              AND NOT version_id = ANY (CAST(:unreadable AS bigint[]))
              AND (lock_id = :job OR lock_id IS NULL AND NOT :own_alone)
              AND NOT id = ANY (CAST(:aside AS bigint[]))
              AND (CAST(:only AS bigint[]) IS NULL OR id = ANY (CAST(:only AS bigint[])))
            LIMIT 1
              FOR NO KEY UPDATE SKIP LOCKED) AS its
     LIMIT :limit
""")


# One statement, so that it deletes the wakes of exactly those changes that it sees.
WHOLE = hot("""
    WITH taken AS (
        DELETE FROM wake WHERE dag_run_id = ANY (:runs)
    )
    SELECT dag_run_id, task_id, state, count(*) AS instances, min(map_index) AS first_index,
           CASE WHEN state = 'none' THEN array_agg(id ORDER BY map_index) END AS undecided,
           jsonb_object_agg(map_index, skips) FILTER (WHERE skips <> '{}') AS skips,
           CASE WHEN task_id = ANY (CAST(:grouped AS text[]))
                THEN array_agg(map_index ORDER BY map_index) END AS indexes
      FROM task_instance
     WHERE dag_run_id = ANY (:runs)
     GROUP BY dag_run_id, task_id, state
""")


# LATERAL with a LIMIT, in both, leaves the planner no choice but to look each up by its key.
BELOW_BY_INDEX = hot("""
    SELECT task.id, task.dag_run_id, task.task_id, task.map_index, up_total, up_success, up_failed,
           up_upstream_failed, up_skipped, up_removed
      FROM unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), CAST(:indexes AS int[]))
           AS it (run, task_id, map_index)
     CROSS JOIN LATERAL (
           SELECT * FROM task_instance AS task
            WHERE (task.dag_run_id, task.map_index, task.task_id)
                  = (it.run, it.map_index, it.task_id)
            LIMIT 1) AS task
     WHERE task.state = 'none'
""")


BELOW = hot("""
    SELECT task.id, task.dag_run_id, task.task_id, up_total, up_success, up_failed,
           up_upstream_failed, up_skipped, up_removed
      FROM unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[])) AS it (run, task_id)
     CROSS JOIN LATERAL (
           SELECT * FROM task_instance AS task
            WHERE (task.dag_run_id, task.map_index, task.task_id) = (it.run, -1, it.task_id)
            LIMIT 1) AS task
     WHERE task.state = 'none'
""")


# The run before is one that was there first, or is of the same backfill, which starts its runs
# in the order of time: so none waits for a run that cannot start before it.  Runs that somebody
# has triggered are not part of the past.
PREVIOUS = text("""
    SELECT run.id AS run_id, previous.id
      FROM dag_run AS run
     CROSS JOIN LATERAL (
           SELECT id FROM dag_run
            WHERE dag_id = run.dag_id AND (id < run.id OR backfill_id = run.backfill_id)
              AND run_type <> 'manual'
              AND (schedule_date, id) < (run.schedule_date, run.id)
            ORDER BY schedule_date DESC, id DESC
            LIMIT 1) AS previous
     WHERE run.id = ANY (:runs)
""")


# Against its being settled meanwhile, unseen from here and without seeing this run.
LOCK_PREVIOUS = text("""
    SELECT id, state FROM dag_run WHERE id = ANY (:ids) ORDER BY id FOR SHARE SKIP LOCKED
""")


PAST = text("""
    SELECT DISTINCT dag_run_id, task_id, state FROM task_instance WHERE dag_run_id = ANY (:ids)
""")


# A backfill runs what it is asked for, whatever the dates of single tasks.
DATES = text("""
    SELECT id, interval_start FROM dag_run WHERE id = ANY (:runs) AND run_type <> 'backfill'
""")


@dataclass(frozen=True, slots=True)
class WokenRun:
    """A locked run in which something has changed.

    `unfinished` counts the task instances that have not ended; None when it must be looked
    at as a whole.  It `timed_out` when that is why it is to end.
    """

    id: int
    version_id: int
    state: RunState
    unfinished: int | None
    end_as: RunState | None
    timed_out: bool = False


@dataclass(slots=True)
class RunSnapshot:
    """How all tasks of a run stand, and which of them others, by task and map index, skip."""

    tasks: dict[str, TaskCounts] = field(default_factory=dict)
    skips: dict[tuple[str, int], Collection[str]] = field(default_factory=dict)


Past: TypeAlias = Mapping[str, Collection[TaskState]]
"""In which states the tasks of a run are."""


def lock_woken(
    conn: Connection,
    limit: int,
    scope: Scope,
    unreadable: Collection[int] = (),
    choice: KeyFilter[int] = ANY_RUN,
) -> list[WokenRun]:
    """Lock runs in scope in which something has changed, the oldest first.

    None of an `unreadable` version.
    """
    parameters = {"limit": limit, "unreadable": list(unreadable)}
    parameters |= scope.parameters() | choice.parameters()
    return [
        WokenRun(
            row.id,
            row.version_id,
            RunState(row.state),
            row.unfinished,
            row.end_as and RunState(row.end_as),
            row.timed_out,
        )
        for row in conn.execute(LOCK_WOKEN, parameters)
    ]


@dataclass(slots=True)
class SnapshotRows:
    """A snapshot while it is put together of rows, each about a task and a state."""

    snapshot: RunSnapshot = field(default_factory=RunSnapshot)
    _counts: dict[str, dict[TaskState, int]] = field(default_factory=dict)
    _by_index: dict[str, dict[int, TaskState]] = field(default_factory=dict)

    def add(self, row: Row[Any]) -> None:
        """Enter how many instances are in a state, which chose something, and their map indexes."""
        task_id, state = row.task_id, TaskState(row.state)
        for map_index, skips in (row.skips or {}).items():
            self.snapshot.skips[task_id, int(map_index)] = skips
        counts = self._counts.setdefault(task_id, {})
        counts[state] = row.instances
        by_index: Mapping[int, TaskState] = NO_INDEXES
        if row.indexes is not None:
            its = self._by_index.setdefault(task_id, {})
            its.update(dict.fromkeys(row.indexes, state))
            by_index = its
        if row.undecided or task_id not in self.snapshot.tasks:
            placeholder = bool(row.undecided) and row.first_index < 0
            self.snapshot.tasks[task_id] = TaskCounts(
                counts, row.undecided or (), placeholder, by_index
            )


def whole(
    conn: Connection, runs: Sequence[int], grouped: Collection[str] = ()
) -> dict[int, RunSnapshot]:
    """Return how locked runs stand, and remove the wakes that this takes into account.

    The tasks `grouped`, which are in mapped groups, are told of by map index.
    """
    found = {run: SnapshotRows() for run in runs}
    for row in conn.execute(WHOLE, {"runs": list(runs), "grouped": sorted(grouped)}):
        found[row.dag_run_id].add(row)
    return {run: rows.snapshot for run, rows in found.items()}


def below(conn: Connection, wanted: Mapping[int, Collection[str]]) -> dict[int, list[Undecided]]:
    """Return the undecided instances of these tasks, by run, with the counts kept on them."""
    pairs = [(run, task_id) for run, task_ids in wanted.items() for task_id in task_ids]
    found: dict[int, list[Undecided]] = {run: [] for run in wanted}
    if not pairs:
        return found
    parameters = {"runs": [run for run, _ in pairs], "task_ids": [task for _, task in pairs]}
    for row in conn.execute(BELOW, parameters):
        found[row[1]].append(Undecided(row[0], row[2], Tally(*row[3:])))
    return found


def below_by_index(
    conn: Connection, wanted: Mapping[int, Collection[tuple[str, int]]]
) -> dict[int, list[Undecided]]:
    """Return the undecided among these instances, by run, with the counts kept on them."""
    keys = [(run, *key) for run, its in wanted.items() for key in its]
    found: dict[int, list[Undecided]] = {run: [] for run in wanted}
    if not keys:
        return found
    parameters = {
        "runs": [run for run, _, _ in keys],
        "task_ids": [task_id for _, task_id, _ in keys],
        "indexes": [map_index for _, _, map_index in keys],
    }
    for row in conn.execute(BELOW_BY_INDEX, parameters):
        found[row[1]].append(Undecided(row[0], row[2], Tally(*row[4:]), row[3]))
    return found


def previous(conn: Connection, runs: Sequence[int]) -> tuple[dict[int, int], dict[int, RunState]]:
    """Lock the run before each of these; return it by run, and the states of those locked.

    A run that is the first of its DAG is left out.  A run before that is not among the
    locked ones is being settled by another scheduler.
    """
    if not runs:
        return {}, {}
    before = {row.run_id: row.id for row in conn.execute(PREVIOUS, {"runs": list(runs)})}
    locked = conn.execute(LOCK_PREVIOUS, {"ids": sorted(set(before.values()))})
    return before, {row.id: RunState(row.state) for row in locked}


def past(conn: Connection, runs: Collection[int]) -> dict[int, Past]:
    """Return in which states the tasks of these runs are, by run."""
    found: dict[int, dict[str, set[TaskState]]] = {run: {} for run in runs}
    if runs:
        for row in conn.execute(PAST, {"ids": sorted(runs)}):
            states = found[row.dag_run_id].setdefault(row.task_id, set())
            states.add(TaskState(row.state))
    return dict(found)


def dates(conn: Connection, runs: Collection[int]) -> dict[int, datetime]:
    """Return the logical dates of those runs in which tasks keep to their own dates."""
    if not runs:
        return {}
    rows = conn.execute(DATES, {"runs": sorted(runs)})
    return {row.id: row.interval_start for row in rows}


# A task that was skipped as a whole has left nothing to expand over: that is known.
LENGTHS = text("""
    WITH wanted AS MATERIALIZED (
        SELECT DISTINCT *
          FROM unnest(CAST(:runs AS bigint[]), CAST(:task_ids AS text[]), CAST(:keys AS text[]))
               AS wanted (run, task_id, key)
    )
    SELECT wanted.run, wanted.task_id, wanted.key,
           CASE WHEN task.id IS NULL THEN mapped.length
                WHEN task.state = 'skipped' THEN coalesce(xcom.length, 0)
                ELSE xcom.length
            END AS length
      FROM wanted
      LEFT JOIN task_instance AS task
        ON task.dag_run_id = wanted.run AND task.map_index = -1 AND task.task_id = wanted.task_id
      LEFT JOIN xcom
        ON (xcom.task_instance_id, xcom.attempt, xcom.key) = (task.id, task.attempt, wanted.key)
      LEFT JOIN LATERAL (
        SELECT CASE WHEN count(*) > 0 THEN count(it.key) END AS length
          FROM task_instance AS instance
          LEFT JOIN LATERAL (
            SELECT key FROM xcom
             WHERE (task_instance_id, attempt, key) = (instance.id, instance.attempt, wanted.key)
             LIMIT 1
          ) AS it ON instance.state = 'success'
         WHERE instance.dag_run_id = wanted.run AND instance.map_index >= 0
           AND instance.task_id = wanted.task_id
      ) AS mapped ON task.id IS NULL
""")


def lengths(
    conn: Connection, wanted: Sequence[tuple[int, str, str]]
) -> dict[tuple[int, str, str], int | None]:
    """Return how many items there are to expand over, for each (run, task, key).

    Those of the list or dictionary that the task has left; of a mapped task, the number
    of instances that left something.  0 for a task that was skipped; None when there is
    neither a list nor a dictionary, or no such task, or one that is still to be expanded.
    """
    if not wanted:
        return {}
    rows = conn.execute(
        LENGTHS,
        {
            "runs": [run for run, _, _ in wanted],
            "task_ids": [task_id for _, task_id, _ in wanted],
            "keys": [key for _, _, key in wanted],
        },
    )
    return {(row.run, row.task_id, row.key): row.length for row in rows}
