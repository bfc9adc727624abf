from datetime import timedelta
from typing import Any

import pendulum
import pytest
from dateutil.relativedelta import MO, relativedelta

from headway.domain.errors import TimetableError
from headway.timetables.base import Timetable
from headway.timetables.kinds.boolean import Hours, Minutes
from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.kinds.days import Workdays
from headway.timetables.kinds.delta import PeriodTimetable, TimeDeltaTimetable
from headway.timetables.kinds.simple import ContinuousTimetable, NullTimetable, OnceTimetable
from headway.timetables.kinds.wrapped import Delayed, RollingWindow
from headway.timetables.schedule import timetable_for

ZONE = "America/New_York"


@pytest.mark.parametrize(
    ("schedule", "timetable"),
    [
        (None, NullTimetable()),
        ("30 6 * * *", DataTimetable("30 6 * * *", timezone=ZONE)),
        ("@daily", DataTimetable("0 0 * * *", timezone=ZONE)),
        ("@Weekly ", DataTimetable("0 0 * * 0", timezone=ZONE)),
        ("@once", OnceTimetable()),
        ("@continuous", ContinuousTimetable()),
        (timedelta(hours=6), TimeDeltaTimetable(timedelta(hours=6))),
        (CronTimetable("0 9 * * *", "UTC"), CronTimetable("0 9 * * *", "UTC")),
        (CronTimetable("0 9 * * *"), CronTimetable("0 9 * * *", ZONE)),
        ("PT6H", TimeDeltaTimetable(timedelta(hours=6))),
        ("P1M", PeriodTimetable("P1M", ZONE)),
        (relativedelta(months=1, hours=2), PeriodTimetable("P1MT2H", ZONE)),
        (relativedelta(hours=2), TimeDeltaTimetable(timedelta(hours=2))),
        (pendulum.duration(years=1, weeks=1), PeriodTimetable("P1Y7D", ZONE)),
        (pendulum.duration(days=1), TimeDeltaTimetable(timedelta(days=1))),
        (
            Delayed(RollingWindow(DataTimetable("@daily"), "P7D"), "PT2H"),
            Delayed(RollingWindow(DataTimetable("@daily", None, ZONE), "P7D", ZONE), "PT2H"),
        ),
        (
            Hours(9) & Minutes(0) & Workdays("US", "UTC"),
            (Hours(9) & Minutes(0)).in_zone(ZONE) & Workdays("US", "UTC"),
        ),
    ],
)
def test_what_a_schedule_means(schedule: object, timetable: Timetable) -> None:
    assert timetable_for(schedule, ZONE) == timetable


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (
            5,
            "The schedule 5 is of type int; it may be a cron string.*a timedelta .*, a timetable",
        ),
        (["0 0 * * *"], "is of type list"),
        (DataTimetable, "is of type ABCMeta"),
        ("@fortnightly", "is no preset; they are @once, @continuous, @hourly"),
        ("tomorrow", "is no cron string"),
        (timedelta(0), "must be longer than zero"),
        ("PT0S", "must be longer than zero"),
        ("P1", "write an ISO 8601 duration"),
        (relativedelta(months=-1), "must be longer than zero"),
        (relativedelta(day=1), "must be a length of time"),
        ("P9999999999Y", "is too long"),
    ],
)
def test_anything_else_is_refused(schedule: object, message: str) -> None:
    with pytest.raises(TimetableError, match=message):
        timetable_for(schedule, ZONE)


@pytest.mark.regression
@pytest.mark.parametrize(
    "fixed",
    [
        {"year": 2026},
        {"month": 3},
        {"day": 1},
        {"hour": 0},
        {"minute": 0},
        {"second": 0},
        {"microsecond": 0},
        {"weekday": MO},
        {"leapdays": 1},
    ],
    ids=str,
)
def test_a_relativedelta_that_fixes_a_part_of_a_date_is_no_length(fixed: dict[str, Any]) -> None:
    with pytest.raises(TimetableError, match="must be a length of time, not a date: relativedelta"):
        timetable_for(relativedelta(days=1, **fixed), ZONE)


@pytest.mark.parametrize("schedule", [None, "@daily", timedelta(hours=1)])
def test_the_zone_must_exist_whatever_the_schedule(schedule: object) -> None:
    with pytest.raises(TimetableError, match="'Mars' is no time zone"):
        timetable_for(schedule, "Mars")
