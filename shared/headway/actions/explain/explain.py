"""Explain why a task instance is not running."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from headway.actions.explain import snapshot
from headway.actions.explain.deadlines import with_deadlines
from headway.actions.explain.snapshot import SnapshotReader
from headway.actions.installation import processes
from headway.actions.lookup import check_tasks, current_dag, run_of
from headway.db.changes import repins
from headway.db.core import stored_versions
from headway.db.reads.explain import task_state as reads
from headway.db.scheduling import skipped_intervals
from headway.decide.explain.attempt import explain_attempt
from headway.decide.explain.explanation import Explanation, Reason, Subject
from headway.decide.explain.one_index import index_of
from headway.decide.explain.ready import explain_ready
from headway.decide.explain.run import clocks_that_differ, explain_missing, explain_queued
from headway.decide.explain.skipped import explain_skipped
from headway.decide.explain.snapshot import DagRow, RunRow, TaskRow
from headway.decide.explain.undecided import (
    UndecidedSnapshot,
    explain_not_run,
    explain_undecided,
    waited_for,
)
from headway.decide.explain.wording import command, counted
from headway.decide.scheduling.graph import DagGraph
from headway.domain.errors import SerializationError, TaskNotFoundError, TimetableError
from headway.domain.interval import DataInterval
from headway.domain.states import Outcome, RunState, RunType, TaskState
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.serialization import codec
from headway.timetables import registry
from headway.timetables.sequence import runs_between

TRIES: Final = 3
"""How often it is looked again when the task instance moved during the look."""

DEEPEST: Final = 4
"""How far it is followed what a task waits for."""

_SCHEDULED: Final = f"{RunType.SCHEDULED}__"


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """Which task instance to explain; of a mapped task, unless one is named, the most telling."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int | None = None


@dataclass(frozen=True, slots=True)
class FoundTask:
    """A task instance, if there is one yet, with its run and DAG; no graph if that is unreadable.

    `asked` is the map index that was asked for when there is a placeholder only.
    """

    dag: DagRow
    run: RunRow
    task: TaskRow | None
    graph: DagGraph | None
    asked: int | None = None


def explain(
    conn: Connection, wanted: ExplainRequest, settings: SchedulerSettings, now: datetime
) -> Explanation:
    """Return the one reason why a task instance is not running, or what it does instead.

    `settings` are what the schedulers are taken to go by.  The transaction may only read
    from here on.  NotFoundError, naming the nearest, for what there is not.
    """
    reads.read_only(conn)
    around = SnapshotReader(conn, settings, now)
    told = with_deadlines(conn, _follow(around, wanted, DEEPEST), now)
    if told.reason is Reason.ENDED:
        return told
    differing = clocks_that_differ(around.processes(*processes.KINDS))
    return replace(told, facts=(*told.facts, *differing))


def _follow(around: SnapshotReader, wanted: ExplainRequest, deepest: int) -> Explanation:
    for _ in range(TRIES):
        before = _find(around, wanted)
        if before is None:
            return _missing(around, wanted)
        told, following = _tell(around, before, wanted)
        after = _find(around, wanted)
        if after is not None and _same(before, after):
            break
    if following is not None and deepest > 0:
        return replace(told, because=_follow(around, following, deepest - 1))
    return told


def _same(before: FoundTask, after: FoundTask) -> bool:
    return (before.dag, before.run, before.task) == (after.dag, after.run, after.task)


def _find(around: SnapshotReader, wanted: ExplainRequest) -> FoundTask | None:
    """Return what is named; None when the DAG is there and the run is not."""
    conn = around.conn
    dag = reads.dag(conn, wanted.dag_id)
    run = reads.run(conn, wanted.dag_id, wanted.run_id)
    if dag is None:
        run_of(conn, wanted.dag_id, wanted.run_id)
    if dag is None or run is None:
        return None
    graph = _graph(conn, run)
    task = reads.task(conn, run.id, wanted.task_id, wanted.map_index)
    if graph is not None and task is None:
        check_tasks(graph, [wanted.task_id])
    if task is not None or wanted.map_index is None or run.state is RunState.QUEUED:
        return FoundTask(dag, run, task, graph)
    placeholder = reads.task(conn, run.id, wanted.task_id, -1)
    mapped = graph is None or bool(graph.tasks[wanted.task_id].mapped_over)
    if placeholder is None or not mapped:
        raise TaskNotFoundError(_no_instance(conn, run, wanted))
    return FoundTask(dag, run, placeholder, graph, wanted.map_index)


