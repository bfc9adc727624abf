"""TaskGroup and @task_group: ids, defaults, what they stand for in dependencies, refusals."""

from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.dag.task_groups import GroupSpec
from headway.domain.errors import DagError
from headway.sdk import (
    DAG,
    BaseOperator,
    BashOperator,
    EmptyOperator,
    TaskGroup,
    XComArg,
    chain,
    cross_downstream,
    setup,
    task,
    task_group,
    teardown,
)
from headway.sdk.harness.execution import Result
from headway.sdk.harness.specification import to_spec

Tree: TypeAlias = "str | tuple[bool, list[Tree]]"
"""A task, or a group: whether its members follow one another, and these."""


def empty(name: str, **options: Any) -> BaseOperator:
    made: BaseOperator = EmptyOperator(task_id=name, **options)
    return made


def edges(dag: DAG) -> set[tuple[str, str]]:
    spec = to_spec(dag, "x.py")
    return {(upstream, each.task_id) for each in spec.tasks for upstream in each.upstream}


def test_ids_within_groups_begin_with_those_of_the_groups(dag: DAG) -> None:
    with TaskGroup("outer") as outer:
        a = empty("a")
        with TaskGroup("inner") as inner:
            b = empty("b")
        c = empty("c")
    d = empty("d")

    assert list(dag.task_dict) == ["outer.a", "outer.inner.b", "outer.c", "d"]
    assert (outer.group_id, inner.group_id) == ("outer", "outer.inner")
    assert [each.label for each in (a, b, c, d)] == ["a", "b", "c", "d"]
    assert (outer.label, inner.label) == ("outer", "inner")
    assert [each.task_group for each in (a, b, c, d)] == [outer, inner, outer, dag.task_group]


def test_a_group_without_prefix_leaves_ids_as_they_are(dag: DAG) -> None:
    with TaskGroup("outer"), TaskGroup("inner", prefix_group_id=False) as inner:
        b = empty("b")
        with TaskGroup("deep"):
            c = empty("c")

        d = empty("outer.inner.d")

    assert (inner.group_id, b.task_id, c.task_id) == ("outer.inner", "b", "deep.c")
    assert (b.label, d.label) == ("b", "outer.inner.d")


def test_what_is_in_a_group_is_found_by_its_name_there(dag: DAG) -> None:
    with TaskGroup("outer") as outer:
        a = empty("a")
        with TaskGroup("inner") as inner:
            b = empty("b")

    assert outer["a"] is a
    assert outer["inner"] is inner
    assert list(outer) == [a, b]
    assert list(dag.task_group) == dag.tasks
    assert outer.has_task(b)
    assert not inner.has_task(a)
    assert outer.children == {"outer.a": a, "outer.inner": inner}
    assert dag.task_group_dict == {"outer": outer, "outer.inner": inner}
    assert dag.task_group.get_task_group_dict().keys() == {None, "outer", "outer.inner"}
    with pytest.raises(DagError, match=r"outer> has no 'b'; what is in it: outer\.a, outer\.inner"):
        outer["b"]


def test_groups_are_stored(dag: DAG) -> None:
    with TaskGroup("outer", tooltip="What comes first"):
        empty("a")
        with TaskGroup("inner", group_display_name="Inside"):
            empty("b")
    with TaskGroup("none"):
        pass

    assert to_spec(dag, "x.py").groups == (
        GroupSpec(group_id="outer", tasks=("outer.a",), tooltip="What comes first"),
        GroupSpec(
            group_id="outer.inner", parent="outer", tasks=("outer.inner.b",), display_name="Inside"
        ),
        GroupSpec(group_id="none"),
    )


def test_a_group_stands_for_the_tasks_at_its_ends(dag: DAG) -> None:
    before, after = empty("before"), empty("after")
    with TaskGroup("g") as group:
        a, b, c = empty("a"), empty("b"), empty("c")
        a >> b

    before >> group >> after

    assert group.roots == [a, c]
    assert group.leaves == [b, c]
    assert edges(dag) == {
        ("g.a", "g.b"),
        ("before", "g.a"),
        ("before", "g.c"),
        ("g.b", "after"),
        ("g.c", "after"),
    }


