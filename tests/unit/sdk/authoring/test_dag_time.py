"""What a DAG answers about its own time; the dates are worked out by hand.

1 January 2026 is a Thursday.  New York is five hours behind UTC.
"""

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pendulum
import pytest

from headway.domain.errors import DagError
from headway.domain.interval import DataInterval
from headway.sdk import DAG, CronTimetable, DataTimetable, EventsTimetable, PeriodTimetable
from headway.sdk.running.old_names import OldNameWarning

at = datetime.fromisoformat
START = pendulum.datetime(2026, 1, 1, tz="America/New_York")
END = pendulum.datetime(2026, 1, 31, tz="America/New_York")
WEEKDAYS = DataTimetable("0 0 * * MON-FRI", interval=timedelta(days=1))
THURSDAY = DataInterval(at("2026-01-01T05:00Z"), at("2026-01-02T05:00Z"))
FRIDAY = DataInterval(at("2026-01-02T05:00Z"), at("2026-01-03T05:00Z"))
MONDAY = DataInterval(at("2026-01-05T05:00Z"), at("2026-01-06T05:00Z"))


def dag(schedule: object = WEEKDAYS, **options: Any) -> DAG:
    return DAG("x", schedule=schedule, **{"start_date": START, "end_date": END, **options})


def starts(dag: DAG, earliest: str | None, latest: str) -> list[str]:
    first = None if earliest is None else at(earliest)
    found = dag.iter_dagrun_infos_between(first, at(latest))
    return [f"{info.data_interval.start:%m-%d %H:%M}" for info in found]


def test_the_next_run() -> None:
    catching_up = dag(catchup=True)
    now = at("2026-01-20T00:00Z")
    infos = [
        catching_up.next_dagrun_info(last, now=now)
        for last in (None, THURSDAY, FRIDAY, at("2026-01-02T05:00Z"))
    ]

    assert [info.data_interval for info in infos if info] == [THURSDAY, FRIDAY, MONDAY, MONDAY]
    assert [info.run_after for info in infos[:1] if info] == [THURSDAY.end]
    latest = dag().next_dagrun_info(None, now=at("2026-01-06T05:00Z"))
    assert latest is not None
    assert latest.data_interval == MONDAY


def test_the_next_run_keeps_to_the_dates_of_the_dag_unless_told_otherwise() -> None:
    last = DataInterval(at("2026-01-30T05:00Z"), at("2026-01-31T05:00Z"))

    assert dag(catchup=True).next_dagrun_info(last) is None
    free = dag(catchup=True).next_dagrun_info(last, restricted=False)
    assert free is not None
    assert free.data_interval.start == at("2026-02-02T05:00Z")


def test_an_interval_that_is_none_of_the_dag_is_refused() -> None:
    with pytest.raises(ValueError, match="DAG 'x' has no run about the interval that starts at"):
        dag().next_dagrun_info(at("2026-01-03T05:00Z"))


def test_runs_between_two_dates() -> None:
    assert starts(dag(), "2026-01-02T00:00Z", "2026-01-06T05:00Z") == [
        "01-02 05:00",
        "01-05 05:00",
        "01-06 05:00",
    ]
    assert starts(dag(), None, "2026-01-01T05:00Z") == ["01-01 05:00"]
    assert starts(dag(), "2025-12-01T00:00Z", "2026-01-01T05:00Z") == ["01-01 05:00"]
    assert starts(dag(), "2026-01-30T00:00Z", "2026-03-01T00:00Z") == ["01-30 05:00"]


def test_periods_are_where_the_start_date_puts_them() -> None:
    """Every twelve hours from midnight in New York on."""
    halves = dag(timedelta(hours=12))

    assert starts(halves, "2026-01-02T00:00Z", "2026-01-03T00:00Z") == [
        "01-02 05:00",
        "01-02 17:00",
    ]
    months = dag(PeriodTimetable("P1M"), start_date=pendulum.datetime(2025, 8, 31), end_date=None)
    assert starts(months, "2025-11-01T00:00Z", "2026-03-01T00:00Z") == [
        "11-30 00:00",
        "12-31 00:00",
        "01-31 00:00",
        "02-28 00:00",
    ]


