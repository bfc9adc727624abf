"""How a run stands, in counts of its task instances, and what is decided about it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.trigger_rules import Tally
from headway.domain.states import RunState, TaskState

Counts = Mapping[TaskState, int]
Lengths = Mapping[tuple[str, str], int | None]

NO_INDEXES: Final[Mapping[int, TaskState]] = MappingProxyType({})
"""The states by map index of a task that is in no mapped group."""


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """How the instances of one task stand: how many in which state, and which are undecided.

    `placeholder` tells that the one undecided instance has no map index: that of a mapped
    task stands for instances that are still to be made.  `by_index` are the states of the
    instances of a task in a mapped group; the `undecided` are in the order of their map index.
    """

    counts: Counts
    undecided: Sequence[int] = ()
    placeholder: bool = False
    by_index: Mapping[int, TaskState] = field(default_factory=lambda: NO_INDEXES)


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How a run stands.

    `skips` are the tasks that others chose not to run, and those whose own dates leave the run
    out; `index_skips` are the instances in mapped groups, by task and map index, that others of
    their group and index chose not to run.  `past` tells in which states the tasks of the DAG's
    previous run are; None when this is its first.  A task that the previous run does not have
    holds nothing up.  `lengths` are those of the XComs (task, key) that mapped tasks are
    expanded over.  `end_as` is how the run must end, when a user or its timeout has decided that.
    """

    run_id: int
    graph: DagGraph
    tasks: Mapping[str, TaskCounts]
    skips: Collection[str] = ()
    past: Mapping[str, Collection[TaskState]] | None = None
    lengths: Lengths = field(default_factory=dict)
    end_as: RunState | None = None
    index_skips: Collection[tuple[str, int]] = ()


@dataclass(frozen=True, slots=True)
class Settlement:
    """What to write.

    `moves` are task instances by the state they move to; `expansions` are placeholders
    with the number of instances that each becomes; so are `grown`, but their instances are
    still to be decided about, one by one; `waiting` are undecided instances with
    how their upstream stands.  `unfinished` counts the instances that have not ended; None
    when the run is to be looked at as a whole next time too.  `problems` explain
    tasks that could not be expanded.
    """

    moves: Mapping[TaskState, list[int]] = field(default_factory=dict)
    expansions: Mapping[int, int] = field(default_factory=dict)
    grown: Mapping[int, int] = field(default_factory=dict)
    waiting: Mapping[int, Tally] = field(default_factory=dict)
    unfinished: int | None = None
    run_state: RunState | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
