from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import islice

import pytest
from croniter import croniter

from headway.domain.errors import TimetableError
from headway.timetables.wall_clock.cron_pattern import PRESETS, CronPattern, parse


def times(cron: str, after: str, count: int) -> list[str]:
    """Return the next times of the pattern, and check that the way back is the same."""
    pattern, wall = parse(cron), datetime.fromisoformat(after)
    found: list[datetime] = []
    for _ in range(count):
        wall = pattern.after(wall)
        found.append(wall)
    assert backwards(pattern, pattern.after(wall), count) == found
    return [f"{wall:%Y-%m-%d %H:%M}" for wall in found]


def backwards(pattern: CronPattern, wall: datetime, count: int) -> list[datetime]:
    found: list[datetime] = []
    for _ in range(count):
        wall = pattern.before(wall)
        found.insert(0, wall)
    return found


def test_minutes_and_hours() -> None:
    assert times("15,45 9-10 * * *", "2013-01-01T09:15", 4) == [
        "2013-01-01 09:45",
        "2013-01-01 10:15",
        "2013-01-01 10:45",
        "2013-01-02 09:15",
    ]


def test_a_step_counts_from_the_start_of_its_range() -> None:
    assert times("5/20 22-2/2 * * *", "2013-01-01T00:30", 3) == [
        "2013-01-01 00:45",
        "2013-01-01 02:05",
        "2013-01-01 02:25",
    ]
    assert times("0 22-2/2 * * *", "2013-01-01T03:00", 2) == [
        "2013-01-01 22:00",
        "2013-01-02 00:00",
    ]


def test_ranges_of_names_wrap_around() -> None:
    assert times("0 0 * NOV-JAN FRI-MON", "2013-11-28T12:00", 5) == [
        "2013-11-29 00:00",
        "2013-11-30 00:00",
        "2013-12-01 00:00",
        "2013-12-02 00:00",
        "2013-12-06 00:00",
    ]


@pytest.mark.parametrize("weekday", ["0", "7", "SUN", "sun", "7-7", "7/2"])
def test_sunday_has_several_names(weekday: str) -> None:
    assert times(f"0 0 * * {weekday}", "2013-01-01T00:00", 2) == [
        "2013-01-06 00:00",
        "2013-01-13 00:00",
    ]


def test_a_range_of_weekdays_may_end_with_seven() -> None:
    assert parse("0 0 * * 5-7").weekdays == parse("0 0 * * FRI,SAT,SUN").weekdays
    assert parse("0 0 * * 0-7").weekdays == parse("0 0 * * SUN-SAT").weekdays


def test_the_last_day_of_the_month_in_a_leap_year() -> None:
    assert times("0 6 L * *", "2012-01-31T06:00", 3) == [
        "2012-02-29 06:00",
        "2012-03-31 06:00",
        "2012-04-30 06:00",
    ]


def test_the_leap_day_waits_eight_years_across_2100() -> None:
    assert times("0 0 29 2 *", "2096-03-01T00:00", 1) == ["2104-02-29 00:00"]


@pytest.mark.parametrize("days", ["*", "29", "31", "30,31", "1,15", "L", "2-30/3", "13,L"])
@pytest.mark.parametrize("months", ["*", "2,3", "1,12", "*/3"])
@pytest.mark.parametrize("weekdays", ["*", "MON", "5L"])
def test_no_day_is_passed_over(days: str, months: str, weekdays: str) -> None:
    """Days and months that cannot be meant are leapt over; here each day is looked at."""
    pattern = parse(f"0 0 {days} {months} {weekdays}")
    every = (datetime(2023, 1, 1) + n * timedelta(days=1) for n in range(3 * 366))  # noqa: DTZ001
    looked_at = [day for day in every if pattern.includes(day)]
    found = [datetime(2022, 12, 31, 12)]  # noqa: DTZ001
    while len(found) <= len(looked_at):
        found.append(pattern.after(found[-1]))

    assert found[1:] == looked_at
    assert backwards(pattern, pattern.after(found[-1]), len(looked_at)) == looked_at


