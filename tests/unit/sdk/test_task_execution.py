"""How an attempt ends: outcomes, messages, tracebacks, skips, XComs."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.states import Outcome
from headway.sdk import DAG, BaseOperator, EmptyOperator, get_current_context, task
from headway.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
)
from headway.sdk.harness.execution import Result

Run = Callable[..., Result]
XComs = dict[tuple[str, str], JsonValue]


def raising(error: BaseException) -> BaseOperator:
    @task
    def work() -> None:
        raise error

    return work().operator


def test_success_pushes_what_is_returned(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task
    def work(ti: Any) -> list[int]:
        ti.xcom_push(key="rows", value=842)
        return [1, 2]

    assert run(work()) == Result(outcome=Outcome.SUCCESS)
    assert xcoms == {("work", "rows"): 842, ("work", "return_value"): [1, 2]}


def test_none_and_do_xcom_push_false_push_nothing(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task(do_xcom_push=False)
    def silent() -> object:
        return object()

    @task
    def none() -> None: ...

    assert run(silent()).outcome is run(none()).outcome is Outcome.SUCCESS
    assert run(EmptyOperator(task_id="empty")).outcome is Outcome.SUCCESS
    assert xcoms == {}


def test_an_own_xcom_is_pulled_without_naming_the_task(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task
    def work(ti: Any) -> Any:
        ti.xcom_push("rows", 842)
        return ti.xcom_pull(key="rows")

    run(work())

    assert xcoms["work", "return_value"] == 842


def test_a_return_value_that_cannot_be_an_xcom_fails_the_task(dag: DAG, run: Run) -> None:
    @task
    def work() -> list[object]:
        return [{"rows": {1j}}]

    result = run(work())

    assert result.outcome is Outcome.FAILED
    assert str(result.error).startswith(
        "The return value of task 'work'[0]['rows'], in the set, is of type complex, which"
    )


def test_a_large_value_fails_the_task(dag: DAG, run: Run) -> None:
    @task
    def pushes(ti: Any) -> None:
        ti.xcom_push("rows", "x" * 2**20)

    @task
    def returns() -> str:
        return "x" * 2**20

    assert str(run(pushes()).error).startswith(
        "The XCom 'rows' of task 'pushes' has 1,048,578 bytes as JSON; an XCom may have 1,048,576."
    )
    assert "Store large data in a file" in str(run(returns()).error)


def test_multiple_outputs_need_a_dictionary(dag: DAG, run: Run) -> None:
    @task(multiple_outputs=True)
    def work() -> list[int]:
        return [1]

    assert "must be a dictionary, because it has multiple_outputs" in str(run(work()).error)


def test_multiple_outputs_keep_their_types_and_have_names(dag: DAG, run: Run, xcoms: XComs) -> None:
    @task(multiple_outputs=True)
    def work() -> dict[Any, Any]:
        return {"pair": (1, 2), "by_number": {1: "a"}}

    @task(multiple_outputs=True)
    def numbers() -> dict[Any, Any]:
        return {1: "a"}

    @task
    def reads(pair: Any, whole: Any, text: str, ti: Any = None) -> str:
        pulled = ti.xcom_pull("work", key="by_number")
        return repr([pair, whole, text, pulled, ti.xcom_pull(["work"], key="pair")])

    made = work()
    run(made)
    assert run(reads(made["pair"], made, f"got {made['pair']}")).outcome is Outcome.SUCCESS

    assert xcoms["reads", "return_value"] == repr(
        [(1, 2), {"pair": (1, 2), "by_number": {1: "a"}}, "got (1, 2)", {1: "a"}, [(1, 2)]]
    )
    assert "multiple_outputs and the key 1; name each XCom with a string, or" in str(
        run(numbers()).error
    )


def test_a_stored_value_that_cannot_be_turned_back_fails_who_reads_it(
    dag: DAG, run: Run, xcoms: XComs
) -> None:
    @task
    def work() -> None: ...

    @task
    def reads(value: Any) -> None: ...

    made = work()
    xcoms["work", "return_value"] = {"__headway__": "pickle", "base64": ""}

    assert run(reads(made)).error == (
        "The XCom 'return_value' of task 'work' cannot be turned back into what it was: this "
        "release does not know 'pickle'."
    )


def test_skip_fail_and_plain_failure(dag: DAG, run: Run) -> None:
    skipped = run(raising(AirflowSkipException("no flights")))
    failed = run(raising(AirflowFailException("bad day")))
    plain = run(raising(AirflowException("try again")))

    assert (skipped.outcome, skipped.error) == (Outcome.SKIPPED, "no flights")
    assert (failed.outcome, failed.error, failed.may_retry) == (Outcome.FAILED, "bad day", False)
    assert (plain.outcome, plain.error, plain.may_retry) == (Outcome.FAILED, "try again", True)


@pytest.mark.parametrize("code", [0, 1, None, "bye"])
def test_sys_exit_is_a_failure_whatever_the_code(dag: DAG, run: Run, code: Any) -> None:
    @task
    def work() -> None:
        sys.exit(code)

    result = run(work())

    assert result.outcome is Outcome.FAILED
    assert result.error == (
        f"The task called sys.exit({code!r}); return from the function instead."
    )


def test_an_interrupt_goes_through(dag: DAG, run: Run) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(raising(KeyboardInterrupt()))


def test_the_traceback_shows_user_code_only(dag: DAG, run: Run) -> None:
    @task
    def work() -> None:
        try:
            planes: dict[str, str] = {}
            planes["key"]
        except KeyError as error:
            raise ValueError("no such flight") from error

    result = run(work())

    assert (result.outcome, result.error) == (Outcome.FAILED, "ValueError: no such flight")
    assert result.traceback is not None
    assert 'raise ValueError("no such flight")' in result.traceback
    assert "KeyError: 'key'" in result.traceback
    assert "/headway/sdk/" not in result.traceback


def test_long_messages_are_shortened(dag: DAG, run: Run) -> None:
    result = run(raising(ValueError("x" * 1_000_000)))

    assert len(str(result.error)) < 3_000
    assert len(str(result.traceback)) < 30_000
    assert "characters left out" in str(result.error)


def test_an_async_function_runs_to_its_end_with_its_context(
    dag: DAG, run: Run, xcoms: XComs
) -> None:
    @task
    async def fetch(first: int, ds: str = "") -> list[Any]:
        await asyncio.sleep(0)
        return [first, ds, get_current_context()["map_index"]]

    @task
    async def fail() -> None:
        raise AirflowSkipException("nothing to do")

    assert run(fetch(1)).outcome is Outcome.SUCCESS
    assert xcoms["fetch", "return_value"] == [1, "2013-01-01", -1]
    assert run(fail()) == Result(outcome=Outcome.SKIPPED, error="nothing to do")


def test_an_operator_without_execute_says_so(dag: DAG, run: Run) -> None:
    class Lazy(BaseOperator):
        pass

    assert "Lazy must define execute(self, context)" in str(run(Lazy(task_id="lazy")).error)


def branching(dag: DAG, chosen: object) -> BaseOperator:
    """Make `decide >> [a, b, c]`, where b is behind a as well, and c is a teardown."""

    @task.branch
    def decide() -> Any:
        return chosen

    decided = decide().operator
    a, b, c = (EmptyOperator(task_id=name) for name in "abc")
    decided >> [a, b, c]
    a >> b
    c.as_teardown()
    return decided


@pytest.mark.parametrize(
    ("chosen", "skipped"),
    [
        ("a", ("c",)),
        (["a", "c"], ()),
        ("b", ("a", "c")),
        (None, ("a", "b", "c")),
        ([], ("a", "b", "c")),
    ],
)
def test_a_branch_skips_what_it_did_not_choose(
    dag: DAG, run: Run, chosen: object, skipped: tuple[str, ...]
) -> None:
    result = run(branching(dag, chosen))

    assert (result.outcome, result.skip_tasks) == (Outcome.SUCCESS, skipped)


@pytest.mark.parametrize("chosen", ["x", 3, ["a", "x"]])
def test_a_branch_to_nowhere_fails(dag: DAG, run: Run, chosen: object) -> None:
    result = run(branching(dag, chosen))

    assert result.outcome is Outcome.FAILED
    assert "no direct downstream task of it; these are: a, b, c." in str(result.error)


@pytest.mark.parametrize(
    ("returned", "ignoring", "skipped"),
    [
        (False, True, ("a", "further")),
        (0, True, ("a", "further")),
        (None, False, ("a",)),
        (True, True, ()),
    ],
)
def test_a_short_circuit_skips_all_but_teardowns(
    dag: DAG, run: Run, returned: object, ignoring: bool, skipped: tuple[str, ...]
) -> None:
    @task.short_circuit(ignore_downstream_trigger_rules=ignoring)
    def go_on() -> object:
        return returned

    decided = go_on().operator
    a, b = EmptyOperator(task_id="a"), EmptyOperator(task_id="b").as_teardown()
    decided >> [a, b]
    a >> EmptyOperator(task_id="further") >> EmptyOperator(task_id="last").as_teardown()

    assert run(decided).skip_tasks == skipped