def test_groups_go_with_each_kind_of_dependency(dag: DAG) -> None:
    def group(name: str) -> TaskGroup:
        with TaskGroup(name) as made:
            empty("t")
        return made

    x, y = empty("x"), empty("y")
    p, q, r, s = group("p"), group("q"), group("r"), group("s")

    x << p
    [x, q] >> r
    chain(x, [y, q], [r, s])
    cross_downstream([p, q], [s])

    assert edges(dag) == {
        ("p.t", "x"),
        ("x", "r.t"),
        ("q.t", "r.t"),
        ("x", "y"),
        ("x", "q.t"),
        ("y", "r.t"),
        ("q.t", "s.t"),
        ("p.t", "s.t"),
    }


@pytest.mark.parametrize("turned", [False, True])
def test_an_empty_group_joins_what_is_before_it_to_what_is_after_it(
    dag: DAG, *, turned: bool
) -> None:
    before, after = empty("before"), empty("after")
    groups = []
    for name in ("one", "two"):
        with TaskGroup(name) as group:
            groups.append(group)
    row = [before, *groups, after]

    for upstream, downstream in reversed(list(pairwise(row))) if turned else pairwise(row):
        upstream >> downstream

    assert edges(dag) == {("before", "after")}


def test_a_teardown_is_no_end_of_a_group(dag: DAG) -> None:
    after = empty("after")
    with TaskGroup("g") as group:
        up, other, work = empty("up"), empty("other"), empty("work")
        down = empty("down").as_teardown(setups=[up, other])
        up >> work >> down

    group >> after

    assert group.leaves == [work]
    assert ("g.down", "after") not in edges(dag)
    assert ("g.work", "after") in edges(dag)


def test_what_is_before_several_teardowns_is_the_end_once(dag: DAG) -> None:
    with TaskGroup("g") as group:
        up, work, more = empty("up"), empty("work"), empty("more")
        first = empty("first").as_teardown(setups=up)
        last = empty("last").as_teardown()
        up >> work >> first >> last
        work >> last
        up >> more >> first

    assert group.leaves == [more, work]


def test_a_task_that_others_wait_for_is_no_end_because_a_teardown_does(dag: DAG) -> None:
    with TaskGroup("g") as group:
        work, more = empty("work"), empty("more")
        down = empty("down").as_teardown()
        work >> [more, down]

    assert group.leaves == [more]


def test_defaults_of_groups_go_before_those_of_what_they_are_in() -> None:
    with DAG("d", default_args={"retries": 1, "pool": "dag", "queue": "dag"}) as dag:
        with TaskGroup("outer", default_args={"pool": "outer", "queue": "outer"}):
            with TaskGroup("inner", default_args={"queue": "inner"}) as inner:
                a, b = empty("a"), empty("b", queue="own")

            @task
            def work() -> None: ...

            called = work().operator
        outside = empty("c", task_group=inner)
        plain = empty("d")

    found = [(it.retries, it.pool, it.queue) for it in (a, b, called, outside, plain)]

    assert found == [
        (1, "outer", "inner"),
        (1, "outer", "own"),
        (1, "outer", "outer"),
        (1, "outer", "inner"),
        (1, "dag", "dag"),
    ]
    assert outside.task_id == "outer.inner.c"
    assert to_spec(dag, "x.py")


@pytest.mark.parametrize(
    ("default_args", "said"),
    [
        ({"retires": 1}, "DAG 'flights', task group 'g': default_args does not know .* retries"),
        ({"wait_for_downstream": True}, "there is no wait_for_downstream"),
        ({"bash_command": "x"}, "does not know the argument 'bash_command'"),
    ],
)
def test_a_default_that_no_task_of_the_group_takes_is_refused(
    dag: DAG, default_args: dict[str, Any], said: str
) -> None:
    BashOperator(task_id="outside", bash_command="true")
    with TaskGroup("g", default_args=default_args):
        empty("a")

    with pytest.raises(DagError, match=said):
        to_spec(dag, "x.py")


def test_a_task_is_put_into_a_group_by_an_argument_or_later(dag: DAG) -> None:
    group = TaskGroup("g")
    a = empty("a", task_group=group)
    b = group.add(empty("b"))

    assert (a.task_id, b.task_id) == ("g.a", "b")
    assert list(group) == [a, b]
    assert b not in dag.task_group.children.values()


def test_a_group_is_made_outside_of_its_dag_and_in_another_group() -> None:
    dag = DAG("d")
    outer = TaskGroup("outer", dag=dag)
    with TaskGroup("inner", parent_group=outer):
        a = empty("a")

    assert (a.dag, a.task_id) == (dag, "outer.inner.a")


