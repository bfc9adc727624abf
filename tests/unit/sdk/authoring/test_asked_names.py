"""The lazy names of the context in `**kwargs`."""

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pendulum
import pytest

from headway.domain.interval import DataInterval, PriorRun
from headway.domain.states import Outcome
from headway.sdk import DAG, CronTimetable, PythonOperator, get_current_context
from headway.sdk.harness.execution import Result, execute
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.old_names import LAZY, OldNameWarning
from headway.sdk.running.task_runtime import LocalRuntime, XComs

Run = Callable[..., Result]
PRIOR = "prev_data_interval_start_success"
ONE_NAME = "def work(**context):\n    return str(context[{name!r}])"
GET = "def work(*args, **context):\n    return str(context.get({name!r}))"
INNER = "def work(**context):\n    return (lambda: str(context[{name!r}]))()"
HANDED_ON = (
    "def read(values):\n    return str(values[{name!r}])\ndef work(**kw):\n    return read(kw)"
)
BUILT = "def work(**kw):\n    return str(kw[''.join({name!r})])"
FORMS = {"one name": ONE_NAME, "get": GET, "inner": INNER, "handed on": HANDED_ON, "built": BUILT}


def function(form: str, name: str) -> Callable[..., Any]:
    space: dict[str, Any] = {}
    exec(FORMS[form].format(name=name), space)
    made: Callable[..., Any] = space["work"]
    return made


@pytest.mark.regression
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LAZY)
def test_kwargs_hold_every_lazy_name(
    name: str, form: str, dag: DAG, run: Run, xcoms: XComs
) -> None:
    def by_parameter() -> str:
        return str(get_current_context()[name])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OldNameWarning)
        result = run(PythonOperator(task_id="work", python_callable=function(form, name)))
        run(PythonOperator(task_id="wanted", python_callable=by_parameter))

    assert result.error is None
    assert xcoms["work", "return_value"] == xcoms["wanted", "return_value"]


def test_a_function_that_wraps_another_gets_them_too(dag: DAG, run: Run, xcoms: XComs) -> None:
    def work(**context: Any) -> str:
        return str(context[PRIOR])

    @functools.wraps(work)
    def wrapper(*args: Any, **kwargs: Any) -> str:
        return work(*args, **kwargs)

    run(PythonOperator(task_id="work", python_callable=wrapper))

    assert xcoms["work", "return_value"] == "None"


def test_a_name_that_is_given_wins(dag: DAG, run: Run, xcoms: XComs) -> None:
    def work(**context: Any) -> object:
        return context["tomorrow_ds"]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(PythonOperator(task_id="work", python_callable=work, op_kwargs={"tomorrow_ds": "mine"}))

    assert xcoms["work", "return_value"] == "mine"


@pytest.mark.parametrize(("form", "warned"), [("one name", 1), ("handed on", 0)])
def test_only_a_name_that_is_written_down_is_warned_of(
    form: str, warned: int, dag: DAG, run: Run
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(PythonOperator(task_id="w", python_callable=function(form, "execution_date")))

    assert len([warning for warning in caught if warning.category is OldNameWarning]) == warned


@dataclass(frozen=True)
class Counting(LocalRuntime):
    asked: list[str] = field(default_factory=list)

    def last_success(self) -> PriorRun | None:
        self.asked.append("last_success")
        return None


def other(**context: Any) -> Any:
    return context["ds"], context.get("run_id"), "ds" in context


def changed(**context: Any) -> Any:
    context["mine"] = 1
    return sum(1 for _ in context)


def local(**context: Any) -> Any:
    return len(locals())


@pytest.mark.parametrize(
    ("work", "asked"), [(other, 0), (function("one name", PRIOR), 1), (changed, 1), (local, 1)]
)
def test_only_a_function_that_may_use_it_asks_for_the_last_run(
    work: Callable[..., Any], asked: int, dag: DAG
) -> None:
    operator = PythonOperator(task_id="w", python_callable=work)
    day = DataInterval.exact(pendulum.datetime(2013, 1, 1))
    runtime = Counting("w")

    facts = RunFacts(dag_id="flights", run_id="r", task_id="w", data_interval=day)
    result = execute(operator, facts, runtime)

    assert (result.outcome, result.error) == (Outcome.SUCCESS, None)
    assert runtime.asked == ["last_success"] * asked


def test_what_cannot_be_worked_out_is_left_out_and_said(
    run: Run, xcoms: XComs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise OverflowError("beyond the year 9999")

    with DAG("flights", schedule=CronTimetable("@daily")) as dag:
        monkeypatch.setattr(type(dag), "run_ending_after", fail)
        run(
            PythonOperator(
                task_id="work", python_callable=lambda **kw: sorted(kw.keys() & LAZY.keys())
            )
        )

    left = sorted(LAZY.keys() - {"next_schedule_date", "next_execution_date"})
    assert xcoms["work", "return_value"] == left
    said = "[headway] next_schedule_date is left out of **kwargs: beyond the year 9999"
    assert said in capsys.readouterr().out.splitlines()


def test_the_context_has_lazy_names_by_get_and_by_in(dag: DAG, run: Run, xcoms: XComs) -> None:
    """`get` and `in` of a dictionary do not ask for what is missing."""

    def work() -> list[object]:
        context = get_current_context()
        names = ["tomorrow_ds", "no_such_name"]
        return [[context.get(name, "none"), name in context] for name in names]

    with pytest.warns(OldNameWarning):
        run(PythonOperator(task_id="work", python_callable=work))

    assert xcoms["work", "return_value"] == [["2013-01-02", True], ["none", False]]
