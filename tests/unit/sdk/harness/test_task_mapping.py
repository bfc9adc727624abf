"""expand, partial and expand_kwargs while a DAG file is read: what is made, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.domain.dag.spec import MapInput, TaskSpec
from headway.domain.errors import DagError
from headway.sdk import (
    DAG,
    BaseOperator,
    BashOperator,
    Context,
    EmptyOperator,
    PythonOperator,
    SparkSubmitOperator,
    setup,
    task,
    teardown,
)
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec

REFERENCE = {"__headway__": "xcom", "key": "return_value"}


@task
def plan() -> list[int]:
    return [1]


@task
def add(x: int, y: int = 0) -> int:
    return x + y


def spec_of(dag: DAG, task_id: str = "add") -> TaskSpec:
    return to_spec(dag, "x.py").task(task_id)


def test_a_task_is_expanded_over_literals_and_outputs(dag: DAG) -> None:
    add.expand(x=plan(), y=(1, 2, 3))

    spec = spec_of(dag)
    assert spec.mapped_over == (
        MapInput(argument="x", task_id="plan"),
        MapInput(argument="y", length=3),
    )
    assert (spec.operator, spec.upstream) == ("python", ("plan",))
    assert spec.arguments == {
        "python_callable": "add",
        "op_args": [],
        "op_kwargs": {},
        "expand()": {"x": {**REFERENCE, "task_id": "plan"}, "y": [1, 2, 3]},
    }


def test_an_operator_is_expanded_with_options_of_all_its_instances(dag: DAG) -> None:
    mapped = BashOperator.partial(task_id="show", retries=2, pool="big", env={"A": "1"}).expand(
        bash_command=["echo 1", "echo 2"]
    )

    spec = spec_of(dag, "show")
    assert (mapped.output.operator, repr(mapped)) == (mapped, "<Task(MappedOperator): show>")
    assert spec.mapped_over == (MapInput(argument="bash_command", length=2),)
    assert (spec.operator, spec.retries, spec.pool) == ("bash", 2, "big")
    assert spec.arguments == {
        "env": {"A": "1"},
        "expand()": {"bash_command": ["echo 1", "echo 2"]},
    }


def test_a_dictionary_is_expanded_by_its_entries_in_their_order(dag: DAG) -> None:
    add.expand(x={"b": 1, "a": 2, 3: None})

    spec = spec_of(dag)
    assert spec.mapped_over == (MapInput(argument="x", length=3),)
    assert spec.arguments["expand()"] == {"x": [["b", 1], ["a", 2], [3, None]]}


def test_a_key_of_multiple_outputs_is_expanded_over(dag: DAG) -> None:
    add.expand(x=plan()["paths"])

    assert spec_of(dag).mapped_over == (MapInput(argument="x", task_id="plan", key="paths"),)


def test_rows_of_arguments_are_one_input(dag: DAG) -> None:
    add.expand_kwargs([{"x": 1, "y": 2}, {"x": plan()}])
    BashOperator.partial(task_id="show").expand_kwargs(plan())

    literal, output = spec_of(dag), spec_of(dag, "show")
    assert literal.mapped_over == (MapInput(argument="expand_kwargs()", length=2),)
    assert literal.upstream == ("plan",)
    assert literal.arguments["expand_kwargs()"] == [
        {"x": 1, "y": 2},
        {"x": {**REFERENCE, "task_id": "plan"}},
    ]
    assert output.mapped_over == (MapInput(argument="expand_kwargs()", task_id="plan__1"),)
    assert output.upstream == ("plan__1",)


def test_outputs_inside_literals_and_in_shared_arguments_are_edges(dag: DAG) -> None:
    add.partial(y=plan()).expand(x=[plan(), 3])
    BashOperator.partial(task_id="show", env={"A": plan()}).expand(bash_command=["a"])

    assert spec_of(dag).upstream == ("plan", "plan__1")
    assert spec_of(dag, "show").upstream == ("plan__2",)


def test_what_becomes_of_a_literal_later_does_not_matter(dag: DAG) -> None:
    values, entries, rows = [1], {"a": 1}, [{"x": 1}]
    add.expand(x=values, y=entries)
    add.expand_kwargs(rows)
    values.append(2)
    entries["b"] = 2
    rows.append({"x": 2})

    assert spec_of(dag).arguments["expand()"] == {"x": [1], "y": [["a", 1]]}
    assert spec_of(dag, "add__1").arguments["expand_kwargs()"] == [{"x": 1}]


def test_nothing_to_expand_over_is_allowed(dag: DAG) -> None:
    add.expand(x=[])

    assert spec_of(dag).mapped_over == (MapInput(argument="x", length=0),)


def test_a_mapped_task_called_again_is_numbered(dag: DAG) -> None:
    outputs = [add.expand(x=[1]), add.expand_kwargs([{"x": 1}]), add(1)]

    assert [output.operator.task_id for output in outputs] == ["add", "add__1", "add__2"]


@pytest.mark.parametrize(
    ("decorator", "operator", "needs_spark"),
    [
        (task, "python", False),
        (task.python, "python", False),
        (task.bash, "bash", False),
        (task.pyspark, "pyspark", True),
        (task.branch, "branch", False),
        (task.short_circuit, "short_circuit", False),
    ],
)
def test_every_decorator_expands(
    dag: DAG, decorator: Any, operator: str, needs_spark: bool
) -> None:
    def work(x: int) -> None:
        """Work."""

    decorator(retries=2)(work).expand(x=[1])

    spec = spec_of(dag, "work")
    assert (spec.operator, spec.needs_spark, spec.retries) == (operator, needs_spark, 2)
    assert (spec.doc_md, len(spec.mapped_over)) == ("Work.", 1)


def test_options_are_overridden_and_arguments_fixed_step_by_step(dag: DAG) -> None:
    @task(queue="big")
    def work(a: int, b: int, c: int) -> None: ...

    half = work.partial(a=1)
    half.override(task_id="other", queue="small").partial(b=2).expand(c=[1, 2])
    half(b=2, c=3)

    assert spec_of(dag, "other").queue == "small"
    assert spec_of(dag, "other").arguments["op_kwargs"] == {"a": 1, "b": 2}
    assert spec_of(dag, "work").arguments["op_kwargs"] == {"a": 1, "b": 2, "c": 3}
    assert spec_of(dag, "work").mapped_over == ()


def test_dependencies_setups_and_teardowns_are_as_for_any_task(dag: DAG) -> None:
    @setup
    def open_all(x: int) -> None: ...

    @teardown
    def close_all(x: int) -> None: ...

    first, last = EmptyOperator(task_id="first"), EmptyOperator(task_id="last")
    opened = open_all.expand(x=[1, 2])
    first >> opened >> close_all.expand(x=[1, 2]) >> last
    BashOperator.partial(task_id="rm").expand(bash_command=["a"]).as_teardown(setups=opened)

    spec = to_spec(dag, "x.py")
    assert spec.task("open_all").is_setup
    assert spec.task("open_all").upstream == ("first",)
    assert spec.task("close_all").is_teardown
    assert spec.task("close_all").trigger_rule == "all_done_setup_success"
    assert (spec.task("last").upstream, spec.task("rm").upstream) == (("close_all",), ("open_all",))


def test_default_args_give_way_to_what_is_expanded() -> None:
    with DAG("flights", default_args={"retries": 3, "cwd": "/a", "env": {"A": "1"}}) as dag:
        BashOperator.partial(task_id="show", cwd="/b").expand(env=[{"A": "2"}], bash_command=["a"])

    spec = spec_of(dag, "show")
    assert spec.retries == 3
    assert spec.arguments["cwd"] == "/b"
    assert spec.arguments["expand()"] == {"env": [{"A": "2"}], "bash_command": ["a"]}


def test_an_argument_that_is_no_template_field_is_expanded_too(dag: DAG) -> None:
    class Download(BaseOperator):
        def __init__(self, *, url: str, size: int = 0, **kwargs: Any) -> None:
            super().__init__(**kwargs)

        def execute(self, context: Context) -> None: ...

    Download.partial(task_id="load").expand(url=plan())

    assert spec_of(dag, "load").upstream == ("plan",)
    Download.partial(task_id="none", url=plan()).expand(size=[1])
    with pytest.raises(DagError, match="url is the output of another task, but no template field"):
        to_spec(dag, "x.py")


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "nothing": (add.expand, r"expand\(\) needs an argument to expand over"),
    "text": (
        lambda: add.expand(x="abc"),
        r"x in expand\(\) must be a list, a tuple, a dictionary or the output of .*, not 'abc'",
    ),
    "a number": (lambda: add.expand(x=3), r"x in expand\(\) must be a list, .* not 3"),
    "a set": (lambda: add.expand(x={1, 2}), r"x in expand\(\) must be a list, .* not \{1, 2\}"),
    "unknown": (
        lambda: add.expand(xx=[1]),
        r"expand\(\): add\(\) does not know the argument 'xx'; did you mean x",
    ),
    "too little": (lambda: add.expand(y=[1]), r"expand\(\) is called without its argument 'x'"),
    "fixed": (
        lambda: add.partial(x=1).expand(x=[1]),
        r"expand\(\): x is given to partial\(\) already; leave it out of one of the two",
    ),
    "fixed and called": (lambda: add.partial(x=1)(x=2), r"x is given to partial\(\) already"),
    "fixed twice": (lambda: add.partial(x=1).partial(x=2), r"x is given to partial\(\) already"),
    "fixed, unknown": (
        lambda: add.partial(z=1),
        r"partial\(\): add\(\) does not know the argument 'z'",
    ),
    "an option of a decorator": (
        lambda: add.partial(retries=2),
        r"partial\(\): retries is an option, .* give it to the decorator, @task\(retries=…\)",
    ),
    "an expanded option": (
        lambda: add.expand(x=[1], pool=["a"]),
        r"expand\(\): pool is an option, .* @task\(pool=…\), or to override\(\)",
    ),
    "rows as a dictionary": (
        lambda: add.expand_kwargs({"x": 1}),
        r"what expand_kwargs\(\) is given must be a list of dictionaries or the output",
    ),
    "a row that is none": (
        lambda: add.expand_kwargs([{"x": 1}, 2]),
        r"item 1 of expand_kwargs\(\) must be a dictionary with string keys, not 2",
    ),
    "a row with a number": (
        lambda: add.expand_kwargs([{1: 1}]),
        r"item 0 of expand_kwargs\(\) must be a dictionary with string keys",
    ),
    "an unknown argument in a row": (
        lambda: add.expand_kwargs([{"x": 1}, {"x": 1, "z": 1}]),
        r"expand_kwargs\(\): add\(\) does not know the argument 'z'",
    ),
    "a row that lacks one": (
        lambda: add.expand_kwargs([{"x": 1}, {"y": 1}]),
        r"expand_kwargs\(\) is called without its argument 'x'",
    ),
    "a row with a fixed one": (
        lambda: add.partial(y=1).expand_kwargs([{"x": 1, "y": 2}]),
        r"expand_kwargs\(\): y is given to partial\(\) already",
    ),
    "too many": (
        lambda: add.expand(x=[0] * 100_001),
        r"expanded over x \(100,001 items\), which makes 100,001 instances; max_map_length allows",
    ),
    "too many together": (
        lambda: add.expand(x=[0] * 1000, y=range(101)),
        r"which makes 1,000 x 101 = 101,000 instances",
    ),
    "too many beside an output": (
        lambda: add.expand(x=plan(), y=range(100_001)),
        "makes 100,001 instances",
    ),
    "too many rows": (lambda: add.expand_kwargs([{"x": 1}] * 100_001), "makes 100,001 instances"),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_fit_a_function_is_refused(
    dag: DAG, call: tuple[Callable[[], object], str]
) -> None:
    with pytest.raises(DagError, match=f"^DAG 'flights', task 'add':? ?.*{call[1]}"):
        call[0]()


@pytest.mark.parametrize(
    ("fixed", "expanded", "message"),
    [
        ({}, {"bash_command": 3}, r"bash_command in expand\(\) must be a list, .*, not 3"),
        ({}, {"retries": [1]}, r"expand\(\): retries is the same for all .* to partial\(\)\."),
        ({}, {"task_id": ["a"]}, r"expand\(\): task_id is the same for all instances"),
        ({}, {"dag": [1]}, r"expand\(\): dag is the same for all instances"),
        (
            {},
            {"command": ["a"]},
            r"expand\(\): .* not know .* 'command'; did you mean bash_",
        ),
        (
            {},
            {"env": [{}]},
            r"expand\(\): BashOperator: missing .* 'bash_command'",
        ),
        ({"env": {}}, {"env": [{}]}, r"expand\(\): env is given to partial\(\) already"),
        ({}, {}, r"expand\(\) needs an argument"),
    ],
)
def test_what_does_not_fit_an_operator_is_refused(
    dag: DAG, fixed: dict[str, Any], expanded: dict[str, Any], message: str
) -> None:
    with pytest.raises(DagError, match=f"^DAG 'flights', task 'show': {message}"):
        BashOperator.partial(task_id="show", **fixed).expand(**expanded)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"a task without task_id: BashOperator.partial\(\) needs a task_id"),
        ({"task_id": "a", "retrys": 1}, r"partial\(\) does not know .* 'retrys'; did you mean"),
    ],
)
def test_a_partial_is_checked_by_itself(dag: DAG, given: dict[str, Any], message: str) -> None:
    with pytest.raises(DagError, match=message):
        BashOperator.partial(**given)


def test_options_of_a_mapped_task_are_checked(dag: DAG) -> None:
    with pytest.raises(DagError, match="task 'show': retries must be a whole number"):
        BashOperator.partial(task_id="show", retries=-1).expand(bash_command=["a"])
    with pytest.raises(DagError, match="task 'a b': The task id 'a b' may hold"):
        BashOperator.partial(task_id="a b").expand(bash_command=["a"])
    BashOperator.partial(task_id="twice").expand(bash_command=["a"])
    with pytest.raises(DagError, match="has two tasks with the id 'twice'"):
        BashOperator.partial(task_id="twice").expand(bash_command=["a"])


def test_a_partial_that_nobody_expands_is_refused(dag: DAG) -> None:
    BashOperator.partial(task_id="show", bash_command="true")

    with pytest.raises(DagError, match=r"task 'show': partial\(\) alone makes no task; call exp"):
        to_spec(dag, "x.py")


def test_a_rule_that_waits_for_nothing_cannot_go_with_an_output(dag: DAG) -> None:
    add.override(trigger_rule="always").expand(x=[1])
    spec_of(dag)
    add.override(trigger_rule="always").expand(x=plan())

    with pytest.raises(DagError, match=r"'add__1': .* output of 'plan', for which trigger_rule"):
        to_spec(dag, "x.py")


def test_a_task_that_keeps_its_result_for_itself_is_not_expanded_over(dag: DAG) -> None:
    add.expand(x=plan.override(do_xcom_push=False)())

    with pytest.raises(DagError, match=r"'add': .* what 'plan' returns, which has do_xcom_push"):
        to_spec(dag, "x.py")


def test_items_must_be_data(dag: DAG) -> None:
    add.expand(x=[1, object()])

    with pytest.raises(DagError, match=r"task 'add': expand\(\)\['x'\]\[1\] is of type object"):
        to_spec(dag, "x.py")


def test_a_task_outside_of_a_dag_is_not_expanded() -> None:
    with pytest.raises(DagError, match="'add' is called outside of a DAG"):
        add.expand(x=[1])


def test_a_task_cannot_be_expanded_over_itself(dag: DAG) -> None:
    partial = PythonOperator.partial(task_id="loop", python_callable=print)
    first = partial.expand(op_args=[[1]])
    first >> add.expand(x=first.output) >> first

    with pytest.raises(DagError, match="has a cycle"):
        to_spec(dag, "x.py")


def test_files_of_all_instances_are_recorded(tmp_path: Path) -> None:
    for name in ("app.py", "one.py", "two.py", "row.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "dag_file.py").write_text(
        "from headway.sdk import DAG, SparkSubmitOperator\n"
        "with DAG('flights'):\n"
        "    SparkSubmitOperator.partial(task_id='a', application='app.py').expand(\n"
        "        application_args=[['{{ ds }}'], ['x']], py_files=['one.py', ['two.py'], 3])\n"
        "    SparkSubmitOperator.partial(task_id='b').expand_kwargs([{'application': 'row.py'}])\n"
    )

    (dag,) = load_dag_file(tmp_path / "dag_file.py", tmp_path)

    assert to_spec(dag, "dag_file.py").files == ("app.py", "one.py", "row.py", "two.py")


def test_a_file_is_recorded_although_other_arguments_are_templates(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("")
    (tmp_path / "dag_file.py").write_text(
        "from headway.sdk import DAG, SparkSubmitOperator\n"
        "with DAG('flights'):\n"
        "    SparkSubmitOperator(task_id='a', application='app.py', name='{{ ds }}')\n"
    )

    (dag,) = load_dag_file(tmp_path / "dag_file.py", tmp_path)

    assert to_spec(dag, "dag_file.py").files == ("app.py",)
    assert isinstance(dag.get_task("a"), SparkSubmitOperator)