def test_a_task_of_another_dag_is_not_in_the_open_group() -> None:
    other = DAG("other")
    with DAG("d"), TaskGroup("g"):
        a = empty("a", dag=other)
        with other:
            b = empty("b")

    assert [a.task_id, b.task_id] == ["a", "b"]
    assert list(other.task_group) == [a, b]


def test_decorated_functions_make_groups(dag: DAG) -> None:
    @task
    def land(day: str) -> str:
        return day

    @task_group
    def day(name: str, *, again: bool = False) -> Any:
        """All of a day."""
        first = land(name)
        return land(first) if again else None

    group, output = day("mon"), day("tue", again=True)

    assert isinstance(group, TaskGroup)
    assert (group.group_id, group.tooltip) == ("day", "All of a day.")
    assert isinstance(output, XComArg)
    assert output.operator.task_id == "day__1.land__1"
    assert edges(dag) == {("day__1.land", "day__1.land__1")}


def test_the_decorator_and_override_take_the_arguments_of_groups(dag: DAG) -> None:
    @task_group(group_id="week", prefix_group_id=False, tooltip="Seven days")
    def days() -> None:
        empty("a")

    @task_group("named")
    def other() -> None:
        empty("b")

    week, again = days(), days.override(group_id="again", prefix_group_id=True)()
    other()

    assert (week.group_id, week.tooltip, again.group_id) == ("week", "Seven days", "again")
    assert list(dag.task_dict) == ["a", "again.a", "named.b"]


def test_the_output_of_a_group_is_an_argument(dag: DAG, run: Callable[..., Result]) -> None:
    @task
    def one(given: int) -> int:
        return given + 1

    @task_group
    def twice(given: Any) -> XComArg:
        return one(one(given))

    @task_group
    def both() -> dict[str, XComArg]:
        return {"first": one(1), "second": one(2)}

    twice(both()["second"])

    assert edges(dag) == {("both.one__1", "twice.one"), ("twice.one", "twice.one__1")}


def test_mapped_tasks_may_be_in_groups(dag: DAG, run: Callable[..., Result]) -> None:
    group = TaskGroup("g")
    with group:
        partial = BashOperator.partial(task_id="show")

        @task
        def count(path: str) -> str:
            return path

        mapped = count.expand(path=["a", "b"])
    shown = partial.expand(bash_command=["echo 1"])
    placed = BashOperator.partial(task_id="placed", task_group=group).expand(bash_command=["echo"])

    assert [it.task_id for it in group] == ["g.count", "g.show", "g.placed"]
    assert mapped.operator.task_id == "g.count"
    assert run(mapped, map_index=1).error is None
    for operator in (shown, placed):
        instance, _ = operator.instance(None, 0)  # type: ignore[arg-type]
        assert (instance.task_id, instance.task_group) == (operator.task_id, group)
    assert list(group) == [mapped.operator, shown, placed]


def test_a_branch_may_choose_a_group(dag: DAG, run: Callable[..., Result]) -> None:
    @task.branch
    def choose() -> str:
        return "g"

    with TaskGroup("g") as group:
        a, b = empty("a"), empty("b")
        a >> b
    other = empty("other")
    chosen = choose()
    chosen >> [group, other]

    assert run(chosen).skip_tasks == ("other",)


@task_group
def made() -> None: ...


