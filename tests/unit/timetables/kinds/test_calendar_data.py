"""A calendar has no days where it has no data, and says so."""

from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from headway.cli.main import app
from headway.domain.errors import TimetableError
from headway.timetables.base import TimeRestriction, Timetable
from headway.timetables.kinds.cron import CronTimetable
from headway.timetables.kinds.days import Holidays, TradingDays, Workdays
from headway.timetables.kinds.paydays import LastWorkdayOnOrBefore
from headway.timetables.kinds.recurring import Recurring

NINE = CronTimetable("0 9 * * *")
CHRISTMAS = CronTimetable("0 9 25 12 *")
DAY = timedelta(days=1)


def at(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def start_of_next(timetable: Timetable, moment: datetime) -> datetime | None:
    bounds = TimeRestriction(moment, None, catchup=True)
    info = timetable.next_dagrun_info(None, bounds, moment)
    return None if info is None else info.data_interval.start


@pytest.mark.regression
@pytest.mark.parametrize("year", [2, 1600, 1677, 1969, 2201, 2262, 2300, 9998])
def test_trading_days_far_away_raise_nothing_and_leave_their_union_alone(year: int) -> None:
    days = TradingDays("XNYS")
    first = datetime(1970, 1, 2, tzinfo=UTC)

    assert start_of_next(days, at(year)) == (first if year < 1970 else None)
    assert start_of_next(days | Workdays(), at(year)) == start_of_next(Workdays(), at(year))
    assert days.last_starting(at(year)) == (None if year < 1970 else days.last_starting(at(2201)))


@pytest.mark.regression
@pytest.mark.parametrize(
    ("calendar", "last"),
    [
        (Workdays("US"), at(2100, 12, 30)),
        (Holidays("US"), at(2100, 12, 31)),
        (TradingDays("XNYS"), at(2200, 12, 31)),
        (Workdays("US") | Holidays("US"), at(2100, 12, 31)),
        (LastWorkdayOnOrBefore(15, "US"), at(2100, 12, 15)),
    ],
    ids=lambda it: it.summary if isinstance(it, Timetable) else None,
)
def test_a_calendar_has_no_days_beyond_its_data(calendar: Recurring, last: datetime) -> None:
    """Beyond that every weekday would be a working day, and Christmas too."""
    found = calendar.last_starting(at(9000))
    assert found is not None
    assert found.start == last
    assert start_of_next(calendar, last) == last
    assert start_of_next(calendar, last + DAY) is None

    latest = TimeRestriction(at(1990), None, catchup=False)
    for timetable in (NINE & calendar, NINE - calendar, NINE - (NINE & calendar)):
        assert start_of_next(timetable, at(2201)) is None
        over = timetable.next_dagrun_info(None, latest, last + 300 * DAY)
        assert over is not None
        assert over.run_after < at(last.year + 1)


@pytest.mark.regression
@pytest.mark.parametrize(
    ("calendar", "first"),
    [
        (TradingDays("XTKS"), at(1997, 1, 6)),
        (Workdays("SA"), at(1901, 1, 1)),
        (LastWorkdayOnOrBefore(31, "SA"), at(1901, 1, 30)),
    ],
    ids=lambda it: it.summary if isinstance(it, Timetable) else None,
)
def test_a_start_date_before_the_data_begins_with_its_first_day(
    calendar: Recurring, first: datetime
) -> None:
    assert start_of_next(calendar, at(1700)) == first
    assert calendar.last_starting(first) is None
    assert start_of_next(NINE & calendar, at(1700)) == first + timedelta(hours=9)
    selected = start_of_next(NINE - calendar, at(1700))
    assert selected is not None
    assert selected.year == first.year


@pytest.mark.parametrize(
    ("timetable", "runs"),
    [
        (NINE & (Holidays("US") | Workdays()), True),  # one of both is known, and has it
        (NINE & (Holidays("US") & Workdays()), False),
        (NINE - (Holidays("US") & CHRISTMAS), True),  # no time of the second: not of both
        (NINE - (Workdays() - Holidays("US")), False),
        (NINE - (CHRISTMAS - Holidays("US")), True),
    ],
    ids=lambda it: it.summary if isinstance(it, Timetable) else None,
)
def test_what_is_not_known_decides_only_where_it_matters(timetable: Timetable, runs: bool) -> None:
    assert (start_of_next(timetable, at(2150, 6, 1)) == datetime(2150, 6, 1, 9, tzinfo=UTC)) is runs


def test_exceptions_of_a_calendar_do_not_go_on_in_its_data() -> None:
    assert start_of_next(CHRISTMAS & TradingDays("XNYS"), at(2026)) is None
    assert start_of_next(CHRISTMAS - Holidays("US"), at(2026)) is None


@pytest.mark.regression
@pytest.mark.parametrize(
    "expression",
    ["TradingDays('XBOM')", "NINE & Workdays('US') | NINE - TradingDays('XBOM')", "@daily"],
)
def test_a_preview_says_where_the_calendar_ends(expression: str) -> None:
    text = expression.replace("NINE", "CronTimetable('0 9 * * *')")
    found = CliRunner().invoke(app, ["timetable", "preview", text, "--from", "9000-01-01", "-n9"])

    assert found.exit_code == 0
    assert ("'XBOM' has data from 1997-01-01 to 20" in found.stderr) is ("XBOM" in text)
    assert found.stderr.count("'US' has data from 1777-01-01 to 21") == text.count("US")


@pytest.mark.parametrize("code", ["", "X" * 100, None, 7])
def test_a_calendar_has_the_form_of_a_code(code: object) -> None:
    for make in (TradingDays, Holidays):
        with pytest.raises(TimetableError, match="A calendar is a code such as"):
            make(code)  # type: ignore[arg-type]
