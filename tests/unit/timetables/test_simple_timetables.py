from datetime import datetime, timedelta

import pytest

from headway.domain.interval import DataInterval
from headway.timetables.base import DagRunInfo, TimeRestriction, Timetable
from headway.timetables.kinds.simple import ContinuousTimetable, NullTimetable, OnceTimetable

at = datetime.fromisoformat
START = at("2013-01-01T00:00Z")
NOW = at("2013-01-05T12:00Z")
FREE = TimeRestriction(None, None, catchup=False)
FROM_START = TimeRestriction(START, None, catchup=False)
ENDED = TimeRestriction(START, START - timedelta(days=1), catchup=False)


def over(start: datetime, end: datetime) -> DagRunInfo:
    return DagRunInfo(run_after=end, data_interval=DataInterval(start, end))


def test_null_never_runs() -> None:
    assert NullTimetable().next_dagrun_info(None, FROM_START, NOW) is None
    assert NullTimetable().summary == "none"


def test_once_runs_at_the_start_date() -> None:
    assert OnceTimetable().next_dagrun_info(None, FROM_START, NOW) == over(START, START)
    assert OnceTimetable().summary == "@once"


def test_once_runs_now_where_there_is_no_start_date() -> None:
    assert OnceTimetable().next_dagrun_info(None, FREE, NOW) == over(NOW, NOW)


def test_once_runs_once_and_not_after_the_end_date() -> None:
    assert OnceTimetable().next_dagrun_info(DataInterval.exact(START), FROM_START, NOW) is None
    assert OnceTimetable().next_dagrun_info(None, ENDED, NOW) is None


def test_continuous_runs_over_the_time_since_the_last_run() -> None:
    continuous = ContinuousTimetable()
    last = DataInterval(START, START + timedelta(hours=1))

    assert continuous.next_dagrun_info(None, FROM_START, NOW) == over(START, NOW)
    assert continuous.next_dagrun_info(last, FROM_START, NOW) == over(last.end, NOW)
    assert continuous.next_dagrun_info(last, FREE, NOW) == over(last.end, NOW)
    assert continuous.summary == "@continuous"


def test_continuous_intervals_are_never_empty() -> None:
    continuous = ContinuousTimetable()
    last = DataInterval(START, NOW)
    second = timedelta(seconds=1)

    assert continuous.next_dagrun_info(last, FROM_START, NOW) == over(NOW, NOW + second)


def test_continuous_without_a_start_date_begins_at_once() -> None:
    second = timedelta(seconds=1)

    assert ContinuousTimetable().next_dagrun_info(None, FREE, NOW) == over(NOW - second, NOW)


def test_continuous_begins_at_a_start_date_to_come_and_stops_at_the_end_date() -> None:
    later = NOW + timedelta(days=1)
    restriction = TimeRestriction(later, None, catchup=False)
    info = ContinuousTimetable().next_dagrun_info(None, restriction, NOW)

    assert info is not None
    assert info.data_interval.start == later
    assert ContinuousTimetable().next_dagrun_info(None, ENDED, NOW) is None


@pytest.mark.parametrize(
    ("timetable", "partitions"),
    [(NullTimetable(), False), (OnceTimetable(), False), (ContinuousTimetable(), True)],
)
def test_manual_runs_are_about_an_instant(timetable: Timetable, partitions: bool) -> None:
    assert timetable.infer_manual_data_interval(NOW) == DataInterval.exact(NOW)
    assert timetable.partitions is partitions