REFUSED: dict[str, Callable[[], object]] = {
    "DAG 'flights' has two task groups with the id 'g'; rename one, or": lambda: TaskGroup("g"),
    "DAG 'flights' has a task and a task group with the id 't'": lambda: TaskGroup("t"),
    "DAG 'flights' has a task and a task group with the id 'g'": lambda: empty("g"),
    "two tasks with the id 'g.a'": lambda: empty("a", task_group=task_group_of("g")),
    "The task group id 'a.b' has a dot": lambda: TaskGroup("a.b"),
    "A task group id must be a string": lambda: TaskGroup(3),  # type: ignore[arg-type]
    "there is no ui_color; groups are drawn in the": lambda: TaskGroup("x", ui_color="#fff"),  # type: ignore[call-arg]
    "a group has no doc_md": lambda: TaskGroup("x", doc_md="x"),  # type: ignore[call-arg]
    "does not know the argument 'tooltop'; did you": lambda: TaskGroup("x", tooltop="x"),  # type: ignore[call-arg]
    "task group 'x': tooltip must be a string": lambda: TaskGroup("x", tooltip=3),  # type: ignore[arg-type]
    "task group 'x': default_args must be a dict": lambda: TaskGroup("x", default_args=[1]),  # type: ignore[arg-type]
    "'x': parent_group must be a TaskGroup": lambda: TaskGroup("x", parent_group="g"),  # type: ignore[arg-type]
    "parent_group is in the DAG 'flights', and dag is 'o'": lambda: TaskGroup(
        "x", parent_group=task_group_of("g"), dag=DAG("o")
    ),
    "task 'y': task_group must be a TaskGroup, not 'g'": lambda: empty("y", task_group="g"),
    "'g.' ?|must have 1 to 250 characters": lambda: empty("", task_group=task_group_of("g")),
    "Here a task is needed, and <TaskGroup: g> is none": lambda: empty("y").as_teardown(
        setups=task_group_of("g")
    ),
    "'made' can be no setup or teardown; decorate its": lambda: setup(made),
    "task group 'made' can be no|'made' can be no": lambda: teardown(made),
    "@task_group decorates functions": lambda: task_group(tooltip="x")(3),  # type: ignore[arg-type]
}


def task_group_of(name: str) -> TaskGroup:
    from headway.sdk.authoring.current import current_dag

    dag = current_dag()
    assert dag is not None
    return dag.task_group_dict[name]


@pytest.mark.parametrize("said", REFUSED)
def test_what_makes_no_sense_is_refused(dag: DAG, said: str) -> None:
    empty("t")
    with TaskGroup("g"):
        empty("a")

    with pytest.raises(DagError, match=said):
        REFUSED[said]()


def test_a_group_outside_of_a_dag_is_refused() -> None:
    with pytest.raises(DagError, match="Task group 'g' is made outside of a DAG; use `with DAG"):
        TaskGroup("g")


def test_groups_are_not_nested_without_end(dag: DAG) -> None:
    with ExitStack() as opened:
        for nth in range(64):
            opened.enter_context(TaskGroup(f"g{nth}", prefix_group_id=False))
        with pytest.raises(DagError, match="task group 'deep' is in 64 others; make it part of"):
            TaskGroup("deep")


def test_a_task_of_another_dag_joins_no_group(dag: DAG) -> None:
    group, other = TaskGroup("g"), empty("a", dag=DAG("other"))

    with pytest.raises(DagError, match="it cannot join <TaskGroup: g>, which is in another DAG"):
        group.add(other)


TREES: st.SearchStrategy[list[Tree]] = st.recursive(
    st.just("t"),
    lambda inner: st.tuples(st.booleans(), st.lists(inner, max_size=4)),
    max_leaves=14,
).map(lambda tree: [tree])


@given(TREES)
def test_groups_give_the_edges_of_the_tasks_written_by_hand(trees: list[Tree]) -> None:
    with DAG("d") as dag:
        nodes = [build(tree) for tree in [*trees, "t"]]
        chain(*nodes)
    names = iter(dag.task_dict)
    expected: set[tuple[str, str]] = set()

    by_hand((True, [*trees, "t"]), names, expected)

    assert edges(dag) == expected
    assert next(names, None) is None


def build(tree: Tree) -> BaseOperator | TaskGroup:
    if isinstance(tree, str):
        return empty(f"t{number()}")
    in_row, members = tree
    with TaskGroup(f"g{number()}") as group:
        nodes = [build(each) for each in members]
        if in_row:
            chain(*nodes)
    return group


def number() -> int:
    from headway.sdk.authoring.current import current_dag

    dag = current_dag()
    assert dag is not None
    return len(dag.task_dict) + len(dag.task_group_dict)


def by_hand(tree: Tree, names: Any, found: set[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Add the edges of a tree, whose tasks have these names in order; return its two ends."""
    if isinstance(tree, str):
        name = next(names)
        return [name], [name]
    in_row, members = tree
    ends = [its for each in members if (its := by_hand(each, names, found)) != ([], [])]
    if not ends:
        return [], []
    if not in_row:
        return [it for its, _ in ends for it in its], [it for _, its in ends for it in its]
    for (_, above), (below, _) in pairwise(ends):
        found |= {(one, other) for one in above for other in below}
    return ends[0][0], ends[-1][1]