def _graph(conn: Connection, run: RunRow) -> DagGraph | None:
    try:
        return DagGraph(codec.decode(stored_versions.load(conn, [run.version_id])[run.version_id]))
    except SerializationError:
        return None


def _tell(
    around: SnapshotReader, found: FoundTask, wanted: ExplainRequest
) -> tuple[Explanation, ExplainRequest | None]:
    """Return the explanation of what was found, and what explains that in turn."""
    run, task = found.run, found.task
    subject = Subject(run.dag_id, run.run_id, wanted.task_id)
    if task is None and run.state is not RunState.QUEUED:
        raise TaskNotFoundError(_no_instance(around.conn, run, wanted))
    if task is None or (task.state is TaskState.NONE and run.state is RunState.QUEUED):
        told = explain_queued(snapshot.of_queued(around, found.dag, run))
        return replace(told, subject=subject), None
    following = None
    if _is_gone(found, task):
        told = _gone(around.conn, run, task.task_id)
    elif task.state is TaskState.NONE:
        told, following = _tell_undecided(around, found, task)
    elif task.state is TaskState.SCHEDULED:
        told = explain_ready(snapshot.of_ready(around, found.dag, task))
    else:
        told = _tell_attempt(around, found, task)
    subject = subject._replace(map_index=task.map_index, state=task.state)
    several = _several(around.conn, found, task)
    return replace(told, subject=subject, facts=(*several, *told.facts)), following


def _tell_undecided(
    around: SnapshotReader, found: FoundTask, task: TaskRow
) -> tuple[Explanation, ExplainRequest | None]:
    if found.graph is None:
        return _unreadable(found.run), None
    it = snapshot.of_undecided(around, found.run, task, found.graph, found.asked)
    told = explain_undecided(it)
    return told, _following(it, told)


def _following(it: UndecidedSnapshot, told: Explanation) -> ExplainRequest | None:
    run, task_id = it.run, it.task.task_id
    if told.reason is Reason.DEPENDS_ON_PAST and it.before is not None:
        return ExplainRequest(run.dag_id, it.before.run_id, task_id)
    if told.reason in {Reason.UPSTREAM, Reason.NOT_EXPANDED}:
        above = waited_for(it)
        # What runs needs no explanation: rather one that does not.
        above.sort(key=lambda name: TaskState.RUNNING in it.run_counts.tasks[name].counts)
        if not above:
            return None
        map_index = index_of(it.run_counts.tasks[above[0]])
        asked = None if map_index < 0 else map_index
        return ExplainRequest(run.dag_id, run.run_id, above[0], asked)
    return None


def _tell_attempt(around: SnapshotReader, found: FoundTask, task: TaskRow) -> Explanation:
    """Explain an instance that was queued or has ended; one that ended without running, why."""
    it = snapshot.of_attempt(around, found.run, task)
    own_skip = it.attempt is not None and it.attempt.outcome is Outcome.SKIPPED
    unrun = task.state in {TaskState.SKIPPED, TaskState.UPSTREAM_FAILED} and not own_skip
    unrun |= task.state is TaskState.FAILED and it.attempt is None
    ended = explain_attempt(it)
    if not unrun or found.graph is None:
        return ended
    undecided = snapshot.of_undecided(around, found.run, task, found.graph, None)
    told = explain_not_run(undecided)
    return ended if told is None else replace(told, facts=(ended.sentence, *told.facts))


def _missing(around: SnapshotReader, wanted: ExplainRequest) -> Explanation:
    """Explain why a run of the schedule is not there; NotFoundError if it was never to be."""
    dag = reads.dag(around.conn, wanted.dag_id)
    start = _start(wanted.run_id)
    gone = None if start is None else skipped_intervals.of(around.conn, wanted.dag_id, start)
    if dag is None or start is None or not (gone or _may_come(dag, start)):
        run_of(around.conn, wanted.dag_id, wanted.run_id)
    assert dag is not None
    assert start is not None
    if gone is not None:
        told = explain_skipped(dag, gone, _interval(around.conn, dag, start))
    else:
        missing = snapshot.of_missing(around, dag, start)
        told = explain_missing(replace(missing, remarks=_remarks(around.conn, dag)))
    return replace(told, subject=Subject(wanted.dag_id, wanted.run_id, wanted.task_id))


