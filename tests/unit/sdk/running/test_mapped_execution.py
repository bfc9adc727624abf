"""Running one instance of a mapped task: its items, its context, what it leaves for others."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.dag.mapping import MAX_MAP_LENGTH
from headway.domain.states import Outcome
from headway.sdk import (
    DAG,
    BaseOperator,
    BashOperator,
    Context,
    PythonOperator,
    XComArg,
    get_current_context,
    task,
)
from headway.sdk.harness.execution import Result
from headway.sdk.running.task_runtime import LocalRuntime, MappedXComs, XComs
from headway.sdk.xcoms.codec import decode_xcom, encode_xcom

Run = Callable[..., Result]


@task
def plan(result: Any = None) -> Any:
    return result


@task
def show(x: Any, y: Any = None, z: Any = None) -> list[Any]:
    return [x, y, z]


def results(run: Run, mapped: MappedXComs, output: XComArg, instances: int) -> list[Any]:
    """Run the instances, all with success; return what they have left, as others receive it."""
    for map_index in range(instances):
        result = run(output, map_index)
        assert result.outcome is Outcome.SUCCESS, result
    left = mapped[output.operator.task_id, "return_value"]
    return [decode_xcom(left[map_index], "It") for map_index in range(instances)]


def test_the_last_argument_varies_fastest(dag: DAG, run: Run, mapped: MappedXComs) -> None:
    output = show.partial(z="z").expand(x=["a", "b"], y={"k": 1, "l": 2, "m": 3})

    assert results(run, mapped, output, 6) == [
        [x, (k, v), "z"] for x in "ab" for k, v in (("k", 1), ("l", 2), ("m", 3))
    ]


@pytest.mark.parametrize("literal", [True, False])
def test_an_entry_of_a_dictionary_is_a_pair(
    dag: DAG, run: Run, mapped: MappedXComs, literal: bool
) -> None:
    @task
    def kind(x: Any) -> list[Any]:
        return [type(x).__name__, *x]

    planned = plan({"a": 1, "b": 2})
    run(planned)
    output = kind.expand(x={"a": 1, "b": 2} if literal else planned)

    assert results(run, mapped, output, 2) == [["tuple", "a", 1], ["tuple", "b", 2]]


def test_outputs_and_literals_go_together(dag: DAG, run: Run, mapped: MappedXComs) -> None:
    first, second = plan([1, 2]), plan([7, 8, 9])
    run(first)
    run(second)
    output = show.expand(x=first, y=["a", "b"], z=second)

    assert results(run, mapped, output, 12) == [
        [x, y, z] for x in (1, 2) for y in "ab" for z in (7, 8, 9)
    ]


@pytest.mark.parametrize(
    ("value", "items"),
    [
        (((1,), [2]), [(1,), [2]]),
        (frozenset({2}), [2]),
        ({1: (2,), (3,): 4}, [(1, (2,)), ((3,), 4)]),
        ({"__headway__": b"x"}, [("__headway__", b"x")]),
    ],
)
def test_lists_and_dictionaries_of_other_types_have_their_items(
    dag: DAG, run: Run, xcoms: XComs, mapped: MappedXComs, value: object, items: list[Any]
) -> None:
    planned = plan(value)
    output = show.expand(x=planned, y=["a", "b"])
    xcoms["plan", "return_value"] = encode_xcom(value, "It")

    assert results(run, mapped, output, 2 * len(items)) == [
        [item, y, None] for item in items for y in "ab"
    ]


def test_rows_may_be_a_tuple(dag: DAG, run: Run, mapped: MappedXComs) -> None:
    planned = plan(({"x": 1}, {"x": 2, "y": 3}))
    output = show.expand_kwargs(planned)
    run(planned)

    assert results(run, mapped, output, 2) == [[1, None, None], [2, 3, None]]


def test_a_mapped_task_gives_one_item_for_each_instance(
    dag: DAG, run: Run, mapped: MappedXComs
) -> None:
    doubled = show.expand(x=[1, 2, 3])
    results(run, mapped, doubled, 3)
    del mapped["show", "return_value"][1]  # it has failed, say

    assert results(run, mapped, show.expand(x=doubled), 2) == [
        [[1, None, None], None, None],
        [[3, None, None], None, None],
    ]


def test_rows_give_each_instance_its_arguments(dag: DAG, run: Run, mapped: MappedXComs) -> None:
    planned = plan([{"x": 1}, {"x": 2, "y": 3}])
    row = plan({"x": 5, "z": 6})
    run(planned)
    run(row)
    literal = show.expand_kwargs([{"x": "{{ ds }}", "y": plan()}, row])

    assert results(run, mapped, show.partial(z=9).expand_kwargs(planned), 2) == [
        [1, None, 9],
        [2, 3, 9],
    ]
    assert results(run, mapped, literal, 2) == [["2013-01-01", None, None], [5, None, 6]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"x": 1, "z": 2}, r"instance 0: z is given to partial() already"),
        ({"x": 1, "q": 2}, r"instance 0: show() does not know the argument 'q'"),
        ({"y": 1}, r"instance 0 is called without its argument 'x'"),
        (3, r"Item 0 of expand_kwargs() must be a dictionary with string keys, not 3"),
    ],
)
def test_a_row_that_does_not_fit_fails_its_instance(
    dag: DAG, run: Run, xcoms: XComs, row: JsonValue, message: str
) -> None:
    planned = plan()
    xcoms["plan", "return_value"] = [row]

    result = run(show.partial(z=0).expand_kwargs(planned), 0)

    assert result.outcome is Outcome.FAILED
    assert message in str(result.error)


def test_an_option_in_a_row_fails_its_instance(dag: DAG, run: Run, xcoms: XComs) -> None:
    planned = plan()
    xcoms["plan", "return_value"] = [{"bash_command": "true", "retries": 3}]

    result = run(BashOperator.partial(task_id="sh").expand_kwargs(planned), 0)

    assert "retries is the same for all instances; give it to partial()" in str(result.error)


def test_an_operator_is_made_of_the_items(
    dag: DAG, run: Run, mapped: MappedXComs, capfd: pytest.CaptureFixture[str]
) -> None:
    output = BashOperator.partial(task_id="sh", env={"DAY": "{{ ds }}"}).expand(
        bash_command=["echo $DAY {{ map_index }}", "echo {{ ti.map_index }} of {{ task.task_id }}"]
    )

    assert results(run, mapped, output.output, 2) == ["2013-01-01 0", "1 of sh"]


def test_items_are_checked_by_the_operator(dag: DAG, run: Run, xcoms: XComs) -> None:
    planned = plan()
    xcoms["plan", "return_value"] = [3]

    result = run(BashOperator.partial(task_id="sh").expand(bash_command=planned), 0)

    assert result.outcome is Outcome.FAILED
    assert "bash_command must be a string, not 3." in str(result.error)


def test_what_comes_from_a_task_is_no_template(
    dag: DAG, run: Run, xcoms: XComs, mapped: MappedXComs
) -> None:
    by_item = show.expand(x=plan(), y=["{{ ds }}"])
    by_row = show.partial(y="{{ ds }}").expand_kwargs(plan())
    deep = show.partial(y="{{ ds }}").expand(x=plan())
    text = "{{ {} }}".replace("{}", "ds")  # what comes from the database is another object
    xcoms["plan", "return_value"] = [text]
    xcoms["plan__1", "return_value"] = [{"x": text}]
    xcoms["plan__2", "return_value"] = {"a": [{"b": text}]}

    assert results(run, mapped, by_item, 1) == [["{{ ds }}", "2013-01-01", None]]
    assert results(run, mapped, by_row, 1) == [["{{ ds }}", "2013-01-01", None]]
    assert results(run, mapped, deep, 1) == [[("a", [{"b": "{{ ds }}"}]), "2013-01-01", None]]


def test_any_argument_receives_the_item_itself(dag: DAG, run: Run, mapped: MappedXComs) -> None:
    class Download(BaseOperator):
        template_fields: ClassVar[tuple[str, ...]] = ("folder",)

        def __init__(self, *, url: str, folder: str = "", **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.url, self.folder = url.upper(), folder

        def execute(self, context: Context) -> list[str]:
            return [self.url, self.folder, str(context["task"].url), str(self.spec.retries)]

    planned = plan(["http://a"])
    run(planned)
    output = Download.partial(task_id="load", folder="/{{ ds }}", retries=3).expand(url=planned)

    assert results(run, mapped, output.output, 1) == [["HTTP://A", "/2013-01-01", "HTTP://A", "3"]]


def test_all_arguments_of_a_call_may_be_one_item(dag: DAG, run: Run, mapped: MappedXComs) -> None:
    planned = plan([[1, 2], [3, 4]])
    run(planned)
    output = PythonOperator.partial(task_id="max", python_callable=max).expand(op_args=planned)

    assert results(run, mapped, output.output, 2) == [2, 4]


def test_the_context_knows_the_instance(dag: DAG, run: Run, mapped: MappedXComs) -> None:
    @task
    def where(x: int, map_index: int, ti: Any, task: Any) -> list[Any]:
        context = get_current_context()
        return [map_index, ti.map_index, context["map_index"], ti.task is task, task.is_mapped]

    found = results(run, mapped, where.expand(x=[1, 2]), 2)

    assert found == [[index, index, index, True, False] for index in (0, 1)]


def test_a_task_that_is_not_mapped_has_index_minus_one(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task
    def where(map_index: int, ti: Any) -> list[int]:
        return [map_index, ti.map_index]

    run(where())

    assert xcoms["where", "return_value"] == [-1, -1]


def test_each_kind_of_task_may_be_mapped(
    dag: DAG, run: Run, mapped: MappedXComs, capfd: pytest.CaptureFixture[str]
) -> None:
    @task.bash
    def command(x: int) -> str:
        return f"echo {x} {{{{ ds }}}}"

    @task.pyspark
    def session(x: int, spark: Any) -> str:
        return f"{spark} {x}"

    @task.branch
    def decide(x: str) -> str:
        return x

    @task.short_circuit
    def go_on(x: bool) -> bool:
        return x

    decided, going = decide.expand(x=["a", "nowhere"]), go_on.expand(x=[True, False])
    for decision in (decided, going):
        decision >> [show.override(task_id=name)(1) for name in "ab"]

    assert results(run, mapped, command.expand(x=[3]), 1) == ["3 2013-01-01"]
    run(session.expand(x=[4]), 0, open_spark=lambda _conn_id: "spark")
    assert mapped["session", "return_value"] == {0: "spark 4"}
    assert run(decided, 0).skip_tasks == ("b",)
    assert "chose 'nowhere', which is no direct downstream" in str(run(decided, 1).error)
    assert [run(going, index).skip_tasks for index in (0, 1)] == [(), ("a__1", "b__1")]


@pytest.mark.parametrize(
    ("output", "map_index", "message"),
    [
        (lambda: show.expand(x=[1]), 1, "There is no item 1 among 1; the DAG file makes other"),
        (lambda: show.expand(x=[1], y=[2]), 1, "There is no instance 1 any more"),
        (lambda: show.expand(x=[1]), -1, "There is no item -1 among 1"),
    ],
)
def test_an_instance_without_an_item_fails(
    dag: DAG, run: Run, output: Callable[[], XComArg], map_index: int, message: str
) -> None:
    result = run(output(), map_index)

    assert result.outcome is Outcome.FAILED
    assert message in str(result.error)


def test_the_output_of_a_mapped_task_is_the_list_of_results(
    dag: DAG, run: Run, xcoms: XComs, mapped: MappedXComs, monkeypatch: pytest.MonkeyPatch
) -> None:
    @task(multiple_outputs=True)
    def split(x: int) -> dict[str, int] | None:
        return {"half": x // 2} if x else None

    @task
    def gather(found: list[Any], again: list[Any], deep: dict[str, Any], text: str) -> list[Any]:
        again.append("changed")
        return [found, deep, text]

    output = split.expand(x=[8, 0, 4])
    for map_index in (2, 1, 0):
        run(output, map_index)
    fetched: list[str] = []
    pull = LocalRuntime.pull_xcoms

    def counted(runtime: LocalRuntime, task_id: str, key: str) -> list[JsonValue]:
        fetched.append(key)
        return pull(runtime, task_id, key)

    monkeypatch.setattr(LocalRuntime, "pull_xcoms", counted)
    run(gather(output["half"], output["half"], {"all": [output]}, f"{output['half']}"))

    assert xcoms["gather", "return_value"] == [
        [4, 2],
        {"all": [[{"half": 4}, {"half": 2}]]},
        "[4, 2]",
    ]
    assert fetched == ["half", "return_value"]


def test_the_output_of_a_task_mapped_over_nothing_is_empty(
    dag: DAG, run: Run, xcoms: XComs
) -> None:
    run(show(show.override(task_id="none").expand(x=[])))

    assert xcoms["show", "return_value"] == [[], None, None]


def test_xcoms_are_pulled_by_map_index(
    dag: DAG, run: Run, xcoms: XComs, mapped: MappedXComs
) -> None:
    @task
    def pulls(ti: Any) -> list[Any]:
        return [
            ti.xcom_pull("show"),
            ti.xcom_pull(task_ids="show", map_indexes=1),
            ti.xcom_pull(task_ids="show", map_indexes=7, default="none"),
            ti.xcom_pull(task_ids="show", map_indexes=[1, 7, 0], default="none"),
            ti.xcom_pull(task_ids=["plan", "show", "nobody"]),
            ti.xcom_pull(task_ids=["show", "show"], map_indexes=0),
            ti.xcom_pull(task_ids=["show", "plan"], map_indexes=[0, -1]),
            ti.xcom_pull(task_ids="plan", map_indexes=-1),
            ti.xcom_pull(task_ids="plan", map_indexes=0),
            ti.xcom_pull(task_ids=(name for name in ["plan"])),
        ]

    show.expand(x=[1, 2])
    run(plan([3]))
    mapped["show", "return_value"] = {1: "b", 0: "a"}
    run(pulls())

    assert xcoms["pulls", "return_value"] == [
        ["a", "b"],
        "b",
        "none",
        ["b", "none", "a"],
        [[3], "a", "b", None],
        ["a", "a"],
        ["a", None, None, [3]],
        [3],
        None,
        [[3]],
    ]


def test_an_instance_pulls_its_own_without_naming_the_task(
    dag: DAG, run: Run, mapped: MappedXComs
) -> None:
    @task
    def work(x: int, ti: Any) -> list[Any]:
        ti.xcom_push("rows", x * 10)
        return [ti.xcom_pull(key="rows"), ti.xcom_pull(key="rows", map_indexes=0)]

    assert results(run, mapped, work.expand(x=[1, 2]), 2) == [[10, 10], [20, 10]]


ELSE = "let that be a list, a tuple, a set or a dictionary. An empty one skips the other task."


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, f"Task 'plan' returned None, but task 'show' is expanded over it; {ELSE}"),
        ("abc", f"Task 'plan' returned 'abc', but task 'show' is expanded over it; {ELSE}"),
        (3, "returned 3, but"),
        (b"ab", "returned b'ab', but"),
        (
            [0] * (MAX_MAP_LENGTH + 1),
            (
                "made 100,001 items under 'return_value', but task 'show' is expanded over them, "
                "and a task may have 100,000 instances. Let each do more."
            ),
        ),
    ],
)
def test_who_is_expanded_over_must_leave_items(
    dag: DAG, run: Run, xcoms: XComs, value: object, message: str
) -> None:
    planned = PythonOperator(task_id="plan", python_callable=lambda: value)
    show.expand(x=planned.output)

    result = run(planned)

    assert (result.outcome, result.may_retry) == (Outcome.FAILED, True)
    assert message in str(result.error)
    assert xcoms == {}


@pytest.mark.parametrize("value", [[], (), {}, [1], (1, 2), {"a": 1}])
def test_items_may_be_a_list_a_tuple_or_a_dictionary(dag: DAG, run: Run, value: object) -> None:
    planned = PythonOperator(task_id="plan", python_callable=lambda: value)
    show.expand(x=planned.output)

    assert run(planned).outcome is Outcome.SUCCESS


@pytest.mark.parametrize(
    ("value", "fits"),
    [([{"x": 1}], True), ([], True), ({"x": 1}, False), ([1], False), ([{"x": 1}, None], False)],
)
def test_rows_must_be_a_list_of_dictionaries(dag: DAG, run: Run, value: object, fits: bool) -> None:
    planned = PythonOperator(task_id="plan", python_callable=lambda: value)
    show.expand_kwargs(planned.output)

    result = run(planned)

    assert (result.outcome is Outcome.SUCCESS) is fits
    assert fits or "let that be a list of dictionaries." in str(result.error)


def test_what_is_pushed_under_another_key_must_fit_too(dag: DAG, run: Run) -> None:
    @task(multiple_outputs=True)
    def returns(value: Any) -> dict[str, Any]:
        return {"paths": value, "rows": 3}

    @task
    def pushes(value: Any, ti: Any = None) -> None:
        ti.xcom_push("paths", value)

    outputs = [made(value) for made in (returns, pushes) for value in ([1], 1)]
    for output in outputs:
        show.expand(x=output["paths"])
    found = [run(output) for output in outputs]

    assert [result.outcome is Outcome.SUCCESS for result in found] == [True, False] * 2
    assert {str(result.error) for result in found[1::2]} == {
        f"Task 'returns__1' left under 'paths' 1, but task 'show__1' is expanded over it; {ELSE}",
        f"Task 'pushes__1' left under 'paths' 1, but task 'show__3' is expanded over it; {ELSE}",
    }


def test_an_instance_may_leave_anything_for_another_mapped_task(
    dag: DAG, run: Run, mapped: MappedXComs
) -> None:
    @task
    def leave(value: Any, ti: Any) -> Any:
        ti.xcom_push("also", value)
        return value

    first = leave.expand(value=[None, 3, "a"])
    show.expand(x=first, y=first["also"])

    assert [run(first, index).outcome for index in range(3)] == [Outcome.SUCCESS] * 3
    assert mapped["leave", "return_value"] == {1: 3, 2: "a"}
    assert mapped["leave", "also"] == {0: None, 1: 3, 2: "a"}


def test_an_instance_has_the_options_and_defaults_of_its_task(
    run: Run, mapped: MappedXComs, capfd: pytest.CaptureFixture[str]
) -> None:
    defaults = {"env": {"A": "default"}, "op_kwargs": {"y": "default"}, "retries": 3}
    with DAG("flights", default_args=defaults):
        shell = BashOperator.partial(task_id="sh", queue="big").expand(
            bash_command=[
                "echo $A {{ task.spec.retries }} {{ task.spec.queue }} {{ task.spec.is_setup }}"
            ]
        )
        shell.as_setup()
        called = PythonOperator.partial(
            task_id="show", python_callable=show.function, trigger_rule="all_done"
        ).expand(op_args=[[1]])
        echoed = task.bash(lambda x: f"echo {x} $A").override(task_id="echo").expand(x=[1])

    assert results(run, mapped, shell.output, 1) == ["default 3 big True"]
    assert results(run, mapped, called.output, 1) == [[1, "default", None]]
    assert results(run, mapped, echoed, 1) == ["1 default"]


def test_an_error_names_the_dag_although_its_block_is_closed(run: Run, xcoms: XComs) -> None:
    with DAG("flights"):
        shell = BashOperator.partial(task_id="sh").expand(bash_command=plan())
    xcoms["plan", "return_value"] = [3]

    error = run(shell, 0).error

    assert error == "DAG 'flights', task 'sh': bash_command must be a string, not 3."
