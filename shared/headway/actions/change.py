"""What all changes to a run that exists have in common: who, why, what was before, what follows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from headway.db.changes import run_changes, run_end
from headway.db.changes.run_changes import LockedRun
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.reads import dag_views
from headway.db.scheduling import wakes
from headway.decide.changes.intervene import Instance, Intervention
from headway.decide.changes.provider_changes import ProviderChange
from headway.domain.arguments import JsonValue
from headway.domain.errors import ConflictError, TaskNotFoundError
from headway.domain.hints import Action, Hint, act, hint
from headway.domain.states import UNFINISHED_RUN, Role, RunState, TaskState


@dataclass(frozen=True, slots=True)
class Author:
    """Who acts ("user:ann"), and why, if that was said."""

    actor: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Versions:
    """By their numbers: which version a run had, which it has, which one is in force, if any.

    `providers` are the provider packages that were others when the version that it has was made
    than when the one in force was.
    """

    before: int
    after: int
    in_force: int | None
    providers: tuple[ProviderChange, ...] = ()


@dataclass(frozen=True, slots=True)
class RunChange:
    """What was done: how many instances went where, how many will when they have stopped.

    The run was in state `was`, is in `run`, and is to end as `ends`; `remade` counts mapped
    tasks that are to be expanded anew, `added` tasks that it did not have.
    """

    was: RunState
    run: RunState
    moved: Mapping[TaskState, int] = field(default_factory=dict)
    stopping: Mapping[TaskState, int] = field(default_factory=dict)
    remade: int = 0
    ends: RunState | None = None
    added: int = 0
    versions: Versions | None = field(default=None, compare=False)

    @classmethod
    def none(cls, run: LockedRun) -> "RunChange":
        """Return that everything is already as it was asked for."""
        return cls(run.state, run.state)

    def __bool__(self) -> bool:
        """Tell whether anything was done."""
        instances = sum(self.moved.values()) + sum(self.stopping.values()) + self.remade
        repinned = self.versions is not None and self.versions.before != self.versions.after
        return instances > 0 or repinned or self.ends is not None or self.run is not self.was


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """What is written about a change to a run: by whom, what, and to which tasks, if named."""

    author: Author
    action: str
    tasks: Sequence[str] = ()
    details: Mapping[str, JsonValue] = field(default_factory=dict)

    @property
    def order(self) -> tuple[str, str, str | None]:
        """Who, by what action, and why."""
        return self.author.actor, self.action, self.author.reason


def enter(
    conn: Connection, run: LockedRun, entry: JournalEntry, before: Iterable[Instance] = ()
) -> None:
    """Write the event of a change, before the change: the database asks for it.

    It tells how many of the instances that are to be changed were in which state.
    """
    states: dict[str, Counter[str]] = {}
    for instance in before:
        states.setdefault(instance.task_id, Counter())[instance.state] += 1
    details: dict[str, JsonValue] = {
        **entry.details,
        "before": {
            "run": run.state,
            "tasks": {task: dict(counter) for task, counter in states.items()},
        },
    }
    if entry.tasks:
        details["tasks"] = list(entry.tasks)
    if entry.author.reason is not None:
        details["reason"] = entry.author.reason
    events.add(
        conn,
        Event(
            actor=entry.author.actor,
            action=entry.action,
            dag_id=run.dag_id,
            run_id=run.run_id,
            task_id=entry.tasks[0] if len(entry.tasks) == 1 else None,
            details=details,
        ),
    )


def carry_out(
    conn: Connection,
    run: LockedRun,
    instances: Sequence[Instance],
    what: Intervention,
    entry: JournalEntry,
) -> RunChange:
    """Write an intervention with its event; the run is left as it is."""
    touched = what.touched
    enter(conn, run, entry, [instance for instance in instances if instance.id in touched])
    run_changes.write(conn, what, Role.USER, entry.order)
    return RunChange(
        run.state,
        run.state,
        {state: len(ids) for state, ids in what.moves.items()},
        {state: len(ids) for state, ids in what.stops.items()},
        len(what.placeholders),
    )


def held_by_dag(conn: Connection, dag_id: str) -> Hint | None:
    """Say what keeps the runs of a DAG from going on, and what to do; None if nothing does."""
    dag = dag_views.dag(conn, dag_id)
    if dag is None or not dag.active:
        where = "" if dag is None else f" (it was in {dag.relative_path})"
        return hint(
            f"No file defines {dag_id} any more{where}: nothing of it starts until one does."
        )
    if dag.paused:
        unpause = act(Action.UNPAUSE_DAG, dag_id=dag_id)
        return hint(f"{dag_id} is paused: nothing of it starts until ", unpause, ".")
    return None


def have_looked_at(conn: Connection, run: LockedRun) -> RunState:
    """Have the scheduler look at a run of which tasks have changed; return the run's state.

    One that has ended is queued, so that it starts when its DAG has room for it.
    """
    if run.state not in UNFINISHED_RUN:
        run_end.start_again(conn, [run.id])
        return RunState.QUEUED
    if run.state is RunState.RUNNING:
        wakes.add(conn, [run.id])
    return run.state


def pick(
    run: LockedRun, instances: Sequence[Instance], tasks: Sequence[str], map_index: int | None
) -> list[Instance]:
    """Return the instances that a user names; NotFoundError for a task without such a one."""
    if not instances:
        raise ConflictError(
            f"Run {run.run_id} is {run.state} and has no task instances"
            f"{' yet' if run.state is RunState.QUEUED else ''}; there is nothing to change in it."
        )
    picked = [
        instance
        for instance in instances
        if instance.task_id in tasks and (map_index is None or instance.map_index == map_index)
    ]
    for task_id in tasks:
        if not any(instance.task_id == task_id for instance in picked):
            raise TaskNotFoundError(_no_instance(run, instances, task_id, map_index))
    return picked


def _no_instance(
    run: LockedRun, instances: Sequence[Instance], task_id: str, map_index: int | None
) -> str:
    indexes = [instance.map_index for instance in instances if instance.task_id == task_id]
    if not indexes:
        return f"Run {run.run_id} has no instance of task {task_id!r}."
    mapped = f"it has {min(indexes)} to {max(indexes)}" if max(indexes) >= 0 else "it has one"
    return f"Task {task_id!r} has no instance {map_index} in that run; {mapped}."
