"""Properties of cron timetables, tried around the changes of clocks in many zones."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.timetables.base import TimeRestriction
from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.sequence import runs_between
from headway.timetables.wall_clock.cron_pattern import parse
from headway.timetables.wall_clock.ticks import ticks_of

at = datetime.fromisoformat
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)

CHANGES = [
    ("UTC", "2013-01-01"),
    ("America/New_York", "2013-03-10"),
    ("America/New_York", "2013-11-03"),
    ("Europe/London", "1995-03-26"),
    ("Europe/London", "2037-10-25"),
    ("Australia/Lord_Howe", "2013-04-07"),
    ("Australia/Lord_Howe", "2013-10-06"),
    ("America/Havana", "2013-03-10"),
    ("America/Havana", "2013-11-03"),
    ("America/St_Johns", "2010-03-14"),
    ("America/St_Johns", "2010-11-07"),
    ("America/Sao_Paulo", "2013-02-17"),
    ("America/Sao_Paulo", "2013-10-20"),
    ("Africa/Casablanca", "2013-07-07"),
    ("Asia/Pyongyang", "2015-08-15"),
    ("Pacific/Apia", "2011-12-30"),
    ("Pacific/Chatham", "2013-09-29"),
]

numbers = st.integers(0, 59)
minutes = st.lists(numbers, min_size=1, max_size=3, unique=True)
hours = st.lists(st.integers(0, 23), min_size=1, max_size=4, unique=True)
days = st.sampled_from(["* * *", "* * *", "* * MON-FRI", "*/2 * *", "L * *", "1-7 * SUN", "29 2 *"])
steps = st.sampled_from(["*", "*/5", "*/15", "*/30"])
around = st.timedeltas(timedelta(days=-2), timedelta(days=2))


def commas(values: list[int]) -> str:
    return ",".join(map(str, sorted(values)))


fixed = st.builds("{} {} {}".format, minutes.map(commas), hours.map(commas), days)
hourly = st.builds("{} * {}".format, minutes.map(commas) | steps, days)
stepped = st.builds("{} {} {}".format, steps, hours.map(commas), days)

within = settings(max_examples=80, deadline=None, derandomize=True, database=None)


def moment(day: str, offset: timedelta) -> datetime:
    return at(f"{day}T00:00Z") + offset


@within
@given(
    case=st.tuples(fixed, st.sampled_from(CHANGES))
    | st.tuples(hourly, st.sampled_from(CHANGES[:5])),
    offset=around,
)
def test_ticks_agree_with_cronsim(case: tuple[str, tuple[str, str]], offset: timedelta) -> None:
    """Both follow Debian's cron where hours are fixed and where every hour is meant.

    Every hour only where clocks change by an hour at 1 or 2 o'clock, and minute by minute
    below: elsewhere cronsim loses half hours, and goes round for ever over midnight.
    """
    cron, (zone, day) = case
    start = moment(day, offset)
    simulated = CronSim(cron, start.astimezone(ZoneInfo(zone)))
    expected = [tick.astimezone(UTC) for tick in islice(simulated, 60)]

    sequence, tick = ticks_of(cron, zone), start
    for moment_expected in expected:
        tick = sequence.after(tick)
        assert tick == moment_expected


@within
@given(cron=fixed | hourly | stepped, change=st.sampled_from(CHANGES), offset=around)
def test_the_way_back_is_the_way_there(
    cron: str, change: tuple[str, str], offset: timedelta
) -> None:
    zone, day = change
    sequence, start = ticks_of(cron, zone), moment(day, offset)
    there = [sequence.after(start)]
    for _ in range(40):
        there.append(sequence.after(there[-1]))

    assert all(one < other for one, other in pairwise(there))
    assert [sequence.before(tick) for tick in there[1:]] == there[:-1]
    assert sequence.before(there[0]) <= start


def minute_by_minute(cron: str, zone: str, start: datetime, end: datetime) -> list[datetime]:
    """Return the ticks of a pattern that fires at both occurrences, by looking at every clock."""
    pattern, local = parse(cron), ZoneInfo(zone)

    def due(wall: datetime) -> bool:
        return pattern.includes(wall) and wall.hour * 60 + wall.minute in pattern.minutes

    found: list[datetime] = []
    instant, seen = start, start.astimezone(local).replace(tzinfo=None)
    while instant < end:
        instant += MINUTE
        seen += MINUTE
        shown = instant.astimezone(local).replace(tzinfo=None)
        skipped = (seen + n * MINUTE for n in range(max(0, (shown - seen) // MINUTE)))
        if due(shown) or (not pattern.every_hour and any(due(wall) for wall in skipped)):
            found.append(instant)
        seen = shown
    return found


@settings(within, max_examples=100)
@given(
    cron=hourly | st.builds("{} {} {}".format, steps, hours.map(commas), st.just("* * *")),
    change=st.sampled_from(CHANGES[1:]),
)
def test_no_minute_is_lost_and_none_fires_twice(cron: str, change: tuple[str, str]) -> None:
    zone, day = change
    start, end = moment(day, -10 * HOUR), moment(day, 12 * HOUR)
    sequence = ticks_of(cron, zone)
    found: list[datetime] = []
    tick = sequence.after(start)
    while tick <= end:
        found.append(tick)
        tick = sequence.after(tick)

    assert found == minute_by_minute(cron, zone, start, end)


@within
@given(cron=fixed | hourly | stepped, change=st.sampled_from(CHANGES), offset=around)
def test_intervals_are_contiguous(cron: str, change: tuple[str, str], offset: timedelta) -> None:
    zone, day = change
    start = moment(day, offset)
    timetable = DataTimetable(cron, timezone=zone)
    infos = list(islice(runs_between(timetable, start, start, start + timedelta(days=4000)), 30))

    assert all(info.data_interval.start < info.run_after for info in infos)
    assert all(one.run_after == other.data_interval.start for one, other in pairwise(infos))


@within
@given(cron=fixed | hourly | stepped, change=st.sampled_from(CHANGES), offset=around)
def test_the_latest_complete_interval_is_the_one_that_catchup_would_have_reached(
    cron: str, change: tuple[str, str], offset: timedelta
) -> None:
    zone, day = change
    timetable, now = DataTimetable(cron, timezone=zone), moment(day, offset)
    latest = timetable.next_dagrun_info(None, TimeRestriction(None, None, catchup=False), now)

    assert latest is not None
    assert latest.run_after <= now
    assert latest.data_interval == timetable.infer_manual_data_interval(now)
    following = timetable.next_dagrun_info(
        latest.data_interval, TimeRestriction(None, None, catchup=True), now
    )
    assert following is not None
    assert following.run_after > now


fields = st.tuples(
    st.one_of(minutes.map(commas), steps),
    st.one_of(hours.map(commas), st.sampled_from(["*", "*/6", "9-17"])),
    days.filter(lambda chosen: not chosen.startswith("29")),
).map(" ".join)


@given(fields, st.integers(0, 20_000_000), st.integers(1, 5))
@settings(deadline=None)
def test_a_run_by_trigger_has_the_date_that_croniter_finds(
    cron: str, start: int, number: int
) -> None:
    """In UTC, whose clocks never change: each run falls due on its own date, and none is lost."""
    first = at("2000-01-01T00:00Z") + start * MINUTE
    timetable = CronTimetable(cron)
    bounds = TimeRestriction(first, None, catchup=True)
    expected = list(islice(croniter(cron, first - MINUTE).all_next(datetime), number))

    found, last = [], None
    for _ in range(number):
        info = timetable.next_dagrun_info(last, bounds, first)
        assert info is not None
        found.append(info)
        last = info.data_interval

    assert [run.run_after for run in found] == expected
    assert all(run.data_interval.start == run.run_after == run.data_interval.end for run in found)
    assert timetable.infer_manual_data_interval(first).start == first
