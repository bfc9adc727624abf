"""Names of dates in templates and tasks: those that are, and those that were."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pendulum
import pytest

from headway.domain.interval import DataInterval, PriorRun
from headway.domain.states import Outcome
from headway.sdk import (
    DAG,
    CronTimetable,
    DataTimetable,
    Delayed,
    PythonOperator,
    RollingWindow,
    get_current_context,
)
from headway.sdk.harness.execution import Result, execute
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.old_names import LAZY, REPLACED, OldNameWarning
from headway.sdk.running.task_runtime import LocalRuntime, XComs

Run = Callable[..., Result]

PRIOR_NAMES = ["data_interval_start", "data_interval_end", "start_date", "end_date"]

NAMES = {
    "execution_date": "2013-01-01T05:00:00+00:00",
    "next_execution_date": "2013-01-02T05:00:00+00:00",
    "prev_execution_date": "None",
    "tomorrow_ds": "2013-01-02",
    "tomorrow_ds_nodash": "20130102",
    "yesterday_ds": "2012-12-31",
    "yesterday_ds_nodash": "20121231",
    "prev_schedule_date": "None",
    "next_schedule_date": "2013-01-03T05:00:00+00:00",
    "prev_data_interval_start_success": "None",
    "prev_data_interval_end_success": "None",
    "prev_start_date_success": "None",
    "prev_end_date_success": "None",
    "schedule_date": "2013-01-02T05:00:00+00:00",
    "expanded_ti_count": "None",
}
"""In the first run of the DAG of these tests, about 1 January in New York."""


def shown(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


@pytest.mark.parametrize("name", NAMES)
def test_in_templates(name: str, dag: DAG, run: Run, xcoms: XComs) -> None:
    method = ".isoformat()" if "T" in NAMES[name] else ""
    template = f"{{{{ {name}{method} }}}}"
    task = PythonOperator(task_id="show", python_callable=str, op_args=[template])

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(task)

    assert xcoms["show", "return_value"] == NAMES[name]
    told = [str(warning.message) for warning in caught if warning.category is OldNameWarning]
    wanted = [f"{name} is an old name; use {REPLACED[name]}."] if name in REPLACED else []
    assert told == wanted


@pytest.mark.parametrize("name", NAMES)
def test_as_parameters_and_in_the_context(name: str, dag: DAG, run: Run, xcoms: XComs) -> None:
    space: dict[str, Any] = {}
    source = f"def work({name}):\n    return [show({name}), show(context()[{name!r}])]"
    exec(source, {"show": shown, "context": get_current_context}, space)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        run(PythonOperator(task_id="work", python_callable=space["work"]))

    assert xcoms["work", "return_value"] == [NAMES[name]] * 2


def test_a_name_is_not_old_that_is_part_of_another_one(dag: DAG, run: Run, xcoms: XComs) -> None:
    text = "{% set my_execution_date = ds %}{{ my_execution_date }} execution_date"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(PythonOperator(task_id="show", python_callable=str, op_args=[text]))

    assert xcoms["show", "return_value"] == "2013-01-01 execution_date"


def test_the_run_before_and_the_run_after(run: Run, xcoms: XComs) -> None:
    """The DAG has begun earlier, so there is a run before."""
    start = pendulum.datetime(2012, 12, 30, tz="America/New_York")
    with DAG("flights", schedule="@daily", start_date=start):
        task = PythonOperator(
            task_id="show",
            python_callable=lambda prev_schedule_date, prev_execution_date: [
                shown(prev_schedule_date),
                shown(prev_execution_date),
            ],
        )
    with pytest.warns(OldNameWarning):
        run(task)

    assert xcoms["show", "return_value"] == [
        "2013-01-01T05:00:00+00:00",
        "2012-12-31T05:00:00+00:00",
    ]


EXACT = CronTimetable("0 9 * * *")
NINE = DataInterval.exact(pendulum.datetime(2013, 1, 5, 14))
MONTH = DataInterval(pendulum.datetime(2013, 1, 1, 5), pendulum.datetime(2013, 1, 29, 5))
WEEK = DataInterval(pendulum.datetime(2013, 1, 1, 5), pendulum.datetime(2013, 1, 8, 5))
WINDOWS = RollingWindow(DataTimetable("@daily"), "P7D")
NONE = ["None", "None"]


@pytest.mark.parametrize(
    ("schedule", "interval", "before", "after"),
    [
        ("@daily", MONTH, ["2013-01-01 05", "2012-12-31 05"], ["2013-01-30 05", "2013-01-29 05"]),
        (EXACT, NINE, ["2013-01-04 14"] * 2, ["2013-01-06 14"] * 2),
        (WINDOWS, WEEK, ["2013-01-07 05", "2012-12-31 05"], ["2013-01-09 05", "2013-01-02 05"]),
        (Delayed(EXACT, "PT2H"), NINE, ["2013-01-04 16", "2013-01-04 14"],
         ["2013-01-06 16", "2013-01-06 14"]),
        ("@continuous", NINE, NONE, NONE),
        (None, NINE, NONE, NONE),
    ],
)  # fmt: skip
def test_which_run_is_before_and_which_is_after(
    schedule: object,
    interval: DataInterval,
    before: list[str],
    after: list[str],
    run: Run,
    xcoms: XComs,
) -> None:
    """When each is to run, and where it starts; a rollup covers what lies in its interval."""
    names = "prev_schedule_date", "prev_execution_date", "next_schedule_date", "next_execution_date"
    start = pendulum.datetime(2012, 12, 1, tz="America/New_York")
    with DAG("flights", schedule=schedule, start_date=start):
        task = PythonOperator(
            task_id="show",
            python_callable=lambda: [f"{get_current_context()[name]!s:.13}" for name in names],
        )
    with pytest.warns(OldNameWarning):
        run(task, interval=interval)

    assert xcoms["show", "return_value"] == [*before, *after]


PRIOR = PriorRun(
    DataInterval(pendulum.datetime(2012, 12, 30, 5), pendulum.datetime(2012, 12, 31, 5)),
    pendulum.datetime(2013, 1, 3, 10),
    pendulum.datetime(2013, 1, 3, 11),
)


def test_the_last_run_that_succeeded(dag: DAG, run: Run, xcoms: XComs) -> None:
    """It may have been some days before, and run at any time."""
    names = [f"prev_{name}_success" for name in PRIOR_NAMES]
    run(
        PythonOperator(
            task_id="show",
            python_callable=lambda *templates: [
                *templates,
                *(shown(get_current_context()[name]) for name in names),
            ],
            op_args=[f"{{{{ {name}.isoformat() }}}}" for name in names],
        ),
        prior=PRIOR,
    )

    assert xcoms["show", "return_value"] == 2 * [
        "2012-12-30T05:00:00+00:00",
        "2012-12-31T05:00:00+00:00",
        "2013-01-03T10:00:00+00:00",
        "2013-01-03T11:00:00+00:00",
    ]


@dataclass(frozen=True)
class Counting(LocalRuntime):
    """A runtime that counts questions."""

    asked: list[str] = field(default_factory=list)

    def last_success(self) -> PriorRun | None:
        self.asked.append("last_success")
        return None


@pytest.mark.parametrize("used", [0, 1, 4])
def test_only_who_uses_it_asks_for_it_and_once(dag: DAG, used: int) -> None:
    operator = PythonOperator(
        task_id="show",
        python_callable=lambda _: [
            get_current_context()[f"prev_{name}_success"] for name in PRIOR_NAMES[:used]
        ],
        op_args=["{{ prev_start_date_success }}" if used else "{{ ds }}"],
    )
    day = DataInterval.exact(pendulum.datetime(2013, 1, 1))
    facts = RunFacts(dag_id="flights", run_id="r", task_id="show", data_interval=day)
    runtime = Counting("show")

    assert execute(operator, facts, runtime).outcome is Outcome.SUCCESS

    assert runtime.asked == ["last_success"] * min(used, 1)


def test_every_name_is_tried() -> None:
    assert NAMES.keys() == LAZY.keys() | {"schedule_date"}
