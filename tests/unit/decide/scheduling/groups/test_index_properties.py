"""A mapped group decides as so many groups of their own would, one for each map index."""

from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import RunState, TaskState
from headway.testing.data.paper_run import PaperInstance, PaperRun

GROUP = "g"
ENDS = st.sampled_from([TaskState.SUCCESS, TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED])


@st.composite
def tasks(draw: st.DrawFn) -> list[TaskSpec]:
    """Some tasks, of which some are in one mapped group over literal items."""
    over = (MapInput(argument="x", length=draw(st.integers(1, 3))),)
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


def graph(found: list[TaskSpec]) -> DagGraph:
    spec = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tuple(found),
    )
    return DagGraph(spec)


def apart(found: list[TaskSpec]) -> list[TaskSpec]:
    """The tasks with a group of their own, which is not mapped, for each map index."""
    copies = {
        task.task_id: [
            f"{task.task_id}_{index}" for index in range(task.mapped_over[0].length or 0)
        ]
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


def named(instance: PaperInstance, indexes: int, grouped: set[str]) -> list[str]:
    """What the tasks are called that stand apart for an instance."""
    if instance.task_id not in grouped:
        return [instance.task_id]
    if instance.map_index < 0:
        return [f"{instance.task_id}_{index}" for index in range(indexes)]
    return [f"{instance.task_id}_{instance.map_index}"]


@settings(max_examples=200)
@given(tasks(), st.booleans(), st.data())
def test_each_index_is_decided_about_as_a_group_of_its_own(
    found: list[TaskSpec], counting: bool, data: st.DataObject
) -> None:
    grouped = {task.task_id for task in found if task.mapped_group}
    indexes = next((task.mapped_over[0].length or 0 for task in found if task.mapped_group), 0)
    mapped = PaperRun(graph(found), counting=counting)
    split = PaperRun(graph(apart(found)), counting=False)

    def states() -> dict[str, TaskState]:
        return {
            name: instance.state
            for instance in mapped.instances()
            for name in named(instance, indexes, grouped)
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
        scheduled = [instance.id for instance in mapped.instances(TaskState.SCHEDULED)]
        ended = data.draw(st.lists(st.sampled_from(scheduled), unique=True, min_size=1))
        for number in ended:
            [instance] = (each for each in mapped.instances() if each.id == number)
            state = data.draw(ENDS)
            for name in named(instance, indexes, grouped):
                split.end(ours[name].id, state)
            mapped.end(number, state)
        mapped.look()
        split.look()
    event(f"advanced by counts: {min(mapped.advances, 3)}")