def test_the_nth_and_the_last_weekday_of_the_month() -> None:
    assert times("0 0 * * TUE#2", "2013-01-01T00:00", 2) == ["2013-01-08 00:00", "2013-02-12 00:00"]
    assert times("0 0 * * L5", "2013-01-01T00:00", 2) == ["2013-01-25 00:00", "2013-02-22 00:00"]
    assert parse("0 0 * * 5L").weekdays == parse("0 0 * * L5").weekdays


def test_a_day_or_a_weekday_suffices_where_both_are_given() -> None:
    assert times("0 0 13 * FRI", "2013-09-10T00:00", 3) == [
        "2013-09-13 00:00",
        "2013-09-20 00:00",
        "2013-09-27 00:00",
    ]
    assert times("0 0 1 * MON", "2013-09-24T00:00", 2) == ["2013-09-30 00:00", "2013-10-01 00:00"]


def test_a_question_mark_is_a_star_in_day_fields() -> None:
    assert parse("0 0 ? * MON").days is None
    assert parse("0 0 1 * ?").weekdays is None


def test_a_time_with_seconds_lies_between_ticks() -> None:
    pattern = parse("30 9 * * *")
    inside = datetime.fromisoformat("2013-01-01T09:30:20")

    assert pattern.after(inside) == datetime.fromisoformat("2013-01-02T09:30")
    assert pattern.before(inside) == datetime.fromisoformat("2013-01-01T09:30")


@pytest.mark.parametrize(
    ("preset", "following"),
    [
        ("@hourly", "2013-02-14 11:00"),
        ("@daily", "2013-02-15 00:00"),
        ("@midnight", "2013-02-15 00:00"),
        ("@weekly", "2013-02-17 00:00"),
        ("@monthly", "2013-03-01 00:00"),
        ("@quarterly", "2013-04-01 00:00"),
        ("@yearly", "2014-01-01 00:00"),
        ("@annually", "2014-01-01 00:00"),
    ],
)
def test_presets(preset: str, following: str) -> None:
    assert times(preset, "2013-02-14T10:30", 1) == [following]
    assert parse(f" {preset.upper()} ").text == PRESETS[preset]


@pytest.mark.parametrize(
    "cron",
    [
        "*/7 * * * *",
        "0 */5 */3 * *",
        "0 0 1-7 * MON",
        "0 0 */10 2,3 WED",
        "10-50/15 6 * * 1-5",
        "0 0 31 * *",
        "0 12 L * *",
        "0 0 * * FRI#5",
        "0 0 * * L0",
        "3 4 5 JAN-MAR *",
        "0 0 * * SAT-TUE",
    ],
)
def test_croniter_finds_the_same_times(cron: str) -> None:
    start = datetime.fromisoformat("2011-12-30T23:59")
    expected = list(islice(croniter(cron, start).all_next(datetime), 40))

    pattern, wall = parse(cron), start
    for moment in expected:
        wall = pattern.after(wall)
        assert wall == moment


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("60 * * * *", "minute field cannot be '60': it takes 0 to 59, for example '\\*/15'"),
        ("0 24 * * *", "hour field cannot be '24'"),
        ("0 0 0 * *", "day field cannot be '0'"),
        ("0 0 1 13 *", "month field cannot be '13': it takes 1 to 12 or JAN to DEC"),
        ("0 0 * * 8", "weekday field cannot be '8'"),
        ("0 0 * * MOON", "weekday field cannot be 'MOON'.*for example 'MON-FRI'"),
        ("0 0 * * MON#6", "weekday field cannot be 'MON#6'"),
        ("*/0 * * * *", "minute field cannot be '\\*/0'"),
        ("*-5 * * * *", "minute field cannot be '\\*-5'"),
        ("-1 * * * *", "minute field cannot be '-1'"),
        ("1,,2 * * * *", "minute field cannot be ''"),
        ("\N{ARABIC-INDIC DIGIT FIVE} * * * *", "minute field cannot be"),
        ("R * * * *", "minute field cannot be 'R'"),
        ("0 0 15W * *", "day field cannot be '15W'"),
        ("? 0 * * *", "minute field cannot be '\\?'"),
    ],
)
def test_an_error_names_the_field_and_what_it_takes(cron: str, message: str) -> None:
    with pytest.raises(TimetableError, match=message):
        parse(cron)


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("", "has 0 fields and needs five"),
        ("every day", "has 2 fields and needs five.*'30 6 \\* \\* MON-FRI'"),
        ("0 0 0 * * *", "six fields, and seconds are not supported"),
        ("0 0 1 1 * 0 2030", "has 7 fields"),
        ("@reboot", "the presets are @hourly"),
    ],
)
def test_an_error_says_how_many_fields_there_must_be(cron: str, message: str) -> None:
    with pytest.raises(TimetableError, match=message):
        parse(cron)


