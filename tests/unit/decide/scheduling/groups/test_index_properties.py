"""A mapped group decides as so many groups of their own would, one for each map index."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from headway.decide.changes.clear import below
from headway.decide.scheduling import grouped
from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import RunState, TaskState
from headway.testing.data.paper_run import PaperInstance, PaperRun, states_of

GROUP = "g"
ENDS = st.sampled_from([TaskState.SUCCESS, TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED])


@st.composite
def tasks(draw: st.DrawFn) -> list[TaskSpec]:
    """Some tasks, of which some are in one mapped group over literal items."""
    over = (MapInput(argument="x", length=draw(st.integers(0, 3))),)
    with_setups = draw(st.integers(0, 3)) == 0
    found: list[TaskSpec] = []
    for number in range(draw(st.integers(1, 7))):
        names = [task.task_id for task in found]
        some = st.lists(st.sampled_from(names), unique=True, max_size=3) if names else st.just([])
        upstream = draw(some | st.just(names[-1:]))
        task = TaskSpec(
            task_id=f"t{number}",
            operator="empty",
            upstream=tuple(upstream),
            trigger_rule=draw(st.sampled_from([TriggerRule.ALL_SUCCESS, *TriggerRule])),
            is_setup=with_setups and draw(st.booleans()),
        )
        inside = draw(st.integers(0, 2)) > 0
        found.append(replace(task, mapped_over=over, mapped_group=GROUP) if inside else task)
    return found


@st.composite
def over_a_list(draw: st.DrawFn) -> list[TaskSpec]:
    """The same, but over what one more task leaves; the first tasks of the group wait for it."""
    over = (MapInput(argument="x", task_id="list"),)
    made = [TaskSpec(task_id="list", operator="empty")]
    for task in draw(tasks()):
        mates = {other.task_id for other in made if other.mapped_group}
        if task.mapped_group and mates.isdisjoint(task.upstream):
            made.append(replace(task, mapped_over=over, upstream=("list", *task.upstream)))
        else:
            made.append(replace(task, mapped_over=over if task.mapped_group else ()))
    return made


def graph(found: list[TaskSpec]) -> DagGraph:
    spec = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tuple(found),
    )
    return DagGraph(spec)


def length_in(found: list[TaskSpec]) -> int:
    """The items that the group is over; 0 without a group."""
    return next((task.mapped_over[0].length or 0 for task in found if task.mapped_group), 0)


def apart(found: list[TaskSpec]) -> list[TaskSpec]:
    """The tasks with a group of their own, which is not mapped, for each map index.

    Over no items each task of the group stands as a mapped task of its own.
    """
    if not length_in(found):
        return [replace(task, mapped_group=None) for task in found]
    copies = {
        task.task_id: [f"{task.task_id}_{index}" for index in range(length_in(found))]
        for task in found
        if task.mapped_group
    }
    made: list[TaskSpec] = []
    for task in found:
        alone = replace(task, mapped_over=(), mapped_group=None)
        for index, name in enumerate(copies.get(task.task_id, [task.task_id])):
            upstream: list[str] = []
            for above in task.upstream:
                its = copies.get(above, [above])
                mates = above in copies and task.task_id in copies
                upstream += [its[index]] if mates else its
            made.append(replace(alone, task_id=name, upstream=tuple(upstream)))
    return made


def named(instance: PaperInstance, indexes: int, dag: DagGraph) -> list[str]:
    """What the tasks are called that stand apart for an instance."""
    if not dag.group_of(instance.task_id) or not indexes:
        return [instance.task_id]
    if instance.map_index < 0:
        return [f"{instance.task_id}_{index}" for index in range(indexes)]
    return [f"{instance.task_id}_{instance.map_index}"]


def choice(data: st.DataObject, dag: DagGraph, task_id: str) -> list[str]:
    """Some tasks below one that it chooses not to run; mostly none."""
    others = sorted(below(dag, [task_id]))
    if not others or data.draw(st.integers(0, 3)):
        return []
    return data.draw(st.lists(st.sampled_from(others), unique=True, min_size=1, max_size=2))


def ends(
    data: st.DataObject, dag: DagGraph, scheduled: Sequence[PaperInstance]
) -> Iterator[tuple[PaperInstance, TaskState, list[str]]]:
    """Some of the scheduled instances, how each ends, and which tasks it chooses not to run."""
    places = st.lists(st.integers(0, len(scheduled) - 1), unique=True, min_size=1)
    for place in data.draw(places):
        state = data.draw(ENDS)
        well = state is TaskState.SUCCESS
        yield scheduled[place], state, choice(data, dag, scheduled[place].task_id) if well else []


def chosen_by(
    instance: PaperInstance, chosen: Sequence[str], indexes: int, dag: DagGraph
) -> list[str]:
    """What the tasks that an instance chose not to run are called where they stand apart."""
    mates = set(grouped.mates(dag, instance.task_id, chosen))
    if indexes and dag.group_of(instance.task_id):
        return [f"{name}_{instance.map_index}" for name in mates]
    found: list[str] = []
    for name in chosen:
        several = indexes and dag.group_of(name)
        found += [f"{name}_{index}" for index in range(indexes)] if several else [name]
    return found


@settings(max_examples=300)
@given(tasks(), st.booleans(), st.data())
def test_each_index_is_decided_about_as_a_group_of_its_own(
    found: list[TaskSpec], counting: bool, data: st.DataObject
) -> None:
    dag, indexes = graph(found), length_in(found)
    mapped = PaperRun(dag, counting=counting)
    split = PaperRun(graph(apart(found)), counting=False)

    def states() -> dict[str, TaskState]:
        return {
            name: instance.state
            for instance in mapped.instances()
            for name in named(instance, indexes, dag)
        }

    for run in (mapped, split):
        run.start()
        run.look()
    while True:
        ours = {instance.task_id: instance for instance in split.instances()}
        assert states() == {name: instance.state for name, instance in ours.items()}
        assert mapped.state is split.state
        if mapped.state is not RunState.RUNNING:
            break
        for instance, state, chosen in ends(data, dag, mapped.instances(TaskState.SCHEDULED)):
            skips = chosen_by(instance, chosen, indexes, dag)
            for name in named(instance, indexes, dag):
                split.end(ours[name].id, state, skips)
            mapped.end(instance.id, state, chosen)
        mapped.look()
        split.look()
    event(f"advanced by counts: {min(mapped.advances, 3)}")


@settings(max_examples=300)
@given(over_a_list(), st.sampled_from([None, 0, 1, 2, 3]), st.data())
def test_counts_decide_as_a_whole_look_does(
    found: list[TaskSpec], length: int | None, data: st.DataObject
) -> None:
    dag, lengths = graph(found), {("list", "return_value"): length}
    counted = PaperRun(dag, counting=True, lengths=lengths)
    looked_at = PaperRun(dag, counting=False, lengths=lengths)
    for run in (counted, looked_at):
        run.start()
        run.look()
    while True:
        assert states_of(counted) == states_of(looked_at)
        assert counted.state is looked_at.state
        if counted.state is not RunState.RUNNING:
            break
        for instance, state, chosen in ends(data, dag, counted.instances(TaskState.SCHEDULED)):
            counted.end(instance.id, state, chosen)
            looked_at.end(instance.id, state, chosen)
        counted.look()
        looked_at.look()
    event(f"advanced by counts: {min(counted.advances, 3)}")
