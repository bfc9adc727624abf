"""Read what an explanation is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from headway.actions.installation import processes
from headway.db.reads.explain import queue_order, run_state, task_state
from headway.db.scheduling import queued_runs, run_snapshots
from headway.db.scheduling.run_snapshots import Past
from headway.db.scheduling.scope import Scope
from headway.decide.explain import one_index
from headway.decide.explain.attempt import AttemptSnapshot
from headway.decide.explain.explanation import Holder
from headway.decide.explain.ready import ReadySnapshot, short_of
from headway.decide.explain.run import MissingSnapshot, QueuedSnapshot
from headway.decide.explain.snapshot import DagRow, ProcessRow, RunRow, TaskRow, alive
from headway.decide.explain.undecided import UndecidedSnapshot
from headway.decide.scheduling import grouped
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import RunCounts, TaskCounts
from headway.domain.states import RunState, TaskState
from headway.runtime.settings.scheduler import SchedulerSettings

_WELL = (TaskState.SUCCESS, TaskState.SKIPPED, TaskState.REMOVED)


@dataclass(frozen=True, slots=True)
class SnapshotReader:
    """Where to look, when it is, and what the schedulers go by."""

    conn: Connection
    settings: SchedulerSettings
    now: datetime

    def processes(
        self, *kinds: str, queue: str | None = None, number: int | None = None
    ) -> list[ProcessRow]:
        """Return those processes of these kinds, or the one, that have not ended."""
        return processes.unended(self.conn, self.settings, *kinds, queue=queue, number=number)

    def schedulers(self) -> list[ProcessRow]:
        """Return the processes that queue tasks."""
        return self.processes("scheduler", "backfill")

    def process(self, number: int | None) -> ProcessRow | None:
        """Return the process, unless it has ended."""
        return next(iter(self.processes(number=number)), None) if number is not None else None


def of_queued(around: SnapshotReader, dag: DagRow, run: RunRow) -> QueuedSnapshot:
    """Return how it stands around a queued run."""
    conn = around.conn
    slots = queued_runs.free_run_slots(conn, {dag.dag_id: dag.max_active_runs})
    free = slots.get(dag.dag_id, {}).get(run.backfill_id, 0)
    nth, waiting, active = run_state.run_queue(conn, run)
    run_queue = {dag.dag_id: {run.backfill_id: free}}
    coming = queued_runs.queued(conn, run_queue, around.now, max(free, 1), Scope(run.lock_id or 0))
    return QueuedSnapshot(
        dag=dag,
        run=run,
        most=free + active,
        active=active,
        active_runs=run_state.active_runs(conn, run),
        coming=coming.get(dag.dag_id, []),
        nth=nth,
        waiting=waiting,
        job=around.process(run.lock_id),
        schedulers=around.schedulers(),
        now=around.now,
        parsers=[] if run.pinned else around.processes("parser"),
    )


def of_missing(around: SnapshotReader, dag: DagRow, start: datetime) -> MissingSnapshot:
    """Return how it stands around a run of the schedule that is not there."""
    unfinished, unfinished_runs = run_state.unfinished_runs(around.conn, dag.dag_id)
    return MissingSnapshot(
        dag=dag,
        start=start,
        unfinished=unfinished,
        unfinished_runs=unfinished_runs,
        schedulers=around.schedulers(),
        now=around.now,
    )


def of_undecided(
    around: SnapshotReader, run: RunRow, task: TaskRow, graph: DagGraph, asked: int | None
) -> UndecidedSnapshot:
    """Return how it stands around a task instance that has no decision, or never ran."""
    conn = around.conn
    found = run_state.schedule_state(conn, run.id, graph.mapped_groups)
    skips, index_skips = grouped.skips(graph, found.skips)
    before = run_state.run_before(conn, run.id) if graph.holds_back else None
    dates = run_snapshots.dates(conn, [run.id] if graph.dated else [])
    outside = graph.left_out(dates[run.id]) if run.id in dates else frozenset[str]()
    run_counts = RunCounts(
        run_id=run.id,
        graph=graph,
        tasks=found.tasks,
        skips=skips | outside,
        past=_past(conn, graph, before),
        lengths=_lengths(conn, run, graph, found.tasks, task.task_id),
        end_as=run.end_as,
        index_skips=index_skips,
    )
    earlier = before is not None and before.state is not RunState.QUEUED
    return UndecidedSnapshot(
        run=run,
        task=task,
        run_counts=one_index.at_index(run_counts, task.task_id, task.map_index),
        most=around.settings.max_map_length,
        above=_above(conn, run, graph, task),
        before=before,
        before_tasks=run_state.instances(conn, before.id, [task.task_id], _WELL)
        if earlier and before is not None
        else (),
        choosers=one_index.choosers(run_counts, found.skips, task.task_id, task.map_index),
        outside=outside,
        asked=asked,
        job=around.process(run.lock_id),
        schedulers=around.schedulers(),
    )


def of_ready(around: SnapshotReader, dag: DagRow, task: TaskRow) -> ReadySnapshot:
    """Return how it stands around a scheduled task instance."""
    conn, schedulers = around.conn, around.schedulers()
    scheduling = alive(schedulers)
    mine = queue_order.ready(conn, task.id)
    ahead = queue_order.waiting(conn, mine.pool, mine)
    free = queue_order.free(
        conn, scheduling, [*(waiting_task.task for waiting_task in ahead), mine]
    )
    return ReadySnapshot(
        dag=dag,
        task=mine,
        limits=queue_order.limits(conn, scheduling, [mine]),
        free=free,
        holders={budget: queue_order.holders(conn, budget) for budget in short_of(mine, free)[:1]},
        ahead=ahead,
        place=queue_order.place(conn, mine),
        schedulers=schedulers,
        aging=around.settings.priority_aging,
        draining=[
            process for process in around.processes("worker", queue=mine.queue) if process.draining
        ],
    )


def of_attempt(around: SnapshotReader, run: RunRow, task: TaskRow) -> AttemptSnapshot:
    """Return how it stands around a task instance that has been queued, or has ended."""
    conn = around.conn
    attempt = task_state.attempt(conn, task.id)
    queued = task.state is TaskState.QUEUED
    workers = around.processes("worker", queue=task.queue) if queued else []
    patience = timedelta(seconds=around.settings.task_queued_timeout)
    return AttemptSnapshot(
        run=run,
        task=task,
        attempt=attempt,
        worker=around.process(None if attempt is None else attempt.process_id),
        workers=workers,
        held_by=queue_order.on_workers(conn, workers) if queued else (),
        place=queue_order.place_in_queue(conn, task) if queued else None,
        revoked_at=None if attempt is None else attempt.queued_at + patience,
        event=task_state.event(conn, run, task.task_id),
        asked_run=None if attempt is None else task_state.asked_run(conn, task.id, attempt.attempt),
        schedulers=around.schedulers(),
        now=around.now,
    )


def _above(conn: Connection, run: RunRow, graph: DagGraph, task: TaskRow) -> list[Holder]:
    """Return instances that an instance waits for: in its mapped group those of its map index."""
    mates = set(grouped.mates(graph, task.task_id, graph.tasks)) if task.map_index >= 0 else set()
    upstream = graph.tasks[task.task_id].upstream
    return run_state.instances(conn, run.id, upstream, at=(mates, task.map_index))


def _past(conn: Connection, graph: DagGraph, before: RunRow | None) -> Past | None:
    if before is None:
        return None
    if before.state is RunState.QUEUED:
        return {task.task_id: {TaskState.NONE} for task in graph.dag.tasks}
    return run_snapshots.past(conn, [before.id])[before.id]


def _lengths(
    conn: Connection,
    run: RunRow,
    graph: DagGraph,
    tasks: Mapping[str, TaskCounts],
    wanted: str,
) -> dict[tuple[str, str], int | None]:
    """Return what tasks that are to be expanded, and the wanted one, are expanded over."""
    inputs: Sequence[tuple[int, str, str]] = sorted(
        {
            (run.id, *source)
            for task_id, task_counts in tasks.items()
            if (task_counts.placeholder or task_id == wanted) and task_id in graph.tasks
            for source in graph.tasks[task_id].map_sources()
        }
    )
    found = run_snapshots.lengths(conn, inputs)
    return {(task_id, key): length for (_, task_id, key), length in found.items()}