@pytest.mark.parametrize("cron", ["0 0 30 2 *", "0 0 31 APR,JUN,SEP,NOV *", "0 0 30,31 2 ?"])
def test_a_cron_string_that_never_fires_is_refused(cron: str) -> None:
    with pytest.raises(TimetableError, match="never fires"):
        parse(cron)


def test_a_weekday_saves_an_impossible_day() -> None:
    assert times("0 0 30 2 MON", "2013-02-01T00:00", 1) == ["2013-02-04 00:00"]


@pytest.mark.parametrize("cron", [None, 5, ["0 0 * * *"]])
def test_a_cron_string_is_text(cron: object) -> None:
    with pytest.raises(TimetableError, match="is text"):
        parse(cron)


@pytest.mark.regression
@pytest.mark.parametrize("star", ["*", "?", "*/1", "*,5", "5,*/1"])
def test_a_day_or_weekday_that_is_any_does_not_count(star: str) -> None:
    """Where both are given a date need match only one, so `*` must not be such a one."""
    if star != "?":
        assert parse(f"0 0 {star} * MON").days is None
        assert parse(f"0 0 1 * {star}").weekdays is None
        assert parse(f"0 {star} * * *").every_hour
    mondays = replace(parse("0 0 * * MON"), text="")
    assert replace(parse(f"0 0 {star} * MON"), text="") == mondays
    assert replace(parse(f"0 0 1 * {star}"), text="") == replace(parse("0 0 1 * *"), text="")


def test_a_step_of_two_restricts_a_field() -> None:
    every_other = parse("0 0 */2 * MON")
    assert every_other.includes(date(2026, 1, 5))  # a Monday
    assert every_other.includes(date(2026, 1, 7))
    assert not every_other.includes(date(2026, 1, 6))


@pytest.mark.regression
@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("0 0 32 * *", "'L' \\(the last day of the month\\).*LastWorkdayOnOrBefore"),
        ("0 0 15W * *", "nearest to a day \\(W\\) there is the timetable LastWorkdayOnOrBefore"),
        ("0 0 L-3 * *", "'L' \\(the last day of the month\\)"),
        ("0 0 * * 8", "'MON#2' \\(the second Monday of the month\\) or 'L5' \\(its last Friday"),
        ("0 0 * * MON#6", "'MON#2' \\(the second Monday"),
        ("0 0 * * FRIL", "'L5' \\(its last Friday"),
    ],
)
def test_messages_name_what_else_days_and_weekdays_may_be(cron: str, message: str) -> None:
    with pytest.raises(TimetableError, match=message):
        parse(cron)


@pytest.mark.regression
@pytest.mark.parametrize("field", range(5))
@pytest.mark.parametrize("term", ["{}", "*/{}", "1-{}", "{}-5", "1/{}"])
def test_a_number_of_thousands_of_digits_is_told_in_a_short_message(field: int, term: str) -> None:
    """Python itself refuses to read more than 4,300 digits."""
    fields = ["*"] * 5
    fields[field] = term.format("9" * 4301)
    with pytest.raises(TimetableError, match="field cannot be '") as told:
        parse(" ".join(fields))
    assert len(str(told.value)) < 500
