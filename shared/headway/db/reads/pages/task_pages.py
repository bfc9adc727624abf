"""Task instances of one run, of one DAG, or of all, page by page.  Reads only."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final, cast

from sqlalchemy import Connection, text

from headway.db.core.prepared import hot
from headway.db.reads.pages import paging
from headway.db.reads.pages.attempt_pages import InstanceName
from headway.db.reads.pages.columns import values_of
from headway.db.reads.pages.cursors import Key, PagedList
from headway.db.reads.pages.paging import (
    ALWAYS,
    ANY_DURATION,
    MOST_ROWS,
    Asked,
    CappedTotal,
    DurationRange,
    ListPage,
    Looked,
    TimeRange,
)
from headway.db.reads.task_views import TaskView
from headway.domain.states import TERMINAL, TaskState

# Runs are walked through by number, and of each run its task instances are read by an index.  The
# condition on `run.id` follows from the one on both numbers; it bounds the walk.
KEYS = text("""
    WITH found AS (
        SELECT dag_run_id, id, matches, number = :rows AS is_end
          FROM (SELECT dag_run_id, id, row_number() OVER () AS number,
                       (CAST(:bundles AS text[]) IS NULL
                        OR (SELECT bundle FROM dag WHERE dag.dag_id = task.dag_id)
                           = ANY (CAST(:bundles AS text[])))
                       AND (CAST(:dag_ids AS text[]) IS NULL
                            OR dag_id = ANY (CAST(:dag_ids AS text[])))
                       AND (CAST(:dag_id_like AS text) IS NULL OR dag_id ILIKE :dag_id_like)
                       AND (CAST(:run_ids AS text[]) IS NULL
                            OR run_id = ANY (CAST(:run_ids AS text[])))
                       AND (CAST(:run_id_like AS text) IS NULL OR run_id ILIKE :run_id_like)
                       AND (CAST(:task_id AS text) IS NULL OR task_id = :task_id)
                       AND (CAST(:task_ids AS text[]) IS NULL
                            OR task_id = ANY (CAST(:task_ids AS text[])))
                       AND (CAST(:name_like AS text) IS NULL
                            OR coalesce((SELECT its.definition ->> 'task_display_name'
                                           FROM dag_task AS it
                                           JOIN task_definition AS its
                                             ON its.hash = it.definition_hash
                                          WHERE it.version_id = task.version_id
                                            AND it.task_id = task.task_id), task_id)
                               ILIKE :name_like)
                       AND (CAST(:states AS text[]) IS NULL
                            OR state = ANY (CAST(:states AS text[])))
                       AND (CAST(:pools AS text[]) IS NULL OR pool = ANY (CAST(:pools AS text[])))
                       AND (CAST(:queues AS text[]) IS NULL
                            OR queue = ANY (CAST(:queues AS text[])))
                       AND (CAST(:operators AS text[]) IS NULL
                            OR (SELECT it.operator FROM dag_task AS it
                                 WHERE it.version_id = task.version_id
                                   AND it.task_id = task.task_id)
                               = ANY (CAST(:operators AS text[])))
                       AND (CAST(:pool_like AS text) IS NULL OR pool ILIKE :pool_like)
                       AND (CAST(:queue_like AS text) IS NULL OR queue ILIKE :queue_like)
                       AND (CAST(:operator_like AS text) IS NULL
                            OR (SELECT it.operator FROM dag_task AS it
                                 WHERE it.version_id = task.version_id
                                   AND it.task_id = task.task_id) ILIKE :operator_like)
                       AND (CAST(:versions AS int[]) IS NULL
                            OR (SELECT version.number FROM dag_version AS version
                                 WHERE version.id = task.version_id)
                               = ANY (CAST(:versions AS int[])))
                       AND (CAST(:mapped AS boolean) IS NULL OR (map_index >= 0) = :mapped)
                       AND (CAST(:map_indexes AS int[]) IS NULL
                            OR map_index = ANY (CAST(:map_indexes AS int[])))
                       AND (CAST(:attempts AS int[]) IS NULL
                            OR attempt = ANY (CAST(:attempts AS int[])))
                       AND (CAST(:after_start AS timestamptz) IS NULL OR run_after >= :after_start)
                       AND (CAST(:after_end AS timestamptz) IS NULL OR run_after < :after_end)
                       AND (CAST(:date_start AS timestamptz) IS NULL
                            OR logical_date >= :date_start)
                       AND (CAST(:date_end AS timestamptz) IS NULL OR logical_date < :date_end)
                       AND (CAST(:started_start AS timestamptz) IS NULL
                            OR started_at >= :started_start)
                       AND (CAST(:started_end AS timestamptz) IS NULL OR started_at < :started_end)
                       AND (CAST(:ended_start AS timestamptz) IS NULL OR ended_at >= :ended_start)
                       AND (CAST(:ended_end AS timestamptz) IS NULL OR ended_at < :ended_end)
                       AND (CAST(:least AS float8) IS NULL
                            OR extract(epoch FROM ended_at - started_at) >= CAST(:least AS float8))
                       AND (CAST(:most_seconds AS float8) IS NULL
                            OR extract(epoch FROM ended_at - started_at)
                               <= CAST(:most_seconds AS float8))
                       AS matches
                  FROM (SELECT task.dag_run_id, task.id, task.dag_id, task.task_id, task.map_index,
                               task.state, task.attempt, task.pool, task.queue, task.started_at,
                               task.ended_at, run.run_id, run.version_id, run.run_after,
                               CASE WHEN run.run_type = 'manual' THEN run.schedule_date
                                    ELSE run.interval_start END AS logical_date
                          FROM dag_run AS run
                          JOIN task_instance AS task ON task.dag_run_id = run.id
                         WHERE (CAST(:dag_id AS text) IS NULL OR run.dag_id = :dag_id)
                           AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
                           AND (NOT :live OR run.state = 'queued' OR run.state = 'running')
                           AND CASE WHEN CAST(:last_run AS bigint) IS NULL THEN true
                                    WHEN :descending THEN run.id <= :last_run
                                    ELSE run.id >= :last_run END
                           AND CASE WHEN CAST(:last_run AS bigint) IS NULL THEN true
                                    WHEN :descending
                                    THEN (task.dag_run_id, task.id) < (:last_run, :last_id)
                                    ELSE (task.dag_run_id, task.id) > (:last_run, :last_id) END
                         ORDER BY CASE WHEN :descending THEN task.dag_run_id END DESC,
                                  CASE WHEN :descending THEN task.id END DESC,
                                  CASE WHEN NOT :descending THEN task.dag_run_id END,
                                  CASE WHEN NOT :descending THEN task.id END
                         LIMIT :rows) AS task) AS looked
         WHERE matches OR number = :rows
         LIMIT :most
    )
    SELECT dag_run_id, id, matches, is_end, matching
      FROM (SELECT *, count(*) FILTER (WHERE matches) OVER () AS matching,
                   row_number() OVER () AS nth, count(*) OVER () AS last
              FROM found) AS counted
     WHERE nth <= :shown OR nth = last
