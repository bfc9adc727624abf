"""Bases of branches, LatestOnlyOperator, and branches that go by the date."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from headway.domain.errors import DagError
from headway.domain.interval import DataInterval
from headway.domain.states import Outcome, RunType
from headway.sdk import (
    DAG,
    BaseBranchOperator,
    BaseOperator,
    BranchDateTimeOperator,
    BranchDayOfWeekOperator,
    Context,
    EmptyOperator,
    LatestOnlyOperator,
    SkipMixin,
    WeekDay,
)
from headway.sdk.harness.execution import Result
from headway.sdk.harness.specification import to_spec

Run = Callable[..., Result]

NEW_YORK = ZoneInfo("America/New_York")
START = datetime(2013, 1, 1, tzinfo=NEW_YORK)
FOLLOW: dict[str, Any] = {"follow_task_ids_if_true": "yes", "follow_task_ids_if_false": ["no"]}


def empty(*names: str) -> list[EmptyOperator]:
    return [EmptyOperator(task_id=name) for name in names]


def skipped(run: Run, branch: BaseOperator, **how: Any) -> tuple[str, ...]:
    branch >> empty("no", "yes")
    result = run(branch, **how)
    assert result.outcome is Outcome.SUCCESS, result.error
    return result.skip_tasks


def test_a_branch_of_ones_own_chooses_by_the_context(
    dag: DAG, run: Run, xcoms: dict[tuple[str, str], Any]
) -> None:
    class ByCarrier(BaseBranchOperator):
        def choose_branch(self, context: Context) -> Iterator[str]:
            yield "yes" if context["params"]["carrier"] == "UA" else "no"

    branch = ByCarrier(task_id="choose")

    assert skipped(run, branch) == ("no",)
    assert run(branch, conf={"carrier": "AA"}).skip_tasks == ("yes",)
    assert xcoms["choose", "return_value"] == ["no"]


def test_a_branch_without_a_choice_says_so(dag: DAG, run: Run) -> None:
    result = run(BaseBranchOperator(task_id="choose"))

    assert "BaseBranchOperator must define choose_branch(self, context)" in str(result.error)


class Skipping(BaseOperator, SkipMixin):
    """Skip the tasks of these names."""

    def __init__(self, *, task_id: str, names: list[str], **options: Any) -> None:
        super().__init__(task_id=task_id, **options)
        self.names = names

    def execute(self, context: Context) -> None:
        assert self.dag is not None
        for name in self.names:
            self.skip(context["ti"], [self.dag.task_dict[name]])


def test_an_operator_skips_tasks_however_far_below(dag: DAG, run: Run) -> None:
    task = Skipping(task_id="skip", names=["a", "c"])
    a, b, c = empty("a", "b", "c")
    task >> a >> b >> c

    assert run(task).skip_tasks == ("a", "c")
    assert run(Skipping(task_id="other", names=[])).skip_tasks == ()


def test_an_operator_skips_no_task_beside_it(dag: DAG, run: Run) -> None:
    task = Skipping(task_id="skip", names=["beside"])
    empty("beside")

    result = run(task)

    assert (result.outcome, result.skip_tasks) == (Outcome.FAILED, ())
    assert "is to skip 'beside', which does not lie below it" in str(result.error)


@pytest.mark.parametrize(
    ("run_type", "expected"),
    [
        (RunType.SCHEDULED, ("no", "yes")),
        (RunType.BACKFILL, ("no", "yes")),
        (RunType.MANUAL, ()),
    ],
)
def test_latest_only_skips_in_an_old_run_that_nobody_triggered(
    dag: DAG, run: Run, run_type: RunType, expected: tuple[str, ...]
) -> None:
    assert skipped(run, LatestOnlyOperator(task_id="latest"), run_type=run_type) == expected


@pytest.mark.parametrize(
    ("options", "latest"),
    [({}, False), ({"end_date": START + timedelta(days=1)}, True)],
)
def test_latest_only_goes_on_in_the_last_run_that_there_is(
    run: Run, options: dict[str, Any], latest: bool
) -> None:
    with DAG("other", schedule="@daily", start_date=START, **options):
        branch = LatestOnlyOperator(task_id="latest")
        interval = DataInterval(START + timedelta(days=1), START + timedelta(days=2))

        found = skipped(run, branch, run_type=RunType.SCHEDULED, interval=interval)

    assert found == (() if latest else ("no", "yes"))


@pytest.mark.parametrize(("late", "latest"), [(timedelta(0), True), (timedelta(seconds=1), False)])
def test_a_run_is_the_latest_until_the_next_one_is_due(
    dag: DAG, run: Run, late: timedelta, latest: bool
) -> None:
    branch = LatestOnlyOperator(task_id="latest")
    seen: list[bool] = []

    class Asking(BaseOperator):
        def execute(self, context: Context) -> None:
            due = datetime(2013, 1, 3, tzinfo=NEW_YORK)
            seen.append(branch.is_latest(context["dag_run"], due + late))

    run(Asking(task_id="ask"), run_type=RunType.SCHEDULED)

    assert seen == [latest]


@pytest.mark.parametrize(
    ("lower", "upper", "moment", "within"),
    [
        (time(9), time(17), (9, 0), True),
        (time(9), time(17), (17, 0), True),
        (time(9), time(17), (17, 1), False),
        (time(9), None, (8, 59), False),
        (None, time(17), (8, 59), True),
        (time(22), time(2), (23, 0), True),
        (time(22), time(2), (1, 0), False),
        (START, datetime(2013, 1, 1, 12, tzinfo=UTC), (9, 0), False),
        (START, time(12), (9, 0), True),
    ],
)
def test_a_branch_by_time_goes_by_the_day_in_the_time_zone_of_the_dag(
    dag: DAG, lower: Any, upper: Any, moment: tuple[int, int], within: bool
) -> None:
    branch = BranchDateTimeOperator(
        task_id="choose", target_lower=lower, target_upper=upper, **FOLLOW
    )

    local = datetime(2013, 1, 1, *moment, tzinfo=NEW_YORK)
    assert branch.holds(local.astimezone(UTC)) is within


def test_a_date_without_a_time_zone_is_in_that_of_the_dag(dag: DAG) -> None:
    branch = BranchDateTimeOperator(
        task_id="choose",
        target_lower=datetime(2013, 1, 1, 9),  # noqa: DTZ001
        target_upper=None,
        **FOLLOW,
    )

    assert [branch.holds(datetime(2013, 1, 1, hour, tzinfo=UTC)) for hour in (13, 14)] == [
        False,
        True,
    ]


def test_a_branch_by_date_takes_the_logical_date_or_the_time(dag: DAG, run: Run) -> None:
    old: dict[str, Any] = {"target_lower": None, "target_upper": START, **FOLLOW}
    by_run = BranchDateTimeOperator(task_id="by_run", use_task_logical_date=True, **old)
    by_clock = BranchDateTimeOperator(task_id="by_clock", **old)

    assert skipped(run, by_run) == ("no",)
    by_clock >> [dag.task_dict[name] for name in ("no", "yes")]
    assert run(by_clock).skip_tasks == ("yes",)


@pytest.mark.parametrize(
    ("days", "expected"),
    [("Tuesday", ("no",)), ({"monday", WeekDay.TUESDAY}, ("no",)), (WeekDay.MONDAY, ("yes",))],
)
def test_a_branch_by_the_day_of_the_week(
    dag: DAG, run: Run, days: Any, expected: tuple[str, ...]
) -> None:
    branch = BranchDayOfWeekOperator(
        task_id="choose", week_day=days, use_task_logical_date=True, **FOLLOW
    )

    assert skipped(run, branch) == expected


@pytest.mark.parametrize(("by_run", "holds"), [(True, True), (False, False)])
def test_the_day_of_now_is_that_of_the_dag_and_of_a_run_that_in_utc(
    dag: DAG, by_run: bool, holds: bool
) -> None:
    branch = BranchDayOfWeekOperator(
        task_id="choose", week_day="Wednesday", use_task_logical_date=by_run, **FOLLOW
    )

    assert branch.holds(datetime(2013, 1, 2, 3, tzinfo=UTC)) is holds


def test_what_a_branch_goes_by_is_stored(dag: DAG) -> None:
    BranchDayOfWeekOperator(task_id="a", week_day={WeekDay.SUNDAY, WeekDay.FRIDAY}, **FOLLOW)
    BranchDateTimeOperator(task_id="b", target_lower=time(9), target_upper=START, **FOLLOW)

    a, b = to_spec(dag, "x.py").tasks
    assert a.arguments["week_day"] == {"__headway__": "set", "items": [5, 7]}
    assert b.arguments["target_lower"] == {"__headway__": "time", "value": "09:00:00"}
    assert (a.operator, b.operator) == ("branch_day_of_week", "branch_datetime")


@pytest.mark.parametrize(
    ("operator", "arguments", "message"),
    [
        (BranchDayOfWeekOperator, {"week_day": "Mon"}, "week_day must be the name of a day"),
        (BranchDayOfWeekOperator, {"week_day": 3}, "week_day must be a day or a list of days"),
        (
            BranchDateTimeOperator,
            {"target_lower": None, "target_upper": None},
            "'choose': give target_lower, target_upper, or both",
        ),
        (
            BranchDateTimeOperator,
            {"target_lower": "9:00", "target_upper": None},
            "target_lower must be a date, a time or None",
        ),
        (
            BranchDayOfWeekOperator,
            {"week_day": "Monday", "use_task_logical_date": 1},
            "use_task_logical_date must be True or False",
        ),
        (
            BranchDayOfWeekOperator,
            {"week_day": "Monday", "follow_task_ids_if_true": [3]},
            "follow_task_ids_if_true must be a string",
        ),
    ],
)
def test_what_no_branch_can_go_by_is_refused(
    dag: DAG, operator: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(DagError, match=message):
        operator(task_id="choose", **{**FOLLOW, **arguments})
