from datetime import timedelta

import pytest

from headway.domain.errors import TimetableError
from headway.timetables.base import Timetable
from headway.timetables.cron import CronTimetable, DataTimetable
from headway.timetables.delta import TimeDeltaTimetable
from headway.timetables.schedule import timetable_for
from headway.timetables.simple import ContinuousTimetable, NullTimetable, OnceTimetable

ZONE = "America/New_York"


@pytest.mark.parametrize(
    ("schedule", "timetable"),
    [
        (None, NullTimetable()),
        ("30 6 * * *", DataTimetable("30 6 * * *", ZONE)),
        ("@daily", DataTimetable("0 0 * * *", ZONE)),
        ("@Weekly ", DataTimetable("0 0 * * 0", ZONE)),
        ("@once", OnceTimetable()),
        ("@continuous", ContinuousTimetable()),
        (timedelta(hours=6), TimeDeltaTimetable(timedelta(hours=6))),
        (CronTimetable("0 9 * * *", "UTC"), CronTimetable("0 9 * * *", "UTC")),
    ],
)
def test_what_a_schedule_means(schedule: object, timetable: Timetable) -> None:
    assert timetable_for(schedule, ZONE) == timetable


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (5, "The schedule 5 is of type int; it may be a cron string.*a timedelta, a timetable"),
        (["0 0 * * *"], "is of type list"),
        (DataTimetable, "is of type ABCMeta"),
        ("@fortnightly", "is no preset; they are @once, @continuous, @hourly"),
        ("tomorrow", "is no cron string"),
        (timedelta(0), "must be longer than zero"),
    ],
)
def test_anything_else_is_refused(schedule: object, message: str) -> None:
    with pytest.raises(TimetableError, match=message):
        timetable_for(schedule, ZONE)


@pytest.mark.parametrize("schedule", [None, "@daily", timedelta(hours=1)])
def test_the_zone_must_exist_whatever_the_schedule(schedule: object) -> None:
    with pytest.raises(TimetableError, match="'Mars' is no time zone"):
        timetable_for(schedule, "Mars")
