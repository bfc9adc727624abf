"""Days of the week, as DAG files name them."""

from collections.abc import Iterable
from enum import IntEnum


class WeekDay(IntEnum):
    """A day of the week; Monday is 1."""

    MONDAY = 1
    TUESDAY = 2
    WEDNESDAY = 3
    THURSDAY = 4
    FRIDAY = 5
    SATURDAY = 6
    SUNDAY = 7

    @classmethod
    def get_weekday_number(cls, week_day_str: str) -> int:
        """Return the number of the day of that name."""
        return cls[week_day_str.upper()]

    @classmethod
    def validate_week_day(cls, week_day: "str | WeekDay | Iterable[str | WeekDay]") -> set[int]:
        """Return the numbers of one day, or of several."""
        days = [week_day] if isinstance(week_day, str | WeekDay) else week_day
        return {int(day if isinstance(day, WeekDay) else cls[day.upper()]) for day in days}