""")

# Where nothing narrows the list, the keys of an index are counted, the newest first: of the oldest,
# those that were deleted may still stand in it.
ALL = hot("""
    SELECT count(*) FROM (SELECT FROM task_instance ORDER BY id DESC LIMIT :most) AS counted
""")

ROWS = hot("""
    SELECT run.dag_id, run.run_id, task.task_id, task.map_index, task.state, task.attempt,
           task.failures, task.losses, task.pool, task.queue, task.priority, task.retry_at,
           task.started_at, task.ended_at, task.rendered_map_index,
           task.id, task.pool_slots, task.scheduled_at, last.queued_at, process.hostname,
           run.run_after, run.version_id,
           CASE WHEN run.run_type = 'manual' THEN run.schedule_date
                ELSE run.interval_start END AS logical_date, version.number AS version,
           version.created_at AS version_created_at, version.commit, dag.bundle, defined.operator,
           coalesce(CAST(definition.definition ->> 'retries' AS int), 0) AS retries,
           definition.definition ->> 'task_display_name' AS task_display_name
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN dag ON dag.dag_id = run.dag_id
      JOIN dag_version AS version ON version.id = run.version_id
      LEFT JOIN dag_task AS defined ON defined.version_id = run.version_id
                                   AND defined.task_id = task.task_id
      LEFT JOIN task_definition AS definition ON definition.hash = defined.definition_hash
      LEFT JOIN task_attempt AS last ON last.task_instance_id = task.id
                                    AND last.attempt = task.attempt
      LEFT JOIN process ON process.id = last.process_id
     WHERE task.id = ANY (:ids)
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
""")

NUMBER = text("""
    SELECT task.id
      FROM dag_run AS run
      JOIN task_instance AS task ON task.dag_run_id = run.id
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
       AND task.task_id = :task_id AND task.map_index = :map_index
