"""A timetable of dates that somebody has listed."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import ClassVar, Final, Self
from zoneinfo import ZoneInfo

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError, brief
from headway.timetables.base import Arguments
from headway.timetables.kinds.recurring import Exact
from headway.timetables.wall_clock.effort import spend
from headway.timetables.wall_clock.zones import find_zone, first_at

MOST_EVENTS: Final = 10_000
"""Dates of one timetable beyond which it is refused."""

_A_DATE: Final = 10
"""The work to read one."""


@dataclass(frozen=True, slots=True)
class EventsTimetable(Exact):
    """Runs at each of the given dates; each run is about its own instant.

    A date is an aware datetime, a date, which stands for its midnight, or ISO 8601 text; text
    without an offset, or a date, is of the zone, which is the DAG's unless `timezone` names
    another one.
    """

    name: ClassVar[str] = "events"

    dates: Iterable[date | str]
    timezone: str | None = None
    _ticks: tuple[datetime, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.dates, str) or not isinstance(self.dates, Iterable):
            raise TimetableError(f"EventsTimetable takes a list of dates, not {brief(self.dates)}.")
        written = tuple(_write(event) for event in self.dates)
        if not 1 <= len(written) <= MOST_EVENTS:
            raise TimetableError(
                f"EventsTimetable takes 1 to {MOST_EVENTS:,} dates; it was given {len(written):,}."
            )
        spend(_A_DATE * len(written))
        zone = find_zone("UTC" if self.timezone is None else self.timezone)
        ticks = {_read(text, zone) for text in written}
        object.__setattr__(self, "dates", written)
        object.__setattr__(self, "_ticks", tuple(sorted(ticks)))

    @property
    def summary(self) -> str:
        """How many dates, and from when to when."""
        first, last = self._ticks[0], self._ticks[-1]
        return f"{len(self._ticks)} events from {first:%F} to {last:%F}"

    def in_zone(self, timezone: str) -> "EventsTimetable":
        """Return it in that zone, unless it has one of its own."""
        return self if self.timezone else EventsTimetable(self.dates, timezone)

    def tick_after(self, instant: datetime) -> datetime | None:
        """Return the first date later than `instant`, if there is one."""
        place = bisect_right(self._ticks, instant)
        return self._ticks[place] if place < len(self._ticks) else None

    def tick_before(self, instant: datetime) -> datetime | None:
        """Return the last date earlier than `instant`, if there is one."""
        place = bisect_left(self._ticks, instant)
        return self._ticks[place - 1] if place else None

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the dates as text, and the zone."""
        return {"dates": [str(event) for event in self.dates], "timezone": self.timezone}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        dates = arguments.take_texts("dates", MOST_EVENTS)
        return cls(dates, arguments.take_optional_text("timezone"))


def _read(text: str, zone: ZoneInfo) -> datetime:
    """Return the instant that a text stands for, or raise TimetableError."""
    moment = datetime.fromisoformat(text)
    try:
        return first_at(moment, zone) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise TimetableError(
            f"The event {text!r} is beyond the years 1 to 9999 in UTC; give another date."
        ) from None


def _write(event: object) -> str:
    """Return a date as text, or raise TimetableError."""
    if isinstance(event, datetime):
        if event.tzinfo is None:
            raise TimetableError(f"The event {event} has no time zone; give it one.")
        return event.astimezone(UTC).isoformat()
    if isinstance(event, date):
        return event.isoformat()
    if isinstance(event, str):
        try:
            datetime.fromisoformat(event)
        except ValueError:
            pass
        else:
            return event
    raise TimetableError(
        f"The event {brief(event)} is no date; write one like '2026-01-31T06:00' or pass an aware "
        "datetime."
    )
