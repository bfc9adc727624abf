"""What Headway refuses once it refuses each time: such a task is not tried again."""

from collections.abc import Callable
from typing import Any

import pytest

from headway.domain.errors import DagError, SecretRefusedError
from headway.domain.states import Outcome
from headway.sdk import DAG, BaseHook, BashOperator, PythonOperator, Variable, XComArg, task
from headway.sdk.exceptions import AirflowNotFoundException, RefusedException, TemplateError
from headway.sdk.harness.execution import Result
from headway.sdk.operators.pyspark import PysparkOperator

Run = Callable[..., Result]
SAID = " The task is not tried again, for this would be refused again."


class NoGrants:
    """Connections and variables of which the DAG is granted none."""

    def get_connection(self, conn_id: str) -> None:
        raise SecretRefusedError(f"DAG 'flights' may not read the connection {conn_id!r}.")

    def get_variable(self, key: str) -> str | None:
        return "no JSON" if key == "text" else None


def takes_two(rows: int, ds: str) -> None: ...


REFUSED: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "may not read the connection 'dwh'": (lambda: BaseHook.get_connection("dwh"), []),
    "There is no variable 'gone'": (lambda: Variable.get("gone"), []),
    "'text' does not hold JSON": (lambda: Variable.get("text", deserialize_json=True), []),
    "cannot set the variable 'a'": (lambda: Variable.set("a", "b"), []),
    "too many positional arguments": (takes_two, [1, 2, 3]),
    "missing a required argument: 'rows'": (takes_two, []),
    "the template does not render": (takes_two, ["{{ no_such_name }}"]),
    "may not read the connection 'lake'": (takes_two, ["{{ conn.lake.host }}"]),
}


@pytest.mark.regression
@pytest.mark.parametrize("said", REFUSED)
def test_what_is_refused_is_not_tried_again(said: str, dag: DAG, run: Run) -> None:
    work, args = REFUSED[said]
    operator = PythonOperator(task_id="work", python_callable=work, op_args=args, retries=3)

    result = run(operator, secrets=NoGrants())

    assert (result.outcome, result.may_retry) == (Outcome.FAILED, False)
    assert said in str(result.error)
    assert str(result.error).endswith(SAID)


def test_a_missing_output_is_not_waited_for(dag: DAG, run: Run) -> None:
    @task
    def land() -> None: ...

    @task(retries=2)
    def clean(path: str) -> None: ...

    result = run(clean(land()["path"]))

    assert not result.may_retry
    assert "needs the XCom 'path'" in str(result.error)


def test_other_failures_are_tried_again(dag: DAG, run: Run) -> None:
    """A TypeError from inside the function says nothing of how it was called."""

    def work() -> None:
        takes_two(1, 2, 3)  # type: ignore[arg-type, call-arg]

    result = run(PythonOperator(task_id="work", python_callable=work, retries=3))
    command = run(BashOperator(task_id="bash", bash_command="false", retries=3))

    assert (result.may_retry, command.may_retry) == (True, True)
    assert SAID not in str(result.error)


def test_a_task_without_retries_needs_no_word_of_them(dag: DAG, run: Run) -> None:
    work = PythonOperator(task_id="work", python_callable=lambda: Variable.set("a"))

    assert SAID not in str(run(work).error)


@pytest.mark.parametrize(
    "named", [AirflowNotFoundException, "headway.sdk.exceptions.RefusedException", "Exception"]
)
def test_who_names_it_in_retry_on_has_it_tried_again(named: Any, dag: DAG, run: Run) -> None:
    """A user may give the grant meanwhile."""
    work = PythonOperator(
        task_id="work", python_callable=lambda: Variable.get("gone"), retries=3, retry_on=named
    )

    assert run(work).may_retry


def test_a_wrong_item_is_refused_when_it_is_known(dag: DAG, run: Run, xcoms: Any) -> None:
    @task
    def rows() -> list[dict[str, int]]:
        return [{"no_such": 1}]

    @task(retries=2)
    def work(value: int) -> None: ...

    made = work.expand_kwargs(rows())
    xcoms["rows", "return_value"] = [{"no_such": 1}]

    result = run(made, 0)

    assert not result.may_retry
    assert "does not know the argument 'no_such'" in str(result.error)


@pytest.mark.regression
def test_no_argument_binds_to_spark(dag: DAG) -> None:
    @task.pyspark
    def silver(spark: Any, rows: Any = None) -> None: ...

    @task
    def landed() -> int:
        return 3

    def by_decorator() -> XComArg:
        return silver(landed())

    def by_operator() -> XComArg:
        return PysparkOperator(
            task_id="a", python_callable=silver.function, op_args=[landed()]
        ).output

    said = r"an argument binds to the parameter 'spark', which Headway fills; give arguments by"
    for made in (by_decorator, by_operator):
        with pytest.raises(DagError, match=said):
            made()
    with pytest.raises(DagError, match=r"task 'silver'.* binds to the parameter 'spark'"):
        silver(spark=landed())  # type: ignore[call-overload]
    with pytest.raises(DagError, match="'spark' is for Headway to fill; leave it out"):
        silver.expand(spark=[1])
    silver(rows=landed())


def test_the_refusals_are_what_they_say() -> None:
    assert issubclass(TemplateError, DagError)
    assert issubclass(AirflowNotFoundException, RefusedException)
