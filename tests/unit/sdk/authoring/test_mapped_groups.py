"""Mapped groups while a DAG file is read, and the arguments that their instances get."""

from collections.abc import Callable
from typing import Any

import pytest

from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec
from headway.domain.dag.validation import check_valid
from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import (
    DAG,
    BaseOperator,
    BashOperator,
    Context,
    EmptyOperator,
    TaskGroup,
    task,
    task_group,
)
from headway.sdk.harness.execution import Result
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.task_runtime import MappedXComs, XComs


@task
def plan() -> list[int]:
    return [1]


@task
def rest() -> None: ...


@task
def first(x: object) -> object:
    return x


@task
def second(*values: object, deep: object = None) -> object:
    return [*values, deep]


@task
def third() -> None: ...


@task_group
def each(x: Any, y: Any = 5) -> Any:
    got = first(x)
    with TaskGroup("inner"):
        third() << got
    return second(got, [y], deep={"x": x})


def spec_of(dag: DAG) -> DagSpec:
    spec = to_spec(dag, "x.py")
    check_valid(spec)
    return spec


def tasks_of(dag: DAG) -> dict[str, TaskSpec]:
    return {each.task_id: each for each in spec_of(dag).tasks}


def test_all_tasks_of_the_group_are_mapped_over_what_it_is_expanded_over(dag: DAG) -> None:
    left = each.partial(y=2).expand(x=plan())
    rest() << left

    tasks = tasks_of(dag)
    over = (MapInput(argument="x", task_id="plan"),)
    assert {name: (its.mapped_over, its.mapped_group) for name, its in tasks.items()} == {
        "plan": ((), None),
        "each.first": (over, "each"),
        "each.second": (over, "each"),
        "each.inner.third": (over, "each"),
        "rest": ((), None),
    }
    assert {name: its.upstream for name, its in tasks.items() if its.upstream} == {
        "each.first": ("plan",),
        "each.second": ("each.first", "plan"),
        "each.inner.third": ("each.first",),
        "rest": ("each.second",),
    }
    assert tasks["each.first"].arguments["op_args"] == [
        {"task_group()": {"group": "each", "argument": "x"}}
    ]


def test_the_first_tasks_wait_for_what_the_group_is_expanded_over(dag: DAG) -> None:
    @task_group
    def plain(x: Any) -> None:
        EmptyOperator(task_id="a") >> EmptyOperator(task_id="b")

    group = plain.override(group_id="other").expand(x=plan())
    assert dag.get_task("other.a").upstream_task_ids == {"plan"}
    with group:
        EmptyOperator(task_id="c")

    upstream = {name: its.upstream for name, its in tasks_of(dag).items()}
    assert upstream == {
        "plan": (),
        "other.a": ("plan",),
        "other.b": ("other.a",),
        "other.c": ("plan",),
    }


def test_a_task_that_is_made_after_the_group_waits_as_well(dag: DAG) -> None:
    @task_group
    def plain(x: Any) -> None:
        EmptyOperator(task_id="a")

    group = plain.expand(x=plan())
    EmptyOperator(task_id="late", task_group=group)

    assert tasks_of(dag)["plain.late"].upstream == ("plan",)
    assert dag.get_task("plain.late").is_mapped
    assert not dag.get_task("plan").is_mapped


def test_the_group_is_returned_if_its_function_returns_nothing(dag: DAG) -> None:
    @task_group
    def plain(x: Any) -> None:
        first(x)

    group = plain.expand(x=[1, 2])
    twice = plain.expand(x=[1, 2])
    before = EmptyOperator(task_id="before")
    before >> group >> twice

    assert (group.group_id, twice.group_id) == ("plain", "plain__1")
    assert tasks_of(dag)["plain__1.first"].upstream == ("plain.first",)
    assert tasks_of(dag)["plain.first"].mapped_over == (MapInput(argument="x", length=2),)


def test_rows_are_one_input(dag: DAG) -> None:
    each.expand_kwargs([{"x": 1}, {"x": 2, "y": 3}])

    over = (MapInput(argument="expand_kwargs()", length=2),)
    assert {its.mapped_over for its in tasks_of(dag).values()} == {over}


