"""Tasks in mapped groups: when they become their instances, and what each of these waits for."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headway.decide.scheduling import grouped
from headway.decide.scheduling.advance import Undecided
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.grouped_advance import Ended, advance_by_index, reached
from headway.decide.scheduling.run_counts import Lengths, RunCounts, Settlement, TaskCounts
from headway.decide.scheduling.settle import settle
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.dag.trigger_rules import Tally, TriggerRule
from headway.domain.states import RunState, TaskState

NONE, SCHEDULED, SUCCESS = TaskState.NONE, TaskState.SCHEDULED, TaskState.SUCCESS
FAILED, SKIPPED, RUNNING = TaskState.FAILED, TaskState.SKIPPED, TaskState.RUNNING
UPSTREAM_FAILED = TaskState.UPSTREAM_FAILED
LIST = ("list", "return_value")
OVER = (MapInput(argument="x", task_id="list"),)
A, B, C, AFTER = 100, 200, 300, 400
"""The ids of the instances of these tasks begin so."""


def task(task_id: str, *upstream: str, **fields: Any) -> TaskSpec:
    return TaskSpec(task_id=task_id, operator="empty", upstream=upstream, **fields)


def inside(task_id: str, *upstream: str, **fields: Any) -> TaskSpec:
    return replace(task(task_id, *upstream), mapped_over=OVER, mapped_group="g", **fields)


def graph(*tasks: TaskSpec) -> DagGraph:
    spec = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=tasks,
    )
    return DagGraph(spec)


CHAIN = graph(
    task("list"), inside("a", "list"), inside("b", "a"), inside("c", "b"), task("after", "c")
)


def expanded(first: int, *states: TaskState) -> TaskCounts:
    """How a task of the group stands; the ids of its instances count from the first on."""
    counts: dict[TaskState, int] = {}
    for state in states:
        counts[state] = counts.get(state, 0) + 1
    undecided = [first + index for index, state in enumerate(states) if state is NONE]
    return TaskCounts(counts, undecided, by_index=dict(enumerate(states)))


def placeholder(number: int) -> TaskCounts:
    return TaskCounts({NONE: 1}, [number], placeholder=True, by_index={-1: NONE})


def whole(state: TaskState) -> TaskCounts:
    return TaskCounts({state: 1}, by_index={-1: state})


START: Mapping[str, TaskCounts] = {
    "list": TaskCounts({SUCCESS: 1}),
    "a": placeholder(A),
    "b": placeholder(B),
    "c": placeholder(C),
    "after": TaskCounts({NONE: 1}, [AFTER]),
}


def settled(
    lengths: Lengths | None = None,
    dag: DagGraph = CHAIN,
    skips: set[tuple[str, int]] | None = None,
    **tasks: TaskCounts,
) -> Settlement:
    known = {LIST: 2} if lengths is None else lengths
    run = RunCounts(1, dag, {**START, **tasks}, lengths=known, index_skips=skips or ())
    return settle(run, 100)


def test_the_first_tasks_are_scheduled_and_the_others_are_to_be_decided_about() -> None:
    settlement = settled()

    assert (settlement.expansions, settlement.grown) == ({A: 2}, {B: 2, C: 2})
    assert settlement.unfinished is None, "the next look is at the whole run"
    assert settlement.waiting == {AFTER: Tally(total=2)}


def test_before_the_list_is_there_all_wait() -> None:
    settlement = settled(list=TaskCounts({RUNNING: 1}))

    assert (settlement.expansions, settlement.grown, settlement.moves) == ({}, {}, {})
    assert settlement.waiting.keys() == {A, B, C, AFTER}


def test_an_empty_list_skips_the_whole_group() -> None:
    assert settled({LIST: 0}).moves == {SKIPPED: [A, B, C, AFTER]}


def test_without_a_list_nothing_can_be_expanded() -> None:
    dag = graph(
        *CHAIN.dag.tasks[:2],
        inside("b", "a", trigger_rule=TriggerRule.ALL_DONE),
        *CHAIN.dag.tasks[3:],
    )
    settlement = settled({}, dag)

    assert settlement.moves == {UPSTREAM_FAILED: [A, B, C, AFTER]}
    assert settlement.problems.keys() == {"a", "b"}


def test_each_instance_is_decided_about_by_those_of_its_map_index() -> None:
    settlement = settled(
        a=expanded(A, SUCCESS, FAILED, SKIPPED, RUNNING),
        b=expanded(B, NONE, NONE, NONE, NONE),
        c=expanded(C, NONE, NONE, NONE, NONE),
    )

    assert settlement.moves == {
        SCHEDULED: [B],
        UPSTREAM_FAILED: [B + 1, C + 1, AFTER],
        SKIPPED: [B + 2, C + 2],
    }
    assert settlement.waiting == {B + 3: Tally(total=1), C: Tally(total=1), C + 3: Tally(total=1)}
    assert settlement.unfinished == 5


def test_what_has_ended_as_a_whole_counts_for_each_map_index() -> None:
    dag = graph(
        task("list"),
        inside("a", "list"),
        inside("other"),
        inside("b", "a", "other", trigger_rule=TriggerRule.ALL_DONE),
    )
    settlement = settled(
        dag=dag,
        a=expanded(A, SUCCESS, RUNNING),
        other=whole(SKIPPED),
        b=expanded(B, NONE, NONE),
    )

    assert settlement.moves[SCHEDULED] == [B]
    assert settlement.waiting[B + 1] == Tally(total=2, skipped=1)


def test_an_instance_that_is_not_there_holds_nothing_up() -> None:
    """What a user has had expanded anew may have fewer instances than what was before."""
    settlement = settled(a=expanded(A, SUCCESS), b=expanded(B, NONE, NONE))

    assert settlement.moves[SCHEDULED] == [B, B + 1]


def test_a_task_outside_counts_all_instances_for_each_map_index() -> None:
    dag = graph(task("list"), task("side"), inside("a", "list"), inside("b", "a", "side"))
    settlement = settled(
        dag=dag,
        side=TaskCounts({RUNNING: 1, SUCCESS: 2}),
        a=expanded(A, SUCCESS, SUCCESS),
        b=expanded(B, NONE, NONE),
    )

    waits = Tally(total=4, success=3)
    assert (settlement.waiting[B], settlement.waiting[B + 1]) == (waits, waits)


def test_a_task_that_waits_has_no_problem_with_its_length_yet() -> None:
    dag = graph(
        task("first"),
        replace(inside("a", "first"), mapped_over=(MapInput(argument="x", length=5),)),
    )
    counts = {"first": TaskCounts({RUNNING: 1}), "a": placeholder(A)}

    assert settle(RunCounts(1, dag, counts), most=3).problems == {}


def test_a_task_of_known_length_ends_with_all_its_instances() -> None:
    """As in Airflow: it is known from the start how many there are."""
    over = (MapInput(argument="x", length=2),)
    dag = graph(task("list"), replace(inside("a", "list"), mapped_over=over))
    settlement = settled(dag=dag, list=TaskCounts({FAILED: 1}))

    assert (settlement.grown, set(settlement.moves)) == ({A: 2}, {TaskState.REMOVED})
    again = settled(dag=dag, list=TaskCounts({FAILED: 1}), a=expanded(A, NONE, NONE))
    assert again.moves[UPSTREAM_FAILED] == [A, A + 1]


def test_over_a_literal_empty_list_a_task_fails_for_its_upstream_as_any_other() -> None:
    over = (MapInput(argument="x", length=0),)
    dag = graph(task("list"), replace(inside("a", "list"), mapped_over=over))
    settlement = settled(dag=dag, list=TaskCounts({FAILED: 1}))

    assert (settlement.grown, settlement.moves[UPSTREAM_FAILED]) == ({}, [A])
    assert settled(dag=dag).moves[SKIPPED] == [A], "nothing has failed"


def test_a_task_that_comes_later_is_decided_about_by_index() -> None:
    """Such as one that a version of the DAG adds to a run: no instance fails for another one."""
    settlement = settled(
        a=expanded(A, SUCCESS, FAILED), b=placeholder(B), c=whole(SUCCESS), after=whole(SUCCESS)
    )

    assert (settlement.grown, settlement.moves) == ({B: 2}, {})


def test_a_choice_counts_for_its_map_index_in_the_group() -> None:
    choices = {("a", 1): ["b", "after"], ("list", -1): ["c"]}
    assert grouped.skips(CHAIN, choices) == ({"c"}, {("b", 1)})

    settlement = settled(
        skips={("b", 1)},
        a=expanded(A, SUCCESS, SUCCESS),
        b=expanded(B, NONE, NONE),
        c=expanded(C, NONE, NONE),
    )
    assert settlement.moves == {SCHEDULED: [B], SKIPPED: [B + 1, C + 1]}


def test_a_run_that_is_to_end_skips_what_is_left_of_the_group() -> None:
    tasks = {
        **START,
        "a": expanded(A, SUCCESS, SUCCESS),
        "b": expanded(B, NONE, SUCCESS),
        "c": placeholder(C),
    }
    run = RunCounts(1, CHAIN, tasks, end_as=RunState.FAILED, lengths={LIST: 2})

    assert settle(run).moves == {SKIPPED: [B, C, AFTER]}
    assert settle(run).run_state is RunState.FAILED


def test_what_an_end_reaches_is_below_it_in_the_group_and_next_to_that() -> None:
    assert reached(CHAIN, [Ended("a", 1, SUCCESS)]) == {("b", 1), ("c", 1), ("after", -1)}
    assert reached(CHAIN, [Ended("list", -1, SUCCESS)]) == {("a", -1), ("b", -1), ("c", -1)}
    assert reached(CHAIN, [Ended("gone", -1, SUCCESS)]) == set()


def waiting(first: int, task_id: str, *indexes: int) -> list[Undecided]:
    return [Undecided(first + index, task_id, Tally(1), index) for index in indexes]


BELOW = [
    *waiting(B, "b", 0, 1, 2),
    *waiting(C, "c", 0, 1, 2),
    Undecided(AFTER, "after", Tally(3)),
]


def test_counts_decide_about_single_instances() -> None:
    ended = [Ended("a", 0, SUCCESS), Ended("a", 1, SUCCESS, ["b"]), Ended("a", 2, SKIPPED)]

    settlement = advance_by_index(CHAIN, ended, BELOW, 10)

    assert settlement is not None
    assert settlement.moves == {SCHEDULED: [B], SKIPPED: [B + 1, B + 2, C + 1, C + 2]}
    assert settlement.waiting == {AFTER: Tally(3, skipped=2)}
    assert settlement.unfinished == 6


def test_a_choice_reaches_what_is_further_below_in_the_group() -> None:
    ended = [Ended("a", 1, SUCCESS, ["c"])]

    settlement = advance_by_index(CHAIN, ended, [it for it in BELOW if it.id != AFTER], 10)

    assert settlement is not None
    assert settlement.moves == {SCHEDULED: [B + 1], SKIPPED: [C + 1]}


AROUND = graph(
    *CHAIN.dag.tasks[:2],
    task("out", "a"),
    inside("b", "list", "out"),
    inside("c", "b"),
    task("after", "c"),
)
"""A task outside of the group lies between two that are in it."""


def test_a_choice_reaches_what_is_below_in_the_group_by_way_of_a_task_outside() -> None:
    ended = [Ended("a", 1, SUCCESS, ["out", "b"])]
    keys = {("out", -1), ("b", -1), ("b", 1), ("c", 1), ("after", -1)}
    assert reached(AROUND, ended) == keys

    out = Undecided(300, "out", Tally(2))
    below = [it for it in BELOW if (it.task_id, it.map_index) in keys]
    settlement = advance_by_index(AROUND, ended, [out, *below], 10)

    assert settlement is not None
    assert settlement.moves == {SKIPPED: [B + 1, C + 1]}
    assert settlement.waiting == {300: Tally(2, success=1), AFTER: Tally(3, skipped=1)}
    placeholders = [out, Undecided(B, "b", Tally(2))]
    assert advance_by_index(AROUND, ended, placeholders, 10) is None, "it is to be expanded"


def test_a_task_of_which_an_instance_was_not_chosen_is_decided_about_by_index() -> None:
    a, out = expanded(A, SUCCESS, SUCCESS), TaskCounts({SUCCESS: 1})
    settlement = settled(dag=AROUND, skips={("b", 1)}, a=a, out=out)
    assert (settlement.grown, settlement.expansions) == ({B: 2, C: 2}, {})

    again = settled(dag=AROUND, skips={("b", 1)}, a=a, out=out, b=expanded(B, NONE, NONE))
    assert again.moves == {SCHEDULED: [B], SKIPPED: [B + 1]}


def test_it_takes_a_whole_look_where_counts_do_not_suffice() -> None:
    one = [Ended("a", 0, FAILED)]
    assert advance_by_index(CHAIN, one, BELOW, 10) is None, "what is outside never runs"
    ended = [Ended("a", 0, SUCCESS)]
    assert advance_by_index(CHAIN, ended, BELOW, 0) is None, "the run may be over"
    ended = [Ended("list", -1, SUCCESS)]
    a = Undecided(A, "a", Tally(1))
    assert advance_by_index(CHAIN, ended, [a], 10) is None, "it is to be expanded"
    assert advance_by_index(CHAIN, ended, [], 10) is None, "it has been expanded"
    ended = [Ended("list", -1, SUCCESS, ["after"])]
    assert advance_by_index(CHAIN, ended, [a], 10) is None, "a choice outside of the group"


def test_what_is_expanded_over_an_end_is_reached_though_it_does_not_wait_for_it() -> None:
    """Its rule may hold already: it waits only to know how many instances it has."""
    late = graph(
        *(task("list"), task("slow"), task("y"), inside("a", "list", "slow")),
        inside("b", "a", "y", trigger_rule=TriggerRule.ONE_SUCCESS),
        inside("c", "a"),
    )
    ended = [Ended("list", -1, SUCCESS)]
    assert reached(late, ended) == {("a", -1), ("b", -1), ("c", -1)}

    a, c = Undecided(A, "a", Tally(2)), Undecided(C, "c", Tally(1))
    holds = Undecided(B, "b", Tally(2, success=1))
    assert advance_by_index(late, ended, [a, holds, c], 10) is None
    settlement = advance_by_index(late, ended, [a, Undecided(B, "b", Tally(2)), c], 10)
    assert settlement is not None
    assert settlement.waiting == {A: Tally(2, success=1)}, "nothing has arrived at the others"


def test_what_has_a_decision_already_is_left_alone() -> None:
    settlement = advance_by_index(CHAIN, [Ended("a", 0, FAILED)], [], 10)

    assert settlement == Settlement({}, unfinished=10)
