"""Two ways to look at a run, by counts and as a whole, lead to the same, whatever happens in it."""

from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.run_counts import Settlement
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import TERMINAL, RunState, TaskState
from headway.testing.data.paper_run import PaperRun, left_in, states_of

MOST = 4
ENDS = st.sampled_from([TaskState.SUCCESS, TaskState.SUCCESS, TaskState.FAILED, TaskState.SKIPPED])
LENGTHS = st.sampled_from([2, 3, 1, 0, MOST + 1, None])


@st.composite
def tasks(draw: st.DrawFn, number: int) -> TaskSpec:
    """One more task below some of the `number` before it, mapped over some of those above it."""
    above = [f"t{other}" for other in range(number)]
    upstream = draw(st.lists(st.sampled_from(above), unique=True, max_size=3)) if above else []
    over = [MapInput(argument="n", length=draw(st.integers(0, 3)))]
    over += [MapInput(argument=name, task_id=name) for name in upstream]
    return TaskSpec(
        task_id=f"t{number}",
        operator="empty",
        upstream=tuple(upstream),
        trigger_rule=draw(st.sampled_from(TriggerRule)),
        mapped_over=tuple(draw(st.sampled_from([[], [], *([one] for one in over), over[:2]]))),
    )


def grouped(draw: st.DrawFn, found: list[TaskSpec]) -> list[TaskSpec]:
    """Put some of the tasks into a mapped group, which is expanded over one that is before them."""
    names = [task.task_id for task in found]
    inside = set(draw(st.lists(st.sampled_from(names), unique=True, max_size=4)))
    before = names[: min((names.index(name) for name in inside), default=0)]
    source = draw(st.lists(st.sampled_from(before), max_size=1)) if before else []
    over = MapInput(argument="n", length=draw(st.integers(0, 3)))
    if source:
        over = MapInput(argument="n", task_id=source[0])
    return [
        replace(
            task,
            mapped_over=(over,),
            mapped_group="g",
            upstream=task.upstream
            if inside & set(task.upstream)
            else tuple(dict.fromkeys([*task.upstream, *source])),
        )
        if task.task_id in inside
        else task
        for task in found
    ]


@st.composite
def graphs(draw: st.DrawFn) -> DagGraph:
    found = [draw(tasks(number)) for number in range(draw(st.integers(1, 7)))]
    spec = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tuple(grouped(draw, found) if draw(st.booleans()) else found),
    )
    return DagGraph(spec)


def assert_alike(counted: PaperRun, whole: PaperRun, last: Settlement) -> None:
    """What is stored of the one is what a whole look at the other finds."""
    assert states_of(counted) == states_of(whole)
    assert counted.state is whole.state
    stored = {instance.id: instance.tally for instance in counted.instances(TaskState.NONE)}
    assert stored == last.waiting
    if counted.unfinished is not None:
        assert counted.unfinished == left_in(counted)


def let_some_end(data: st.DataObject, runs: tuple[PaperRun, PaperRun]) -> None:
    scheduled = [instance.id for instance in runs[0].instances(TaskState.SCHEDULED)]
    below = runs[0].graph.downstream
    for number in data.draw(st.lists(st.sampled_from(scheduled), unique=True, min_size=1)):
        state = data.draw(ENDS)
        [task_id] = (instance.task_id for instance in runs[0].instances() if instance.id == number)
        choices = st.lists(st.sampled_from(below[task_id]), max_size=1) if below[task_id] else None
        branches = choices is not None and data.draw(st.integers(0, 9)) == 0
        skips = data.draw(choices) if branches and choices is not None else []
        for run in runs:
            run.end(number, state, skips)


def clear_one(data: st.DataObject, runs: tuple[PaperRun, PaperRun]) -> None:
    ended = [instance.id for instance in runs[0].instances(*TERMINAL)]
    if ended:
        number = data.draw(st.sampled_from(ended))
        for run in runs:
            run.clear(number)


@settings(max_examples=200)
@given(graphs(), st.data())
def test_counts_lead_where_whole_looks_lead(graph: DagGraph, data: st.DataObject) -> None:
    lengths = {
        (over.task_id, over.key): data.draw(LENGTHS)
        for task in graph.dag.tasks
        for over in task.mapped_over
        if over.task_id is not None
    }
    counted = PaperRun(graph, counting=True, lengths=lengths, most=MOST)
    whole = PaperRun(graph, counting=False, lengths=lengths, most=MOST)
    for run in (counted, whole):
        run.start()
        run.look()

    clears = data.draw(st.sampled_from([0, 0, 0, 1, 2]))
    while counted.state is RunState.RUNNING:
        assert counted.instances(TaskState.SCHEDULED), "the run stands still"
        let_some_end(data, (counted, whole))
        if clears and data.draw(st.booleans()):
            clear_one(data, (counted, whole))
            clears -= 1
        counted.look()
        assert_alike(counted, whole, whole.look())

    event(f"advanced by counts: {min(counted.advances, 3)}")
    assert left_in(counted) == 0


def test_a_chain_is_advanced_by_counts_to_its_last_task() -> None:
    """So that the property above is not about whole looks alone."""
    names = [f"t{number}" for number in range(5)]
    chain = tuple(
        TaskSpec(task_id=name, operator="empty", upstream=tuple(names[number - 1 : number]))
        for number, name in enumerate(names)
    )
    spec = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=chain,
    )
    run = PaperRun(DagGraph(spec), counting=True)
    run.start()

    for _ in names:
        assert run.state is RunState.RUNNING
        [ready] = run.instances(TaskState.SCHEDULED)
        run.end(ready.id, TaskState.SUCCESS)
        run.look()

    assert (run.state, run.advances, run.unfinished) == (RunState.SUCCESS, 4, 0)
