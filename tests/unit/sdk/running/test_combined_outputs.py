"""`map`, `zip` and `concat` of outputs: what instances get, and tasks that take all at once."""

from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.domain.dag.mapping import map_length
from headway.domain.dag.spec import Combined, MapInput
from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import DAG, BashOperator, XComArg, task
from headway.sdk.authoring.outputs.items import input_of, item, length
from headway.sdk.exceptions import AirflowSkipException
from headway.sdk.harness.execution import Result
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.task_runtime import LocalRuntime, MappedXComs, XComs
from headway.sdk.xcoms.codec import decode_xcom, encode_xcom

Run = Callable[..., Result]


@task
def plan(result: Any = None) -> Any:
    return result


@task
def show(x: Any) -> Any:
    return x


def double(x: Any) -> Any:
    return x * 2


def shown(run: Run, mapped: MappedXComs, output: XComArg, instances: int) -> list[Any]:
    for map_index in range(instances):
        assert run(output, map_index).outcome is Outcome.SUCCESS
    left = mapped[output.operator.task_id, "return_value"]
    return [decode_xcom(left[map_index], "It") for map_index in range(instances)]


def test_a_function_makes_the_item_of_each_instance(
    dag: DAG, run: Run, mapped: MappedXComs
) -> None:
    numbers = plan([1, 2])
    run(numbers)

    output = show.expand(x=numbers.map(double).map(str))

    assert shown(run, mapped, output, 2) == ["2", "4"]
    assert to_spec(dag, "x.py").task("show").mapped_over == (
        MapInput(
            argument="x",
            combined=Combined.MAP,
            parts=(MapInput(argument="x", task_id="plan"),),
        ),
    )


def test_a_function_that_skips_skips_its_instance_alone(dag: DAG, run: Run) -> None:
    def odd(x: int) -> int:
        if x % 2 == 0:
            raise AirflowSkipException("even")
        return x

    numbers = plan([1, 2])
    run(numbers)
    output = show.expand(x=numbers.map(odd))

    assert run(output, 0).outcome is Outcome.SUCCESS
    assert (run(output, 1).outcome, run(output, 1).error) == (Outcome.SKIPPED, "even")


