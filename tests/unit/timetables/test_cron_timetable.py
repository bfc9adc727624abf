from datetime import datetime

from headway.domain.interval import DataInterval
from headway.timetables.base import TimeRestriction
from headway.timetables.kinds.cron import CronTimetable
from headway.timetables.sequence import runs_between

at = datetime.fromisoformat
NINE = CronTimetable("0 9 * * MON-FRI", "America/New_York")
FREE = TimeRestriction(None, None, catchup=True)
LATEST = TimeRestriction(None, None, catchup=False)
NOW = at("2013-01-06T12:00Z")  # a Sunday


def exact(moment: str) -> DataInterval:
    return DataInterval.exact(at(moment))


def test_a_run_starts_at_its_time_and_is_about_it() -> None:
    restriction = TimeRestriction(at("2013-01-01T00:00Z"), None, catchup=True)
    info = NINE.next_dagrun_info(None, restriction, NOW)

    assert info is not None
    assert info.run_after == at("2013-01-01T14:00Z")
    assert info.data_interval == exact("2013-01-01T14:00Z")
    assert not NINE.partitions


def test_times_follow_each_other_on_the_clock_of_the_zone() -> None:
    earliest, latest = at("2013-03-08T14:00Z"), at("2013-03-11T23:00Z")
    infos = list(runs_between(NINE, earliest, earliest, latest))

    assert [info.run_after for info in infos] == [
        at("2013-03-08T14:00Z"),
        at("2013-03-11T13:00Z"),
    ]


def test_without_catchup_the_latest_time_comes_next() -> None:
    old = exact("2012-12-03T14:00Z")
    for last in (None, old):
        info = NINE.next_dagrun_info(last, LATEST, NOW)
        assert info is not None
        assert info.data_interval == exact("2013-01-04T14:00Z")


def test_without_catchup_no_time_comes_twice() -> None:
    info = NINE.next_dagrun_info(exact("2013-01-04T14:00Z"), LATEST, NOW)

    assert info is not None
    assert info.run_after == at("2013-01-07T14:00Z")


def test_a_new_schedule_starts_after_the_last_interval_of_the_old_one() -> None:
    day = DataInterval(at("2013-01-03T14:00Z"), at("2013-01-04T14:00Z"))
    info = NINE.next_dagrun_info(day, FREE, NOW)

    assert info is not None
    assert info.run_after == at("2013-01-07T14:00Z")


def test_the_end_date_counts() -> None:
    last = exact("2013-01-03T14:00Z")
    until = TimeRestriction(None, at("2013-01-04T14:00Z"), catchup=True)
    before = TimeRestriction(None, at("2013-01-04T13:59Z"), catchup=True)

    assert NINE.next_dagrun_info(last, until, NOW) is not None
    assert NINE.next_dagrun_info(last, before, NOW) is None


def test_a_manual_run_is_about_the_time_it_is_triggered_for() -> None:
    assert NINE.infer_manual_data_interval(NOW) == DataInterval.exact(NOW)


def test_the_summary_is_the_cron_string() -> None:
    assert NINE.summary == "0 9 * * MON-FRI"
