"""The first and the last years, start dates after the last run, and numbers beyond all measure."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from headway.cli.main import app
from headway.domain.errors import TimetableError
from headway.testing.time.every_timetable import TIMETABLES
from headway.timetables.base import END, TimeRestriction, Timetable
from headway.timetables.kinds.boolean import Days, Hours, Minutes, Months, Weekdays
from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.kinds.days import TradingDays, Workdays
from headway.timetables.kinds.delta import PeriodTimetable, TimeDeltaTimetable
from headway.timetables.kinds.events import EventsTimetable
from headway.timetables.kinds.paydays import LastWorkdayOnOrBefore
from headway.timetables.kinds.recurring import Recurring
from headway.timetables.kinds.solar import Sunrise, Sunset
from headway.timetables.kinds.wrapped import Delayed, RollingWindow
from headway.timetables.schedule import timetable_for

DAY = timedelta(days=1)
HUGE = 10**5000
THREE = EventsTimetable(["2026-01-05", "2026-01-10", "2026-01-20"])
COUNTED = [TimeDeltaTimetable(timedelta(hours=6)), PeriodTimetable("P1M")]


def at(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


@pytest.mark.regression
@pytest.mark.parametrize(
    "expression",
    ["Sunset(40.7, -74.0)", "Sunrise(40.7, -74.0)", "PT6H", "@daily", "P1M", "Workdays()"],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("date", ["9998-11-20", "9999-12-25", "0001-01-02"])
def test_a_preview_ends_with_the_calendar(expression: str, zone: str, date: str) -> None:
    found = CliRunner().invoke(
        app, ["timetable", "preview", expression, "--tz", zone, "--from", date, "-n", "60"]
    )

    assert found.exception is None, found.exception
    assert found.stdout
    assert ("There is no run within" in found.stderr) is (date == "9999-12-25")


@pytest.mark.parametrize(
    "timetable", [*TIMETABLES, *COUNTED], ids=lambda timetable: timetable.summary
)
def test_no_run_comes_after_the_end(timetable: Timetable) -> None:
    """Clocks of any zone can show when a run comes, and a day before and after."""
    for zone in ("Pacific/Kiritimati", "America/Los_Angeles"):
        placed = timetable.in_zone(zone)
        for start in (END - 40 * DAY, END - DAY, END, END + 363 * DAY):
            for catchup in (True, False):
                bounds = TimeRestriction(start, None, catchup=catchup)
                info = placed.next_dagrun_info(None, bounds, start + DAY)
                for _ in range(50):
                    if info is None:
                        break
                    assert start <= info.data_interval.start <= info.run_after <= END
                    info = placed.next_dagrun_info(info.data_interval, bounds, start)
                else:
                    assert start < END


def test_the_last_run_of_all_comes_at_the_end() -> None:
    daily, bounds = DataTimetable("@daily"), TimeRestriction(END - DAY, None, catchup=True)

    last = daily.next_dagrun_info(None, bounds, END)

    assert last is not None
    assert last.run_after == END
    assert daily.next_dagrun_info(last.data_interval, bounds, END + DAY) is None


@pytest.mark.regression
@pytest.mark.parametrize(
    "timetable",
    [
        THREE,
        RollingWindow(THREE, "P40D"),
        RollingWindow(THREE, "P400D"),
        RollingWindow(CronTimetable("0 0 * * *") & THREE, "P16D"),
        Delayed(RollingWindow(THREE, "P40D"), "P1D"),
        TradingDays("XNYS"),
        DataTimetable("@daily") & TradingDays("XNYS"),
    ],
    ids=lambda timetable: timetable.summary,
)
def test_no_run_is_about_the_time_before_the_start_date(timetable: Timetable) -> None:
    """Where none is later, the latest one that is over may lie before the start date."""
    for start in (at(2026, 1, 3), at(2026, 1, 12), at(2300)):
        for now in (start, start + 3 * DAY, start + 30 * DAY, start + 500 * DAY):
            bounds = TimeRestriction(start, None, catchup=False)
            info = timetable.next_dagrun_info(None, bounds, now)
            assert info is None or info.data_interval.start >= start


@pytest.mark.regression
def test_the_first_window_begins_with_the_start_date() -> None:
    window = RollingWindow(THREE, "P15D")
    for now in (at(2026, 1, 6), at(2026, 1, 15), at(2026, 2, 1)):
        info = window.next_dagrun_info(None, TimeRestriction(at(2026, 1, 5), None, False), now)
        assert info is not None
        assert (info.data_interval.start, info.run_after) == (at(2026, 1, 5), at(2026, 1, 20))


@pytest.mark.regression
@pytest.mark.parametrize(
    "make",
    [
        *(lambda kind=kind: kind(HUGE) for kind in (Hours, Minutes, Days, Weekdays, Months)),
        lambda: Hours(-HUGE),
        lambda: LastWorkdayOnOrBefore(HUGE),
        lambda: Sunset(HUGE, 1),
        lambda: Sunrise(1, -HUGE),
        lambda: TimeDeltaTimetable(HUGE),  # type: ignore[arg-type]
        lambda: RollingWindow(Workdays(), HUGE),  # type: ignore[arg-type]
        lambda: CronTimetable(HUGE),  # type: ignore[arg-type]
        lambda: timetable_for(HUGE, "UTC"),
        lambda: EventsTimetable([HUGE]),  # type: ignore[list-item]
    ],
)
def test_a_number_of_thousands_of_digits_is_refused_with_a_message(
    make: Callable[[], Recurring],
) -> None:
    """Python refuses to write such a number, which a message must not try."""
    with pytest.raises(TimetableError) as told:
        make()
    assert len(str(told.value)) < 500


@pytest.mark.regression
def test_too_many_values_are_not_told_to_be_none() -> None:
    assert Hours(*[3] * 500).summary.startswith("Hours(3, 3")
    with pytest.raises(TimetableError, match="The values of Hours have 1,002 characters together"):
        Hours(*[3] * 500, 13)
