"""@task and its kinds: names, references, edges, options, injected parameters."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import DAG, Context, XComArg, get_current_context, task
from headway.sdk.harness.execution import Result
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.context import ASKED_NAMES

Run = Callable[..., Result]
XComs = dict[tuple[str, str], JsonValue]


def test_an_output_becomes_a_reference_and_an_edge(dag: DAG) -> None:
    @task
    def land() -> str:
        return "/tmp/a"

    @task
    def clean(path: str, also: object = None) -> None: ...

    clean(land(), also=[{"deep": land()}])

    spec = to_spec(dag, "x.py").task("clean")
    reference = {"__headway__": "xcom", "key": "return_value"}
    assert spec.upstream == ("land", "land__1")
    assert spec.arguments == {
        "python_callable": ("test_an_output_becomes_a_reference_and_an_edge.<locals>.clean"),
        "op_args": [{**reference, "task_id": "land"}],
        "op_kwargs": {"also": [{"deep": {**reference, "task_id": "land__1"}}]},
    }


def test_a_task_called_again_is_numbered(dag: DAG) -> None:
    @task
    def land() -> None: ...

    names = [land().operator.task_id for _ in range(3)]
    named = [land.override(task_id="fetch")().operator.task_id for _ in range(2)]

    assert names == ["land", "land__1", "land__2"]
    assert named == ["fetch", "fetch__1"]


def test_a_method_has_the_docstring_that_it_inherits(dag: DAG) -> None:
    class Base:
        def land(self) -> None:
            """Land it."""

    class Other(Base):
        def land(self) -> None: ...

    assert task(Other().land)().operator.spec.doc_md == "Land it."


def test_options_come_from_the_decorator_and_are_overridden(dag: DAG) -> None:
    @task(task_id="fetch", retries=3, queue="big")
    def land() -> None:
        """Land it."""

    first, second = land(), land.override(retries=1, doc_md="other")()

    assert (first.operator.task_id, first.operator.spec.retries) == ("fetch", 3)
    assert first.operator.spec.doc_md == "Land it."
    spec = second.operator.spec
    assert (spec.retries, spec.queue, spec.doc_md) == (1, "big", "other")


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
def test_every_decorator_works_bare_and_with_options(
    dag: DAG, decorator: Any, operator: str, needs_spark: bool
) -> None:
    def work() -> None: ...

    decorator(work)()
    decorator(retries=2)(work)()

    first, second = to_spec(dag, "x.py").tasks
    assert first.operator == second.operator == operator
    assert first.needs_spark is second.needs_spark is needs_spark
    assert (first.retries, second.retries) == (0, 2)


def test_calls_that_do_not_fit_the_function_are_refused(dag: DAG) -> None:
    @task
    def clean(path: str, ds: str, *, limit: int = 3) -> None: ...

    with pytest.raises(DagError, match=r"DAG 'flights', task 'clean' .* its argument 'path'"):
        clean()
    with pytest.raises(DagError, match="task 'clean': got an unexpected keyword argument 'limt'"):
        clean("a", limt=3)  # type: ignore[call-overload]
    with pytest.raises(DagError, match="too many positional arguments"):
        clean("a", "b", "c")  # type: ignore[call-overload]


def test_a_call_outside_of_a_dag_is_refused() -> None:
    @task
    def land() -> None: ...

    with pytest.raises(DagError, match="'land' is called outside of a DAG; use `with DAG"):
        land()


def test_only_functions_are_decorated() -> None:
    with pytest.raises(DagError, match="@task decorates functions, not 'land'"):
        task("land")  # type: ignore[call-overload]


def test_an_argument_that_is_no_data_is_refused(dag: DAG) -> None:
    @task
    def clean(rows: object) -> None: ...

    clean({"rows": [object()]})

    with pytest.raises(DagError, match=r"task 'clean': op_args\[0\]\['rows'\]\[0\] is of type obj"):
        to_spec(dag, "x.py")


def test_the_plain_function_stays_callable(dag: DAG) -> None:
    @task
    def double(n: int) -> int:
        return 2 * n

    assert double.function(4) == 8
    assert dag.tasks == []


def test_context_entries_are_injected_by_name(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task
    def land(path: str, ds: str, *, params: Any = None, ti: Any = None) -> list[Any]:
        return [path, ds, params["limit"], ti.try_number]

    run(land("/{{ ds_nodash }}"))  # type: ignore[call-overload]  # ds has no default

    assert xcoms["land", "return_value"] == ["/20130101", "2013-01-01", 3, 2]


def test_given_arguments_win_over_the_context(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task
    def land(ds: str, **context: Any) -> list[Any]:
        return [ds, context["run_id"], "ds" in context]

    run(land("mine"))

    assert xcoms["land", "return_value"] == ["mine", "scheduled__2013-01-01", False]


def test_the_whole_context_is_every_name_but_spark(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task
    def land(**context: Any) -> list[str]:
        return sorted(context)

    run(land())

    assert xcoms["land", "return_value"] == sorted(ASKED_NAMES - {"spark"})


def test_the_current_context_is_that_of_the_running_task(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task
    def land() -> str:
        context: Context = get_current_context()
        return str(context["ts"])

    run(land())

    assert xcoms["land", "return_value"] == "2013-01-01T05:00:00+00:00"


def test_there_is_no_context_outside_of_a_task() -> None:
    with pytest.raises(Exception, match="no context here; call it inside a task"):
        get_current_context()


def test_outputs_are_resolved_before_the_call(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task(multiple_outputs=True)
    def land() -> dict[str, Any]:
        return {"path": "/a", "rows": 842}

    @task
    def nothing() -> None: ...

    @task
    def clean(path: str, everything: Any, none: Any, day: datetime) -> list[Any]:
        return [path, everything["rows"], none, day.isoformat()]

    landed = land()
    cleaned = clean(landed["path"], landed, nothing(), day=datetime(2013, 1, 1, tzinfo=UTC))
    for output in (landed, nothing(), cleaned):
        assert run(output).outcome is Outcome.SUCCESS

    assert xcoms["clean", "return_value"] == ["/a", 842, None, "2013-01-01T00:00:00+00:00"]
    assert xcoms["land", "rows"] == 842


def test_a_dictionary_in_the_annotation_means_multiple_outputs(dag: DAG) -> None:
    @task
    def yes() -> dict[str, int]:
        return {}

    @task
    def text() -> "dict[str, int]":
        return {}

    @task(multiple_outputs=False)
    def no() -> dict[str, int]:
        return {}

    @task
    def other() -> list[int]:
        return []

    flags = [made().operator.multiple_outputs for made in (yes, text, no, other)]
    assert flags == [True, True, False, False]


def test_a_missing_output_is_named(dag: DAG, run: Run) -> None:
    @task
    def land() -> None: ...

    @task
    def clean(path: str) -> None: ...

    result = run(clean(land()["path"]))

    assert result.outcome is Outcome.FAILED
    assert "'clean' needs the XCom 'path' of task 'land', which left none" in str(result.error)


def test_an_output_cannot_be_looped_over_or_indexed_by_number(dag: DAG) -> None:
    @task
    def land() -> list[int]:
        return [1]

    with pytest.raises(DagError, match="output of task 'land' has no value before"):
        list(land())
    with pytest.raises(DagError, match="XCom key must be a string, not 0"):
        land()[0]  # type: ignore[index]


def test_an_output_inside_text_is_a_template(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task
    def land() -> str:
        return "/a"

    @task
    def clean(path: str) -> str:
        return path

    landed = land()
    assert isinstance(landed, XComArg)
    run(landed)
    run(clean(f"{landed}/b"))

    assert xcoms["clean", "return_value"] == "/a/b"


def test_a_pyspark_function_receives_its_session(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task.pyspark
    def by_name(spark: Any) -> str:
        return f"name {spark}"

    @task.pyspark
    def by_context() -> str:
        return f"context {get_current_context()['spark']}"

    @task.pyspark
    def by_keywords(**context: Any) -> str:
        return f"keywords {context['spark']}"

    for made in (by_name, by_context, by_keywords):
        run(made(), open_spark=lambda _conn_id: "session")

    returned = {task_id: value for (task_id, _), value in xcoms.items()}
    assert returned == {
        "by_name": "name session",
        "by_context": "context session",
        "by_keywords": "keywords session",
    }


def test_a_spark_task_names_its_connection_or_takes_the_dags(run: Run, xcoms: XComs) -> None:
    @task.pyspark
    def asks(spark: Any) -> str:
        return str(spark)

    with DAG("lake", default_args={"conn_id": "lake"}) as dag:
        asks()
        asks.override(task_id="named", conn_id="cluster")()
    with DAG("plain"):
        run(asks.override(task_id="plain")(), open_spark=lambda conn_id: conn_id)
    for made in dag.tasks:
        run(made, open_spark=lambda conn_id: conn_id)

    left = {task_id: value for (task_id, _), value in xcoms.items()}
    assert left == {"asks": "lake", "named": "cluster", "plain": "spark_default"}
    assert to_spec(dag, "x.py").task("named").arguments["conn_id"] == "cluster"


def test_a_connections_name_is_checked_where_the_task_is_made(dag: DAG) -> None:
    with pytest.raises(DagError, match="task 'asks': conn_id: A connection id must be a string"):
        task.pyspark(conn_id=3)(  # type: ignore[call-overload]
            lambda: None
        ).override(task_id="asks")()


def test_a_driver_of_its_own_is_opened_for_a_task_of_that_mode(
    dag: DAG, run: Run, xcoms: XComs
) -> None:
    @task.pyspark(mode="driver", conn_id="cluster")
    def asks(spark: Any) -> str:
        return str(spark)

    run(asks(), open_driver=lambda conn_id: f"driver on {conn_id}")

    assert xcoms["asks", "return_value"] == "driver on cluster"
    with pytest.raises(DagError, match="mode must be 'driver', or left out, not 'client'"):
        asks.override(mode="client")()  # type: ignore[arg-type]


def test_spark_is_opened_only_when_asked_for(dag: DAG, run: Run) -> None:
    @task
    def plain(**context: Any) -> None: ...

    @task
    def asks(spark: Any) -> None: ...

    assert run(plain()).outcome is Outcome.SUCCESS
    result = run(asks())
    assert (result.outcome, result.error) == (
        Outcome.FAILED,
        "There is no Spark here to be 'spark_default'; install headway[spark] and a Java runtime.",
    )


def test_bash_runs_the_command_that_the_function_returns(
    dag: DAG, run: Run, xcoms: XComs, capfd: pytest.CaptureFixture[str]
) -> None:
    @task.bash(env={"CARRIER": "{{ params.carrier }}"}, append_env=True)
    def show(what: str, ds: str = "") -> str:
        return f"echo {what} {ds} {{{{ run_id }}}} $CARRIER"

    result = run(show("flights"))

    assert result.outcome is Outcome.SUCCESS
    assert xcoms["show", "return_value"] == "flights 2013-01-01 scheduled__2013-01-01 UA"


def test_bash_needs_a_command(dag: DAG, run: Run) -> None:
    @task.bash
    def show() -> Any:
        return 3

    assert "what the function returns must be a command, not 3" in str(run(show()).error)