def run_each(
    run: Callable[..., Result], dag: DAG, mapped: MappedXComs, indexes: range
) -> list[object]:
    for name in ("each.first", "each.second"):
        for map_index in indexes:
            result = run(dag.get_task(name), map_index)
            assert result.outcome is Outcome.SUCCESS, result.error
    left = mapped["each.second", "return_value"]
    return [left[map_index] for map_index in indexes]


def test_an_instance_gets_the_items_for_its_map_index(
    dag: DAG, run: Callable[..., Result], xcoms: XComs, mapped: MappedXComs
) -> None:
    """The arguments, also nested ones, and the outputs of the other tasks of the group."""
    each.expand(x=plan(), y=["a", "b"])
    xcoms["plan", "return_value"] = [10, "{{ ds }}"]

    assert run_each(run, dag, mapped, range(4)) == [
        [10, ["a"], {"x": 10}],
        [10, ["b"], {"x": 10}],
        ["{{ ds }}", ["a"], {"x": "{{ ds }}"}],
        ["{{ ds }}", ["b"], {"x": "{{ ds }}"}],
    ]


def test_a_parameter_that_a_row_leaves_out_has_its_default(
    dag: DAG, run: Callable[..., Result], xcoms: XComs, mapped: MappedXComs
) -> None:
    each.expand_kwargs(plan())
    xcoms["plan", "return_value"] = [{"x": 1}, {"x": 2, "y": 3}, {"y": 3}, {"x": 1, "yy": 2}]

    assert run_each(run, dag, mapped, range(2)) == [
        [1, [5], {"x": 1}],
        [2, [3], {"x": 2}],
    ]
    result = run(dag.get_task("each.first"), 2)
    assert result.outcome is Outcome.FAILED
    assert "needs a value for 'x', which a dictionary" in (result.error or "")
    result = run(dag.get_task("each.first"), 3)
    assert "does not know the argument 'yy'; did you mean y?" in (result.error or "")


def test_an_item_may_be_the_output_of_a_task(
    dag: DAG, run: Callable[..., Result], xcoms: XComs, mapped: MappedXComs
) -> None:
    made = plan()
    each.expand(x=[made, [made, "{{ ds }}"]])
    xcoms["plan", "return_value"] = [7]

    found = run_each(run, dag, mapped, range(2))
    assert found[0] == [[7], [5], {"x": [7]}]
    assert found[1] == [[[7], "{{ ds }}"], [5], {"x": [[7], "{{ ds }}"]}]
    assert tasks_of(dag)["each.inner.third"].upstream == ("each.first",)


def test_an_item_and_an_output_may_stand_in_a_text(
    dag: DAG, run: Callable[..., Result], mapped: MappedXComs
) -> None:
    @task_group
    def shown(x: Any) -> None:
        BashOperator(task_id="echo", bash_command=f"echo {x} is {first(x)}")

    shown.expand(x=["a", "b"])
    mapped["shown.first", "return_value"] = {0: "A", 1: "B"}

    for map_index in (0, 1):
        run(dag.get_task("shown.echo"), map_index)
    assert mapped["shown.echo", "return_value"] == {0: "a is A", 1: "b is B"}


def test_outside_of_the_group_the_output_is_a_list(
    dag: DAG, run: Callable[..., Result], xcoms: XComs, mapped: MappedXComs
) -> None:
    @task
    def total(values: object, ti: Any = None) -> object:
        return [values, ti.expanded_ti_count]

    @task_group
    def inner(x: Any, above: Any) -> None:
        second(x, above)

    left = each.expand(x=[1, 2])
    total(left)
    inner.partial(above=left).expand(x=[8, 9])
    mapped["each.second", "return_value"] = {0: "a", 1: "b"}

    run(dag.get_task("total"))
    run(dag.get_task("inner.second"), 1)
    assert xcoms["total", "return_value"] == [["a", "b"], None]
    assert mapped["inner.second", "return_value"] == {1: [9, ["a", "b"], None]}


def test_an_instance_knows_how_many_there_are(
    dag: DAG, run: Callable[..., Result], mapped: MappedXComs
) -> None:
    @task
    def count(ti: Any) -> object:
        return ti.expanded_ti_count

    @task_group
    def counted(x: Any, y: Any) -> None:
        count()

    counted.expand(x=[1, 2], y=[1, 2, 3])
    run(dag.get_task("counted.count"), 5)
    assert mapped["counted.count", "return_value"] == {5: 6}


