"""How fast the next run is found: what a scheduler does for each run that it creates."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from time import process_time
from typing import Final

from benchmarks.support.report import Row
from benchmarks.support.turns import turns
from headway.timetables.base import Timetable
from headway.timetables.kinds.boolean import Hours, Minutes
from headway.timetables.kinds.cron import CronTimetable, DataTimetable, MultipleCronTimetable
from headway.timetables.kinds.days import TradingDays, Workdays
from headway.timetables.kinds.wrapped import RollingWindow
from headway.timetables.sequence import runs_between

NAME: Final = "timetables"
ZONE: Final = "America/New_York"
TARGET: Final = 10_000
"""Intervals a second, on one core."""

REPEAT: Final = 5
INTERVALS: Final = 10_000
FIRST, LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
"""In so many years there are enough leap days to measure."""

DAY: Final = timedelta(days=1)

CRON: Final[dict[str, Timetable]] = {
    "@daily": DataTimetable("0 0 * * *", timezone=ZONE),
    "@hourly": DataTimetable("0 * * * *", timezone=ZONE),
    "*/5 * * * *": DataTimetable("*/5 * * * *", timezone=ZONE),
    "0 0 * * MON-FRI over a day": DataTimetable("0 0 * * MON-FRI", DAY, ZONE),
    "0 0 29 2 *": DataTimetable("0 0 29 2 *", timezone=ZONE),
    "0 0 29 2 * over a day": DataTimetable("0 0 29 2 *", "P1D", ZONE),
    "30 2 * * *, exact": CronTimetable("30 2 * * *", ZONE),
    "two crons, exact": MultipleCronTimetable(["0 9 * * *", "0 17 * * FRI"], ZONE),
}
OTHERS: Final[dict[str, Timetable]] = {
    "boolean time": (Hours(3, 9, 18) & Minutes(2, 30, 19) | Hours(17) & Minutes(0)).in_zone(ZONE),
    "rolling window": RollingWindow(DataTimetable("@daily", timezone=ZONE), 7 * DAY, ZONE),
    "0 9 * * * & Workdays(US)": CronTimetable("0 9 * * *", ZONE) & Workdays("US", ZONE),
    "TradingDays(XNYS)": TradingDays("XNYS", ZONE),
}


def run() -> Iterator[Row]:
    """Measure each kind; those of cron strings have a target."""
    for case, timetable in CRON.items():
        yield Row.at_least(NAME, case, _rates(timetable), "intervals/s", TARGET)
    for case, timetable in OTHERS.items():
        yield Row.of(NAME, case, "value", _rates(timetable), "intervals/s", better="higher")


def _rates(timetable: Timetable) -> list[float]:
    _count(timetable)  # what calendars look up once is not counted
    return [_rate(timetable) for _ in turns(REPEAT)]


def _rate(timetable: Timetable) -> float:
    started = process_time()
    return _count(timetable) / (process_time() - started)


def _count(timetable: Timetable) -> int:
    return sum(1 for _ in islice(runs_between(timetable, FIRST, FIRST, LAST), INTERVALS))