""")

STATES_OF_RUNS = text("""
    SELECT task.id, task.state, task.attempt, task.map_index, last.phase
      FROM dag_run AS run
      JOIN task_instance AS task ON task.dag_run_id = run.id
      LEFT JOIN task_attempt AS last ON last.task_instance_id = task.id
                                    AND last.attempt = task.attempt
     WHERE run.dag_id = :dag_id AND run.run_id = ANY (:run_ids)
       AND (CAST(:tasks AS text[]) IS NULL OR task.task_id = ANY (CAST(:tasks AS text[])))
     ORDER BY task.id
""")


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Which task instances are wanted; None is any.

    What ends in `_like` is an ILIKE pattern; `name_like` is one of what people call the task.
    `mapped` wants the instances of mapped tasks, or all others; `attempts` are numbers of the
    current or last attempt.  `run_after`, the logical date and the numbers of versions are those
    of the run.
    """

    dag_id: str | None = None
    dag_ids: Sequence[str] | None = None
    dag_id_like: str | None = None
    run_id: str | None = None
    run_ids: Sequence[str] | None = None
    run_id_like: str | None = None
    task_id: str | None = None
    task_ids: Sequence[str] | None = None
    name_like: str | None = None
    states: Sequence[TaskState] | None = None
    pools: Sequence[str] | None = None
    pool_like: str | None = None
    queues: Sequence[str] | None = None
    queue_like: str | None = None
    operators: Sequence[str] | None = None
    operator_like: str | None = None
    versions: Sequence[int] | None = None
    mapped: bool | None = None
    map_indexes: Sequence[int] | None = None
    attempts: Sequence[int] | None = None
    run_after: TimeRange = ALWAYS
    logical_date: TimeRange = ALWAYS
    started: TimeRange = ALWAYS
    ended: TimeRange = ALWAYS
    duration: DurationRange = ANY_DURATION


@dataclass(frozen=True, slots=True)
class ListedTask:
    """A task instance, with its number and what its run and its last attempt tell of it.

    `scheduled_at` is when its dependencies were met the last time, `queued_at` when its current or
    last attempt was queued, `hostname` the worker of that attempt; each is None before that.
    `operator` is None if the run's version no longer has the task; `retries` is 0 then.  A task
    without a `task_display_name` is called by its id.
    `commit` is the commit of the bundle at which the version was seen first, None for a plain
    folder.
    """

    task: TaskView
    id: int
    pool_slots: int
    scheduled_at: datetime | None
    queued_at: datetime | None
    hostname: str | None
    run_after: datetime
    logical_date: datetime
    version_id: int
    version: int
    version_created_at: datetime
    commit: str | None
    bundle: str
    operator: str | None
    retries: int
    task_display_name: str | None


ANY_TASK: Final = TaskFilter()
_RANGES: Final = {
    "after": "run_after",
    "date": "logical_date",
    "started": "started",
    "ended": "ended",
}
_LISTS: Final = (
    *("dag_ids", "run_ids", "task_ids"),
    *("states", "pools", "queues", "operators", "versions"),
    *("map_indexes", "attempts"),
)


def page(conn: Connection, asked: Asked, wanted: TaskFilter = ANY_TASK) -> ListPage[ListedTask]:
    """Return a page of the task instances that are wanted, run by run as the runs were created."""
    listing = PagedList("tasks", (int, int), "created", asked.descending, asdict(wanted))
    look = _TaskSearch(conn, asked, wanted).look
    counted = asked.counted and not _is_every(asked.bundles, wanted)
    found = paging.search(look, listing.key(asked.cursor), asked.limit, counted=counted)
    rows = numbered(conn, asked.bundles, [cast(int, key[1]) for key in found.keys])
    following, preceding = listing.following(found.following), listing.preceding(found.keys)
    return ListPage(rows, following, preceding, found.total)


