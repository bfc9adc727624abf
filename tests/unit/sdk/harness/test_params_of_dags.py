"""Params: what is declared of them, and what tasks and templates are given."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any, cast

import pytest

from headway.domain.dag.params import check_conf, known_params
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import DagError, RequestError
from headway.domain.states import Outcome
from headway.sdk import DAG, BashOperator, EmptyOperator, Param, XComArg, dag, task
from headway.sdk.harness.execution import Result
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.task_runtime import MappedXComs, XComs
from headway.serialization import codec

START = datetime(2024, 1, 1, tzinfo=UTC)


def stored(made: DAG) -> DagSpec:
    """The DAG as other processes have it."""
    return codec.decode(codec.encode(to_spec(made, "etl.py")))


def test_a_param_has_a_default_a_schema_and_a_description() -> None:
    limit = Param(3, "How many", type="integer", maximum=10, title="Limit")
    spec = stored(DAG("etl", params={"zone": "UTC", "limit": limit, "table": Param(type="string")}))

    assert spec.params == {"zone": "UTC", "limit": 3}
    assert [(it.name, it.value, it.has_value) for it in known_params(spec)] == [
        ("zone", "UTC", True),
        ("limit", 3, True),
        ("table", None, False),
    ]
    assert spec.param_schemas[1].description == "How many"
    assert spec.param_schemas[1].schema == {"type": "integer", "maximum": 10, "title": "Limit"}


def test_plain_values_are_stored_as_ever() -> None:
    assert DAG("etl", params={"limit": 3, "city": Param("Oslo")}).spec.param_schemas == ()


def test_a_whole_schema_may_be_given() -> None:
    (found,) = DAG("etl", params={"n": Param(1, schema={"minimum": 0})}).spec.param_schemas

    assert found.schema == {"minimum": 0}


@pytest.mark.parametrize(
    ("param", "message"),
    [
        (lambda: Param(1, minimun=0), r"DAG 'etl': params\['n'\] does not know .* mean minimum"),
        (lambda: Param(1, schema={}, minimum=0), "schema is all of the schema; write minimum into"),
        (lambda: Param(date(2024, 1, 1)), r"params\['n'\] is of type date, which is not JSON"),
        (lambda: Param(1, cast(Any, 5)), r"params\['n'\]: description must be a string, not 5"),
        (lambda: Param(1, enum=[date(2024, 1, 1)]), r"params\['n'\].* is of type date"),
    ],
)
def test_a_param_that_cannot_be_is_refused(param: Callable[[], Param], message: str) -> None:
    with pytest.raises(DagError, match=message):
        DAG("etl", params={"n": param()})


def test_only_a_dag_without_a_schedule_may_lack_a_default_that_fits() -> None:
    params = {"n": Param(None, type="integer")}
    to_spec(DAG("etl", params=params), "etl.py")

    with pytest.raises(DagError, match="'n' is None and must be a whole number; give it such"):
        to_spec(DAG("etl", schedule="@daily", start_date=START, params=params), "etl.py")


def test_params_may_be_changed_and_keep_their_schema() -> None:
    made = DAG("etl", params={"n": Param(1, "Number", minimum=0), "gone": 1})
    made.params["n"] = 2
    made.params.update(word="a")
    del made.params["gone"]

    assert made.spec.params == {"n": 2, "word": "a"}
    assert made.spec.param_schemas[0].schema == {"minimum": 0}
    assert made.params.get_param("n").description == "Number"
    assert json.dumps(dict(made.params)) == '{"n": 2, "word": "a"}'
    made.params = {"only": 1}
    assert made.spec.params == {"only": 1}


def test_what_a_dags_function_takes_is_given_by_the_conf(
    run: Callable[..., Result], xcoms: XComs
) -> None:
    @dag(params={"count": Param(1, type="integer"), "other": 5})
    def pipeline(word: str = "default", count: int = 2) -> None:
        @task
        def say(what: str, inside: list[Any]) -> list[Any]:
            return [what, *inside]

        say(word, [count, f"{word}!"])

    made = pipeline(word="called")
    spec = stored(made)
    outcomes = [run(made.get_task("say"), conf=conf).outcome for conf in ({}, {"word": "given"})]

    assert outcomes == [Outcome.SUCCESS] * 2
    assert xcoms["say", "return_value"] == ["given", 2, "given!"]
    assert spec.params == {"count": 2, "other": 5, "word": "called"}
    assert spec.tasks[0].arguments["op_args"] == [
        {"__headway__": "param", "name": "word"},
        [{"__headway__": "param", "name": "count"}, "{{ params['word'] }}!"],
    ]
    with pytest.raises(RequestError, match="'count' is 'x' and must be a whole number"):
        check_conf(spec, {"count": "x"})


def test_a_default_reaches_a_task(run: Callable[..., Result], xcoms: XComs) -> None:
    with DAG("etl") as made:
        made.param("word", Param("a", type="string"))

        @task
        def say(what: str) -> str:
            return what

        say(made.param("word"))

    assert run(made.get_task("say")).outcome is Outcome.SUCCESS
    assert xcoms["say", "return_value"] == "a"
    with pytest.raises(DagError, match="DAG 'etl' has no param 'wrd'; give it one"):
        made.param("wrd")


def test_an_operator_is_given_a_param(run: Callable[..., Result], xcoms: XComs) -> None:
    with DAG("etl", params={"command": "echo a"}) as made:
        say = BashOperator(task_id="say", bash_command=made.param("command"))

    run(say, conf={"command": "echo b"})
    assert xcoms["say", "return_value"] == "b"
    assert stored(made).tasks[0].arguments["bash_command"] == {
        "__headway__": "param",
        "name": "command",
    }


def test_a_param_that_a_run_lacks_fails_the_task(run: Callable[..., Result]) -> None:
    with DAG("etl", params={"word": Param(type="string")}) as made:
        say = BashOperator(task_id="say", bash_command=made.param("word"))

    failed = run(say)
    assert failed.error is not None
    assert "bash_command: the run has no value for the param 'word'" in failed.error


def test_a_mapped_task_is_given_a_param(run: Callable[..., Result], mapped: MappedXComs) -> None:
    with DAG("etl", params={"word": "a"}) as made:

        @task
        def say(what: str, number: int) -> str:
            return what * number

        say.partial(what=made.param("word")).expand(number=[1, 2])

    run(made.get_task("say"), 1, conf={"word": "b"})
    assert mapped["say", "return_value"] == {1: "bb"}


@pytest.mark.parametrize(
    "use",
    [
        bool,
        list,
        lambda param: param == "a",
        lambda param: param["a"],
        len,
        lambda param: param > 1,
    ],
)
def test_a_param_has_no_value_while_a_file_is_read(use: Callable[[Any], object]) -> None:
    made = DAG("etl", params={"word": "a"})

    with pytest.raises(DagError, match="DAG 'etl': the param 'word' has no value here; pass"):
        use(made.param("word"))


def test_a_task_that_only_sees_a_param_is_told_to_take_it(run: Callable[..., Result]) -> None:
    """In the text that a task makes there is no template."""

    @dag
    def pipeline(word: str = "a") -> None:
        @task
        def say() -> str:
            return f"{word}!"

        say()

    failed = run(pipeline().get_task("say"))
    assert failed.outcome is Outcome.FAILED
    assert "the param 'word' has no value here; pass it to a task as an" in str(failed.error)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda it: EmptyOperator(task_id="a", retries=it), "retries must be a whole number"),
        (lambda it: BashOperator.partial(task_id="a").expand(bash_command=it), "DagParam: word"),
        (lambda it: BashOperator(task_id="a", bash_command="b", append_env=it), "append_env"),
    ],
)
def test_a_param_is_refused_where_it_would_be_known_too_late(
    make: Callable[[Any], object], message: str
) -> None:
    def read() -> None:
        with DAG("etl", params={"word": "a"}) as made:
            make(made.param("word"))
        to_spec(made, "etl.py")

    with pytest.raises(DagError, match=message):
        read()


def test_params_of_a_task_lie_between_the_dags_and_the_conf(
    run: Callable[..., Result], xcoms: XComs
) -> None:
    with DAG("etl", params={"a": 1, "b": 1, "c": 1}) as made:

        @task(params={"b": 2, "c": Param(2, type="integer"), "d": 2})
        def say(params: dict[str, int]) -> dict[str, int]:
            return params

        say()
        text = "echo {{ params.a }}{{ params['b'] }}"
        BashOperator(task_id="bash", bash_command=text, params={"b": 7})

    run(made.get_task("say"), conf={"c": 3})
    run(made.get_task("bash"))

    assert xcoms["say", "return_value"] == {"a": 1, "b": 2, "c": 3, "d": 2}
    assert xcoms["bash", "return_value"] == "17"
    bash, own = stored(made).task("bash"), stored(made).task("say")
    assert (bash.params, bash.param_schemas) == ({"b": 7}, ())
    assert (own.params["c"], own.param_schemas[1].schema) == (2, {"type": "integer"})
    made.get_task("bash").params = {"b": Param(8, minimum=9)}
    with pytest.raises(RequestError, match="task bash: param 'b' is 8 and must be at least 9"):
        check_conf(stored(made), {})


def test_instances_of_a_mapped_task_have_its_params(
    run: Callable[..., Result], mapped: MappedXComs, dag: DAG
) -> None:
    @task(params={"limit": 5})
    def say(number: int, params: dict[str, int]) -> int:
        return number * params["limit"]

    made: XComArg = say.expand(number=[1, 2])
    run(made, 1)
    assert mapped["say", "return_value"] == {1: 10}