def test_without_a_start_date_the_earliest_must_be_given() -> None:
    free = DAG("x", schedule="@daily")

    with pytest.raises(ValueError, match="without a start_date, pass an earliest date"):
        next(free.iter_dagrun_infos_between(None, at("2026-01-01T00:00Z")))
    found = islice(free.iter_dagrun_infos_between(at("2026-01-01T12:00Z"), END), 1)
    assert [info.data_interval.start for info in found] == [at("2026-01-02T00:00Z")]


@pytest.mark.parametrize(
    ("schedule", "date", "expected"),
    [
        (WEEKDAYS, "2026-01-02T05:00Z", True),
        (WEEKDAYS, "2026-01-02T05:01Z", False),
        (WEEKDAYS, "2026-01-03T05:00Z", False),
        (WEEKDAYS, "2025-12-31T05:00Z", False),
        (WEEKDAYS, "2026-02-02T05:00Z", False),
        (timedelta(hours=12), "2026-01-01T17:00Z", True),
        (timedelta(hours=12), "2026-01-01T12:00Z", False),
        (CronTimetable("0 9 * * *"), "2026-01-01T14:00Z", True),
        (CronTimetable("0 9 * * *"), "2026-01-01T09:00Z", False),
        (EventsTimetable(["2026-01-04"]), "2026-01-04T05:00Z", True),
        (EventsTimetable(["2026-01-04"]), "2026-01-05T05:00Z", False),
        ("@once", "2026-01-01T05:00Z", True),
        (None, "2026-01-01T05:00Z", False),
    ],
)
def test_whether_a_date_is_on_the_schedule(schedule: object, date: str, expected: bool) -> None:
    assert dag(schedule).on_schedule(at(date)) is expected


def test_a_date_needs_a_time_zone() -> None:
    with pytest.raises(DagError, match="DAG 'x': date"):
        dag().on_schedule(datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_local_date_is_the_instant_that_it_stands_for() -> None:
    """On 1 November 2026 01:00 to 02:00 comes twice in New York: from 05:00 and from 06:00 UTC."""
    halves = dag(CronTimetable("*/30 * * * *"), end_date=None, catchup=True)
    local = pendulum.datetime(2026, 11, 1, 1, 30, tz="America/New_York", fold=0)
    later = local.replace(fold=1)
    infos = [
        halves.next_dagrun_info(local),
        halves.next_dagrun_info(later),
        halves.next_dagrun_info(DataInterval.exact(later)),
        dag(CronTimetable("*/10 * * * *")).next_dagrun_info(None, restricted=False, now=later),
        *halves.iter_dagrun_infos_between(later, later),
        halves.run_after(local),
        halves.run_after(later),
        halves.run_before(later),
    ]

    assert halves.on_schedule(local)
    assert halves.on_schedule(later)
    assert [info and f"{info.run_after:%H:%M}" for info in infos] == [
        "06:00",
        "07:00",
        "07:00",
        "06:30",
        "06:30",
        "06:00",
        "07:00",
        "06:00",
    ]


@pytest.mark.parametrize(
    ("date", "previous", "following"),
    [
        ("2026-01-02T05:00Z", "2026-01-01T05:00Z", "2026-01-05T05:00Z"),
        ("2026-01-03T12:00Z", "2026-01-02T05:00Z", "2026-01-05T05:00Z"),
        ("2026-01-01T05:00Z", None, "2026-01-02T05:00Z"),
        ("2025-01-01T05:00Z", None, "2026-01-01T05:00Z"),
        ("2026-01-30T05:00Z", "2026-01-29T05:00Z", None),
    ],
)
def test_the_old_questions_are_answered_with_a_warning(
    date: str, previous: str | None, following: str | None
) -> None:
    with pytest.warns(OldNameWarning, match="following_schedule is the old way; use next_dagrun"):
        assert dag().following_schedule(at(date)) == (following and at(following))
    with pytest.warns(DeprecationWarning, match="previous_schedule is the old way"):
        assert dag().previous_schedule(at(date)) == (previous and at(previous))


def test_what_is_not_told_of_is_now() -> None:
    """Without catchup the next run of a daily DAG is never older than two days."""
    info = DAG("x", schedule="@daily", start_date=START).next_dagrun_info(None)

    assert info is not None
    assert datetime.now(UTC) - info.run_after < timedelta(days=2)