def one(conn: Connection, bundles: Sequence[str] | None, name: InstanceName) -> ListedTask | None:
    """Return that task instance; None when there is none of that name."""
    found = conn.scalars(NUMBER, asdict(name)).all()
    return next(iter(numbered(conn, bundles, list(found))), None)


def instance_states(
    conn: Connection,
    dag_id: str,
    run_ids: Sequence[str],
    tasks: Collection[str] | None = None,
) -> dict[int, tuple[object, ...]]:
    """Return by its number how each instance of these tasks, or of all, stands in these runs."""
    wanted = None if tasks is None else sorted(tasks)
    asked = {"dag_id": dag_id, "run_ids": list(run_ids), "tasks": wanted}
    found = conn.execute(STATES_OF_RUNS, asked)
    return {row.id: tuple(row) for row in found}


def total(
    conn: Connection, bundles: Sequence[str] | None, wanted: TaskFilter = ANY_TASK
) -> CappedTotal:
    """Count the task instances that are wanted."""
    if _is_every(bundles, wanted):
        return paging.capped(conn.execute(ALL, {"most": MOST_ROWS + 1}).scalar_one())
    look = _TaskSearch(conn, Asked(bundles, descending=True), wanted).look
    return paging.count(look)


def _is_every(bundles: Sequence[str] | None, wanted: TaskFilter) -> bool:
    """Tell whether all task instances are wanted."""
    return bundles is None and wanted == ANY_TASK


@dataclass(frozen=True, slots=True)
class _TaskSearch:
    """Looks for the task instances that are wanted."""

    conn: Connection
    asked: Asked
    wanted: TaskFilter

    def look(self, after: Key | None, rows: int, most: int, shown: int) -> Looked:
        last_run, last = after or (None, None)
        parameters = {
            **_parameters(self.wanted),
            "bundles": paging.as_list(self.asked.bundles),
            "descending": self.asked.descending,
            "last_run": last_run,
            "last_id": last,
            "rows": rows,
            "most": most,
            "shown": shown,
        }
        found = self.conn.execute(KEYS, parameters).all()
        matching = found[-1].matching if found else 0
        keys: list[Key] = [(row.dag_run_id, row.id) for row in found[:shown] if row.matches]
        ended = not found or not found[-1].is_end
        return Looked(keys, matching, None if ended else (found[-1].dag_run_id, found[-1].id))


def _parameters(wanted: TaskFilter) -> dict[str, object]:
    found: dict[str, object] = {}
    for name in TaskFilter.__dataclass_fields__:
        value = getattr(wanted, name)
        if not isinstance(value, TimeRange | DurationRange):
            found[name] = paging.as_list(value) if name in _LISTS else value
    for name, field in _RANGES.items():
        limits: TimeRange = getattr(wanted, field)
        found |= {f"{name}_start": limits.start, f"{name}_end": limits.end}
    found |= {"least": wanted.duration.least, "most_seconds": wanted.duration.most}
    # The run of a task that has not ended has not ended either: such runs have indexes.
    states = wanted.states
    found["live"] = states is not None and TERMINAL.isdisjoint(states)
    return found


def numbered(conn: Connection, bundles: Sequence[str] | None, ids: list[int]) -> list[ListedTask]:
    """Return the task instances of these numbers, in that order, as far as they are there."""
    if not ids:
        return []
    found = {}
    rows = conn.execute(ROWS, {"ids": ids, "bundles": paging.as_list(bundles)})
    of_task = values_of(TaskView, rows.keys(), state=TaskState)
    of_listed = values_of(ListedTask, rows.keys(), skip=1)
    for row in rows.all():  # one by one they would take half as long again
        found[row.id] = ListedTask(TaskView(*of_task(row)), *of_listed(row))
    return [found[number] for number in ids if number in found]