def _start(run_id: str) -> datetime | None:
    """Return where the interval of a run of the schedule starts, by the run's name."""
    try:
        start = datetime.fromisoformat(run_id.removeprefix(_SCHEDULED))
    except ValueError:
        return None
    return start if run_id.startswith(_SCHEDULED) and start.tzinfo is not None else None


def _interval(conn: Connection, dag: DagRow, start: datetime) -> DataInterval | None:
    """Return the interval that starts then by the DAG's schedule, None if none does."""
    if not dag.active:
        return None
    try:
        spec = current_dag(conn, dag.dag_id).spec
        timetable = registry.decode(spec.timetable)
        found = next(runs_between(timetable, spec.start_date, start, start), None)
    except (SerializationError, TimetableError):
        return None  # a schedule that cannot be read, or fails, has no intervals now
    return None if found is None else found.data_interval


def _remarks(conn: Connection, dag: DagRow) -> tuple[str, ...]:
    """Return what the timetable of a DAG without a next run says, such as where a calendar ends."""
    if not (dag.active and dag.planned and dag.next_run_after is None):
        return ()
    try:
        return registry.decode(current_dag(conn, dag.dag_id).spec.timetable).remarks
    except (SerializationError, TimetableError):
        return ()  # the schedule's error says why


def _may_come(dag: DagRow, start: datetime) -> bool:
    following = dag.next_interval_start
    return not dag.planned or following is None or start >= following


def _is_gone(found: FoundTask, task: TaskRow) -> bool:
    """Whether the version that the run was given later does not have the task."""
    lacking = found.graph is not None and task.task_id not in found.graph.tasks
    return task.state is TaskState.REMOVED or (lacking and task.state is TaskState.NONE)


def _gone(conn: Connection, run: RunRow, task_id: str) -> Explanation:
    return Explanation(
        reason=Reason.ENDED,
        sentence=f"It is removed: the run has version {run.version} of {run.dag_id}, which does "
        "not have this task.",
        change=_with_another(conn, run, task_id),
    )


def _with_another(conn: Connection, run: RunRow, task_id: str) -> str:
    """Return how the run gets the newest version that has the task."""
    number = repins.newest_with(conn, run.dag_id, task_id)
    if number is None:
        return f"A version of {run.dag_id} that has this task, and none is left; write it anew."
    again = command("runs", "clear", run.dag_id, run.run_id, "--version", number, "--yes")
    return f"Another version: {again} gives the run the newest one that has the task."


def _unreadable(run: RunRow) -> Explanation:
    return Explanation(
        reason=Reason.VERSION_UNREADABLE,
        sentence=f"The run was created with version {run.version} of {run.dag_id}, which this "
        "release of Headway cannot read; nothing is decided for it but by a scheduler that can.",
        change="A scheduler of the release that wrote it; or delete the run, and make a new one: "
        f"{command('runs', 'delete', run.dag_id, run.run_id, '--yes')}.",
    )


def _several(conn: Connection, found: FoundTask, task: TaskRow) -> list[str]:
    """Say of a mapped task how its instances stand, and which of them is explained."""
    if task.map_index < 0:
        return []
    rows = reads.instances_by_state(conn, found.run.id, task.task_id)
    states = ", ".join(f"{row.instances:,} {row.state}" for row in rows)
    total = counted(sum(row.instances for row in rows), "instance")
    return [f"{task.task_id} has {total} ({states}); this is about {task.name}."]


def _no_instance(conn: Connection, run: RunRow, wanted: ExplainRequest) -> str:
    rows = reads.instances_by_state(conn, run.id, wanted.task_id)
    if not rows:
        return f"Run {run.run_id} has no instance of task {wanted.task_id!r}."
    first, last = min(row.first for row in rows), max(row.last for row in rows)
    has = f"it has {first} to {last}" if last >= 0 else "it is not mapped: name no index"
    return f"Task {wanted.task_id!r} has no instance {wanted.map_index} in that run; {has}."
