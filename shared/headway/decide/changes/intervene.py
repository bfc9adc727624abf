"""What a user's wish, or a run's timeout, does to task instances: who moves, who is told to stop.

An attempt that has begun cannot be moved by anybody but its worker: it is told to stop, and
its task moves when it has.  One that waits in the queue is ended on the spot, unless it minds
what an attempt before it has left on a cluster: then it is still to be claimed, and to end that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headway.domain.dag.names import instance_name
from headway.domain.errors import ConflictError
from headway.domain.states import TERMINAL, Phase, Role, TaskState, sources

_BEGUN = frozenset({Phase.RUNNING, Phase.STOPPING})


@dataclass(frozen=True, slots=True)
class Instance:
    """A task instance of a locked run; `phase` is that of its live attempt, if it has one.

    `minds` tells whether that is one which is to end an application on a cluster, or is in the
    queue to mind what a lost one has left there.
    """

    id: int
    task_id: str
    map_index: int
    state: TaskState
    phase: Phase | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    minds: bool = False

    @property
    def begun(self) -> bool:
        """Whether something of it may run, and no worker has said yet that it has ended."""
        return self.phase in _BEGUN or self.minds

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return instance_name(self.task_id, self.map_index)


@dataclass(frozen=True, slots=True)
class Intervention:
    """What to write, all by the ids of task instances.

    `moves` go to a state at once; `stops` have an attempt that is told to stop, and go to
    their state after it; `withdrawn` have an attempt in the queue, which ends.  Of mapped
    tasks that are to be expanded anew, `placeholders` remain and `dropped` do not.
    """

    moves: Mapping[TaskState, Sequence[int]] = field(default_factory=dict)
    stops: Mapping[TaskState, Sequence[int]] = field(default_factory=dict)
    withdrawn: Sequence[int] = ()
    placeholders: Sequence[int] = ()
    dropped: Sequence[int] = ()

    @property
    def touched(self) -> set[int]:
        """Whatever is changed in any way."""
        groups = (*self.moves.values(), *self.stops.values(), self.placeholders, self.dropped)
        return {task for group in groups for task in group}

    def __bool__(self) -> bool:
        """Tell whether there is anything to write."""
        return bool(self.touched)


def bring(wanted: Iterable[tuple[Instance, TaskState]]) -> Intervention:
    """Bring each instance to its state, whatever it is doing now."""
    moves: dict[TaskState, list[int]] = {}
    stops: dict[TaskState, list[int]] = {}
    withdrawn: list[int] = []
    for instance, target in wanted:
        (stops if instance.begun else moves).setdefault(target, []).append(instance.id)
        if instance.phase is Phase.QUEUED and not instance.begun:
            withdrawn.append(instance.id)
    return Intervention(moves, stops, withdrawn)


def together(them: Sequence[Intervention]) -> Intervention:
    """Return what does all of these, which are about different task instances."""
    return Intervention(
        _merged([intervention.moves for intervention in them]),
        _merged([intervention.stops for intervention in them]),
        [task for intervention in them for task in intervention.withdrawn],
        [task for intervention in them for task in intervention.placeholders],
        [task for intervention in them for task in intervention.dropped],
    )


def _merged(them: Sequence[Mapping[TaskState, Sequence[int]]]) -> dict[TaskState, list[int]]:
    merged: dict[TaskState, list[int]] = {}
    for positions in them:
        for state, tasks in positions.items():
            merged.setdefault(state, []).extend(tasks)
    return merged


def mark(marked: Sequence[Instance], below: Sequence[Instance], target: TaskState) -> Intervention:
    """Bring the instances to `target`; those `below`, which failed for them, are undecided again.

    An instance that is in that state already stays as it is.  ConflictError when one may not
    go there: what has ended as success or failed is never skipped.
    """
    changing = [instance for instance in marked if instance.state is not target]
    allowed = sources(target, Role.USER)
    for instance in changing:
        if not instance.begun and instance.state not in allowed:
            raise ConflictError(
                f"Task {instance.name} is {instance.state}, and what is {instance.state} cannot be "
                f"marked {target}; "
                "clear it first, to have it decided anew."
            )
    again = below if changing and target is not TaskState.FAILED else ()
    return bring(
        [(instance, target) for instance in changing]
        + [(instance, TaskState.NONE) for instance in again]
    )


def end(instances: Iterable[Instance], stopped: TaskState) -> Intervention:
    """End whatever has not ended: what has begun becomes `stopped`, what has not is skipped."""
    left = [instance for instance in instances if instance.state not in TERMINAL]
    return bring((instance, stopped if instance.begun else TaskState.SKIPPED) for instance in left)