def test_a_function_that_fails_fails_its_instance_with_its_own_lines(dag: DAG, run: Run) -> None:
    numbers = plan([0])
    run(numbers)

    result = run(show.expand(x=numbers.map(lambda x: 1 // x)), 0)

    assert result.outcome is Outcome.FAILED
    assert result.error == "ZeroDivisionError: integer division or modulo by zero"
    assert "1 // x" in (result.traceback or "")


def test_what_a_function_makes_is_no_template(dag: DAG, run: Run, mapped: MappedXComs) -> None:
    numbers = plan([1])
    run(numbers)

    output = show.expand(x=numbers.map(lambda x: f"{{{{ {x} }}}}"))

    assert shown(run, mapped, output, 1) == ["{{ 1 }}"]


def test_rows_may_come_from_a_function(dag: DAG, run: Run, mapped: MappedXComs) -> None:
    numbers = plan([1, 2])
    assert run(show.expand_kwargs(numbers.map(lambda x: {"x": x}))).outcome is not None

    assert run(numbers).outcome is Outcome.SUCCESS
    assert shown(run, mapped, XComArg(dag.get_task("show")), 2) == [1, 2]


def test_a_task_may_take_all_items_at_once(dag: DAG, run: Run, xcoms: XComs) -> None:
    numbers, letters = plan([1, 2, 3]), plan({"a": 1})
    run(numbers)
    run(letters)
    outputs = [
        show(numbers.map(double)),
        show({"in": numbers.zip(letters)}),
        show(numbers.zip(letters, fillvalue=None)),
        show(numbers.concat(letters, numbers)),
        show(show.expand(x=[1, 2]).map(double)),
    ]
    for map_index in range(2):
        run(XComArg(dag.get_task("show__4")), map_index)

    for output in outputs:
        assert run(output).outcome is Outcome.SUCCESS

    assert [decode_xcom(xcoms[it.operator.task_id, "return_value"], "It") for it in outputs] == [
        [2, 4, 6],
        {"in": [(1, ("a", 1))]},
        [(1, ("a", 1)), (2, None), (3, None)],
        [1, 2, 3, ("a", 1), 1, 2, 3],
        [2, 4],
    ]


def test_a_task_that_returned_nothing_has_no_items_to_combine(dag: DAG, run: Run) -> None:
    nothing = plan()
    run(nothing)

    assert "plan.map(double) needs a list, a tuple, a set or a dictionary, not None" in str(
        run(show(nothing.map(double))).error
    )


def test_a_task_waits_for_all_outputs_that_its_argument_is_made_of(dag: DAG) -> None:
    one, two, three = plan(), plan(), plan()

    made = one.zip(two.map(double)).concat(three)
    show(made)
    show.expand(x=made)
    first = plan.override(task_id="first")()
    first >> made

    upstream = {"plan", "plan__1", "plan__2"}
    assert dag.get_task("show").upstream_task_ids == upstream
    assert dag.get_task("show__1").upstream_task_ids == upstream
    assert first.operator.downstream_task_ids == upstream


def test_what_is_combined_is_stored_as_data(dag: DAG) -> None:
    made = plan().map(double).zip(plan(), fillvalue=0).concat(plan())
    show(made)

    reference = {"__headway__": "xcom", "key": "return_value"}
    mapped = {"of": {**reference, "task_id": "plan"}, "functions": ["double"]}
    zipped = {"zip()": [{"map()": mapped}, {**reference, "task_id": "plan__1"}], "fillvalue": 0}
    found = to_spec(dag, "x.py").task("show").arguments
    assert found["op_args"] == [{"concat()": [zipped, {**reference, "task_id": "plan__2"}]}]
    assert repr(made) == "plan.map(double).zip(plan__1).concat(plan__2)"


def test_the_task_before_is_told_that_its_items_are_wanted(dag: DAG, run: Run) -> None:
    show.expand(x=plan(3).zip(plan([1])))

    assert "but task 'show' is expanded over it; let that be a list" in str(
        run(XComArg(dag.get_task("plan"))).error
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda it: it.map(show), r"map\(\) of plan is given .* a plain function, which @task"),
        (lambda it: it.map(3), r"map\(\) of plan is given .* a plain function, which @task"),
        (lambda it: it.zip([1]), r"What zip\(\) is given must be the output of a task"),
        (lambda it: it.concat([1]), r"What concat\(\) is given must be the output of a task"),
        (lambda it: it.map(double)["x"], r"plan.map\(double\) is a list when a task runs; take"),
        (lambda it: list(it.map(double)), r"has no items before a task runs; loop over it inside"),
        (lambda it: f"{it.map(double)}", r"cannot be part of a text; pass it as an argument by"),
        (lambda it: it.map(double).as_setup(), r"Here a task is needed, and plan.map\(double\)"),
        (lambda it: deep(it, 9), "combined at more than 8 levels; combine the lists in a task"),
    ],
)
def test_what_cannot_be_is_refused(
    dag: DAG, make: Callable[[XComArg], object], message: str
) -> None:
    with pytest.raises(DagError, match=message):
        make(plan())


def deep(output: XComArg, levels: int) -> XComArg:
    return deep(output, levels - 1).zip(output) if levels else output


LISTS = st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=3, max_size=3)
TREES = st.recursive(
    st.integers(0, 2),
    lambda inner: (
        st.tuples(st.just("map"), inner)
        | st.tuples(st.sampled_from(("zip", "fill", "concat")), inner, inner)
    ),
    max_leaves=5,
)


def of_lists(tree: Any, lists: list[list[Any]]) -> list[Any]:
    """What Python's own lists come to."""
    match tree:
        case int():
            return lists[tree]
        case ("map", part):
            return [repr(each) for each in of_lists(part, lists)]
        case _:
            how, one, other = tree
            parts = of_lists(one, lists), of_lists(other, lists)
            if how == "concat":
                return [*parts[0], *parts[1]]
            return list(zip(*parts, strict=False) if how == "zip" else zip_longest(*parts))


def of_outputs(tree: Any, outputs: list[XComArg]) -> XComArg:
    match tree:
        case int():
            return outputs[tree]
        case ("map", part):
            return of_outputs(part, outputs).map(repr)
        case _:
            how, one, other = tree
            parts = of_outputs(one, outputs), of_outputs(other, outputs)
            if how == "concat":
                return parts[0].concat(parts[1])
            fill = {"fillvalue": None} if how == "fill" else {}
            return parts[0].zip(parts[1], **fill)


@given(LISTS, TREES)
@settings(deadline=None)
def test_items_are_those_of_lists_combined_likewise(lists: list[list[int]], tree: Any) -> None:
    with DAG("combining"):
        outputs = [BashOperator(task_id=f"t{n}", bash_command="true").output for n in range(3)]
        made = of_outputs(tree, outputs)
    left = {(f"t{n}", "return_value"): encode_xcom(it, "It") for n, it in enumerate(lists)}
    runtime, wanted = LocalRuntime("x", left), of_lists(tree, lists)

    lengths = {(f"t{n}", "return_value"): len(it) for n, it in enumerate(lists)}
    assert length(made, runtime) == map_length([input_of("x", made)], lengths) == len(wanted)
    assert [item(made, index, runtime) for index in range(len(wanted))] == wanted