class Choosy(BaseOperator):
    """An operator that looks at its arguments as those of provider packages do."""

    template_fields = ("value",)

    def __init__(self, value: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self.value = "none" if value in (None, "") else value or "empty"

    def execute(self, context: Context) -> Any:
        return self.value


def test_a_constructor_may_ask_whether_there_is_an_argument(
    dag: DAG, run: Callable[..., Result], mapped: MappedXComs
) -> None:
    @task_group
    def chosen(x: Any) -> None:
        Choosy(task_id="choosy", value=x)

    chosen.expand(x=["", "b"])
    for map_index in (0, 1):
        run(dag.get_task("chosen.choosy"), map_index)
    assert mapped["chosen.choosy", "return_value"] == {0: "", 1: "b"}


@task_group
def around(x: Any) -> None:
    first.expand(x=[x])


@task_group
def around_partial(x: Any) -> None:
    EmptyOperator.partial(task_id="e", doc_md=x).expand(x=[1])


@task_group
def around_group(x: Any) -> None:
    each.expand(x=[x])


@task_group
def looks(x: Any) -> None:
    if x:
        third()


@task_group
def equals(x: Any) -> None:
    if x == 1:
        third()


@task_group
def loops(x: Any) -> None:
    for _ in x:
        third()


@task_group
def leaks(x: Any) -> Any:
    third()
    return x


@task_group
def untemplated(x: Any) -> None:
    EmptyOperator(task_id="e", retries=x)


@task_group
def late(x: Any) -> None:
    first(x)


def moved() -> object:
    group = late.expand(x=[1])
    return group.add(first.expand(x=[1]).operator)


@task_group
def any_name(**values: Any) -> None: ...


NESTED = "it is in the mapped task group '{}', where nothing can be"
REFUSED: dict[str, Callable[[], object]] = {
    "task 'first': " + NESTED.format("around"): lambda: around.expand(x=[1]),
    "task 'e': " + NESTED.format("around_partial"): lambda: around_partial.expand(x=[1]),
    "task group 'each': " + NESTED.format("around_group"): lambda: around_group.expand(x=[1]),
    "task 'first': " + NESTED.format("late"): moved,
    "'looks': the argument 'x' is another one for each map index": lambda: looks.expand(x=[1]),
    "'equals': the argument 'x' is another one": lambda: equals.expand(x=[1]),
    "'loops': the argument 'x' is another one": lambda: loops.expand(x=[1]),
    "it uses the argument 'x' of the mapped task group 'leaks', in which": lambda: first(
        leaks.expand(x=[1])
    ),
    "retries": lambda: untemplated.expand(x=[1]),
    "expand\\(\\) needs an argument to expand over": late.expand,
    "called without its argument 'x'": lambda: each.expand(y=[1]),
    "does not know the argument 'z'": lambda: each.expand(z=[1]),
    "partial\\(\\): each\\(\\) does not know the argument 'z'": lambda: each.partial(z=1),
    "expand\\(\\): y is given to partial\\(\\) already": lambda: each.partial(y=1).expand(y=[1]),
    "'each': y is given to partial\\(\\) already": lambda: each.partial(y=1)(1, y=2),
    "x in expand\\(\\) must be a list, a tuple": lambda: late.expand(x=3),
    "what expand_kwargs\\(\\) is given must be a list": lambda: late.expand_kwargs({"x": 1}),
    "item 1 of expand_kwargs\\(\\) must be a dictionary": lambda: late.expand_kwargs([{"x": 1}, 2]),
    "write them down in any_name\\(\\) instead": lambda: any_name.expand_kwargs([{"x": 1}]),
    "which makes 250,000 instances|makes 500 x 500 = 250,000": lambda: each.expand(
        x=[1] * 500, y=[1] * 500
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_makes_no_sense_is_refused(dag: DAG, said: str) -> None:
    def make() -> DagSpec:
        REFUSED[said]()
        return to_spec(dag, "x.py")

    with pytest.raises(DagError, match=said):
        make()


def test_a_partial_group_may_be_called_as_well(dag: DAG) -> None:
    each.partial(y=1)(x=2)

    tasks = tasks_of(dag)
    assert {its.mapped_group for its in tasks.values()} == {None}
    arguments: Any = tasks["each.second"].arguments
    assert arguments["op_args"][1] == [1]
