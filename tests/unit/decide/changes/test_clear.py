"""Which task instances run again when a user clears tasks of a run."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headway.decide.changes.clear import Selection, below, clear, scope
from headway.decide.changes.intervene import Instance, Intervention
from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.errors import StillActiveError
from headway.domain.hints import Action, act
from headway.domain.states import Phase, TaskState
from headway.runtime.daemon.clock import SystemClock

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
PHASES = {"queued": Phase.QUEUED, "running": Phase.RUNNING, "restarting": Phase.STOPPING}


def task(task_id: str, upstream: str = "", over: str = "") -> TaskSpec:
    """A task; one that is mapped over the outputs of others, or over `3` items."""
    inputs = tuple(
        MapInput(argument=name, length=int(name))
        if name.isdigit()
        else MapInput(argument=name, task_id=name)
        for name in over.split()
    )
    return TaskSpec(
        task_id=task_id, operator="empty", upstream=tuple(upstream.split()), mapped_over=inputs
    )


def graph(*tasks: TaskSpec) -> DagGraph:
    return DagGraph(
        DagSpec(
            dag_id="d",
            relative_path="d.py",
            timetable=TimetableSpec(name="null"),
            timezone="UTC",
            tasks=tasks,
        )
    )


def prepared(task_id: str, upstream: str = "") -> TaskSpec:
    return replace(task(task_id, upstream), is_setup=True)


def torn_down(task_id: str, upstream: str) -> TaskSpec:
    return replace(task(task_id, upstream), is_teardown=True)


DIAMOND = graph(task("a"), task("b", "a"), task("c", "a"), task("d", "b c"), task("e"))
MAPPED = graph(task("list"), task("work", "list", over="list"), task("sum", "work"))


def instances(**states: str) -> list[Instance]:
    """One instance for each state; `work="success failed"` are two of a mapped task."""
    found: list[Instance] = []
    for task_id, listed in states.items():
        several = listed.split()
        for index, state in enumerate(several):
            map_index = index if len(several) > 1 else -1
            found.append(
                Instance(
                    len(found), task_id, map_index, TaskState(state), PHASES.get(state), NOON, NOON
                )
            )
    return found


def cleared(
    dag: DagGraph, selection: Selection, found: Sequence[Instance]
) -> tuple[set[str], Intervention]:
    """Return the names of what goes to none, at once or later, and all that is written."""
    what = clear(
        dag,
        [instance for instance in found if instance.task_id in scope(dag, selection)],
        selection,
    )
    ids = {*what.moves.get(TaskState.NONE, ()), *what.stops.get(TaskState.NONE, ())}
    assert set(what.moves) | set(what.stops) <= {TaskState.NONE}
    return {instance.name for instance in found if instance.id in ids}, what


ENDED = instances(a="success", b="failed", c="success", d="upstream_failed", e="success")


@pytest.mark.parametrize(
    ("selection", "names"),
    [
        (Selection(), "abcde"),
        (Selection(["a"]), "abcd"),
        (Selection(["b"]), "bd"),
        (Selection(["b", "e"]), "bde"),
        (Selection(["a"], downstream=False), "a"),
        (Selection(["a"], only_failed=True), "bd"),
        (Selection(only_failed=True), "bd"),
        (Selection(["c"], only_failed=True), "d"),
        (Selection(["e"], only_failed=True), ""),
    ],
)
def test_what_is_named_is_cleared_with_what_lies_below_it(selection: Selection, names: str) -> None:
    assert cleared(DIAMOND, selection, ENDED)[0] == set(names)


def test_what_is_undecided_stays_as_it_is() -> None:
    names, what = cleared(DIAMOND, Selection(["b"]), instances(b="up_for_retry", d="none"))

    assert names == {"b"}
    assert what.touched == {0}


def test_what_has_begun_is_told_to_stop_and_what_is_queued_is_withdrawn() -> None:
    found = instances(a="success", b="running", c="queued", d="none", e="restarting")

    what = cleared(DIAMOND, Selection(), found)[1]

    assert what.moves == {TaskState.NONE: [0, 2]}
    assert what.stops == {TaskState.NONE: [1, 4]}
    assert what.withdrawn == [2]


def test_the_tasks_below_are_all_that_wait_for_one() -> None:
    assert below(DIAMOND, ["a"]) == set("bcd")
    assert below(DIAMOND, ["e"]) == set()
    assert below(DIAMOND, ["a", "b"]) == set("bcd")


SETUPS = graph(
    prepared("cluster"),
    prepared("licence"),
    task("work", "cluster licence"),
    torn_down("remove", "cluster work"),
    prepared("early"),
    torn_down("early_off", "early"),
    task("last", "early_off"),
)


@pytest.mark.parametrize(
    ("named", "names"),
    [
        ("work", "cluster licence work remove"),
        ("last", "last"),
        ("remove", "licence remove"),
        ("early", "early"),
    ],
)
def test_a_task_is_cleared_with_the_setups_that_prepare_for_it(named: str, names: str) -> None:
    """Those that were torn down after it, with their teardowns, and those that never are."""
    found = instances(**dict.fromkeys(SETUPS.tasks, "success"))

    assert cleared(SETUPS, Selection([named], downstream=False), found)[0] == set(names.split())


def test_a_failed_task_is_cleared_with_setups_that_succeeded() -> None:
    states = {**dict.fromkeys(SETUPS.tasks, "success"), "work": "failed"}

    names = cleared(SETUPS, Selection(only_failed=True), instances(**states))[0]

    assert names == {"cluster", "licence", "work", "remove"}


def test_one_instance_of_a_mapped_task_is_cleared_alone() -> None:
    found = instances(list="success", work="success failed success", sum="upstream_failed")

    names, what = cleared(MAPPED, Selection(["work"], map_index=1), found)

    assert names == {"work[1]", "sum"}
    assert what.touched == {2, 4}


def test_the_instances_stay_as_long_as_the_input_does() -> None:
    found = instances(list="success", work="success failed", sum="success")

    names, what = cleared(MAPPED, Selection(["work"]), found)

    assert names == {"work[0]", "work[1]", "sum"}
    assert not what.placeholders
    assert not what.dropped


def test_a_mapped_task_whose_input_is_cleared_is_expanded_anew() -> None:
    found = instances(list="success", work="success queued failed", sum="none")

    names, what = cleared(MAPPED, Selection(["list"]), found)

    assert names == {"list", "work[0]"}
    assert what.placeholders == [1]
    assert what.dropped == [2, 3]
    assert what.withdrawn == [2]
    assert what.touched == {0, 1, 2, 3}


def test_only_the_failed_instances_of_a_mapped_task_are_cleared() -> None:
    found = instances(list="success", work="success failed", sum="upstream_failed")

    names, what = cleared(MAPPED, Selection(only_failed=True), found)

    assert names == {"work[1]", "sum"}
    assert not what.placeholders


def test_a_mapped_task_is_not_touched_when_its_input_is_cleared_alone() -> None:
    found = instances(list="success", work="success success", sum="success")

    names, what = cleared(MAPPED, Selection(["list"], downstream=False), found)

    assert (names, what.touched) == ({"list"}, {0})


@pytest.mark.parametrize("state", ["none", "running", "up_for_retry"])
def test_a_mapped_task_whose_input_is_made_again_is_expanded_anew(state: str) -> None:
    found = instances(list=state, work="success success", sum="success")

    what = cleared(MAPPED, Selection(["work"]), found)[1]

    assert (what.placeholders, what.dropped) == ([1], [2])


def test_a_mapped_task_whose_input_was_made_again_is_expanded_anew() -> None:
    """The input was cleared alone and has ended since the instances began."""
    found = instances(list="success", work="success success", sum="success")
    found[0] = replace(found[0], ended_at=NOON + timedelta(seconds=1))

    what = cleared(MAPPED, Selection(["work"]), found)[1]

    assert (what.placeholders, what.dropped) == ([1], [2])


def test_a_mapped_task_over_literals_keeps_its_instances() -> None:
    dag = graph(task("list"), task("work", "list", over="2"))

    what = cleared(dag, Selection(), instances(list="success", work="success success"))[1]

    assert not what.placeholders
    assert not what.dropped


def test_a_placeholder_stays_one() -> None:
    names, what = cleared(MAPPED, Selection(), instances(list="failed", work="upstream_failed"))

    assert names == {"list", "work"}
    assert not what.placeholders


def test_undecided_instances_are_made_anew_too() -> None:
    what = cleared(MAPPED, Selection(["list"]), instances(list="success", work="none none"))[1]

    assert (what.placeholders, what.dropped) == ([1], [2])
    assert what.moves == {TaskState.NONE: [0]}


@pytest.mark.parametrize("state", ["running", "restarting"])
def test_instances_that_have_begun_are_not_made_anew(state: str) -> None:
    found = instances(list="success", work=f"success {state}", sum="none")

    with pytest.raises(StillActiveError, match=rf"Task work\[1\] is {state}") as refused:
        cleared(MAPPED, Selection(["list"]), found)
    assert refused.value.hint is not None
    assert act(Action.CANCEL_TASKS) in refused.value.hint.parts


def test_instances_that_have_begun_are_left_alone_when_they_are_not_selected() -> None:
    found = instances(list="failed", work="success running", sum="none")

    assert cleared(MAPPED, Selection(["list"], downstream=False), found)[0] == {"list"}


def test_what_clear_must_know_is_what_it_may_change_and_the_inputs_of_it() -> None:
    assert scope(MAPPED, Selection(["work"])) == {"list", "work", "sum"}
    assert scope(MAPPED, Selection(["sum"])) == {"sum"}
    assert scope(SETUPS, Selection(["work"], downstream=False)) == {
        *("cluster", "licence", "work", "remove")
    }


def test_the_cost_of_clearing_grows_with_the_run_and_not_with_its_square() -> None:
    many = graph(*(task(f"t{n}") for n in range(10_000)))
    ended = instances(**{f"t{n}": "success" for n in range(10_000)})
    clock = SystemClock()
    began = clock.monotonic()

    what = clear(many, ended, Selection())

    assert sum(map(len, what.moves.values())) == 10_000
    assert clock.monotonic() - began < 3
