"""Sunrise and sunset: almanac times to the minute or two, and none lost anywhere on earth."""

from datetime import datetime, timedelta
from itertools import islice, pairwise

import pytest

from headway.timetables.kinds.solar import Sunrise, Sunset
from headway.timetables.sequence import runs_between

at = datetime.fromisoformat
DAY = timedelta(days=1)
FAR = at("2100-01-01T00:00Z")


def ticks(timetable: Sunrise | Sunset, first: str, number: int) -> list[datetime]:
    infos = runs_between(timetable, at(first), at(first), FAR)
    return [info.run_after for info in islice(infos, number)]


@pytest.mark.parametrize(
    ("timetable", "day", "expected"),
    [
        # New York, the longest day of 2026: 05:25 and 20:31 EDT.
        (Sunrise(40.71, -74.01), "2026-06-21T05:00Z", "2026-06-21T09:25Z"),
        (Sunset(40.71, -74.01), "2026-06-21T12:00Z", "2026-06-22T00:31Z"),
        # London, the shortest: 08:04 and 15:53 GMT.
        (Sunrise(51.51, -0.13), "2026-12-21T00:00Z", "2026-12-21T08:04Z"),
        (Sunset(51.51, -0.13), "2026-12-21T00:00Z", "2026-12-21T15:53Z"),
        # Sydney, on the same day its longest: 05:41 and 20:06 AEDT.
        (Sunrise(-33.87, 151.21), "2026-12-21T12:00Z", "2026-12-21T18:41Z"),
        (Sunset(-33.87, 151.21), "2026-12-21T00:00Z", "2026-12-21T09:06Z"),
    ],
)
def test_almanac(timetable: Sunrise | Sunset, day: str, expected: str) -> None:
    [tick] = ticks(timetable, day, 1)

    assert abs(tick - at(expected)) <= timedelta(minutes=2)


def test_an_offset_moves_it() -> None:
    plain, later, earlier = (
        ticks(Sunset(40.71, -74.01, offset), "2026-06-21T12:00Z", 1)[0]
        for offset in (timedelta(0), timedelta(minutes=30), "-PT1H")
    )

    assert (later - plain, earlier - plain) == (timedelta(minutes=30), timedelta(hours=-1))


@pytest.mark.parametrize("kind", [Sunrise, Sunset])
@pytest.mark.parametrize("lon", [-180, -120, -74, 0, 90, 135, 180])
@pytest.mark.parametrize("lat", [-60, 0, 40.7, 64])
def test_there_is_one_a_day_where_days_of_utc_have_none_or_two(
    kind: type[Sunrise] | type[Sunset], lat: float, lon: float
) -> None:
    timetable = kind(lat, lon)
    found = ticks(timetable, "2026-01-01T00:00Z", 380)

    assert all(abs(other - one - DAY) < timedelta(minutes=15) for one, other in pairwise(found))
    assert [timetable.tick_before(tick) for tick in found[1:]] == found[:-1]


def test_no_sun_no_run() -> None:
    """In Tromsø it does not rise from about 27 November to about 15 January."""
    found = ticks(Sunrise(69.65, 18.96), "2026-11-20T00:00Z", 12)
    [(dark, light)] = [(one, other) for one, other in pairwise(found) if other - one > 2 * DAY]

    assert abs(dark - at("2026-11-27T10:00Z")) < 3 * DAY
    assert abs(light - at("2027-01-15T10:00Z")) < 3 * DAY
