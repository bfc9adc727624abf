"""Timetables by the sun: at sunrise and at sunset."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import degrees, isfinite
from typing import ClassVar, Final, Self

from headway.domain.arguments import JsonValue
from headway.domain.errors import TimetableError, brief
from headway.timetables.base import Arguments
from headway.timetables.kinds.calendars import package
from headway.timetables.kinds.recurring import Exact
from headway.timetables.wall_clock.durations import Duration, Period, read_length, to_data
from headway.timetables.wall_clock.effort import spend

_DAY: Final = timedelta(days=1)
_ZENITH: Final = 90.8333
"""Degrees from straight above of the sun's middle when its upper edge is seen at the horizon."""

_POLE: Final = 89.8
"""The latitude beyond which no hour of the day can be told by the sun."""

_ROUNDS: Final = 3
_A_DAY: Final = 30
"""The work to find the moment of one day."""

_LONGEST_NIGHT: Final = 200
"""Days after which there is a sunrise and a sunset again, wherever there are any."""

_LONGEST_OFFSET: Final = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class _Sun(Exact):
    """Runs once a day at a place given in degrees, `offset` after that moment or before it.

    East and north are positive.  Where the sun does not rise or set for weeks there is no run.
    """

    lat: float
    lon: float
    offset: Duration = timedelta(0)

    def __post_init__(self) -> None:
        for what, value, most in (("lat", self.lat, 90), ("lon", self.lon, 180)):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or abs(value) > most or not isfinite(value):
                raise TimetableError(
                    f"{what} must be a number of degrees from -{most} to {most}, not "
                    f"{brief(value)}."
                )
        offset = read_length("The offset", self.offset, signed=True)
        if isinstance(offset, Period) or abs(offset) > _LONGEST_OFFSET:
            raise TimetableError(
                f"The offset must be elapsed time of at most 12 hours, not {offset}."
            )
        object.__setattr__(self, "offset", offset)

    @property
    @abstractmethod
    def _rising(self) -> bool:
        """Whether it is about sunrise."""

    @property
    def summary(self) -> str:
        """What, where and how long after."""
        after = f" {self.offset} later" if self.offset else ""
        return f"{self.name} at {self.lat:g}, {self.lon:g}{after}"

    def check(self) -> None:
        """Raise TimetableError unless the package that knows the sun is installed here."""
        package("astral.sun", "solar", type(self).__name__)

    def tick_after(self, instant: datetime) -> datetime | None:
        """Return the first such moment later than `instant`."""
        day = instant.astimezone(UTC).date() - 3 * _DAY
        for _ in range(_LONGEST_NIGHT):
            tick = self._of(day)
            if tick is not None and tick > instant:
                return tick
            day += _DAY
        return None

    def tick_before(self, instant: datetime) -> datetime | None:
        """Return the last such moment earlier than `instant`."""
        day = instant.astimezone(UTC).date() + 3 * _DAY
        for _ in range(_LONGEST_NIGHT):
            tick = self._of(day)
            if tick is not None and tick < instant:
                return tick
            day -= _DAY
        return None

    def arguments(self) -> Mapping[str, JsonValue]:
        """Return the place and the offset in seconds."""
        return {"lat": self.lat, "lon": self.lon, "offset": to_data(self.offset)}

    @classmethod
    def from_arguments(cls, arguments: Arguments) -> Self:
        """Make the timetable of its stored arguments."""
        lat, lon = arguments.take_number("lat"), arguments.take_number("lon")
        return cls(lat, lon, arguments.take_length("offset", signed=True))

    def _of(self, day: date) -> datetime | None:
        """Return the moment of a day as it is counted by the sun at the place."""
        from astral import SunDirection, julian, sun

        spend(_A_DAY)
        # As astral's own `sunrise`, which has two or none on a day of UTC that it reaches past:
        # here the day is the sun's, around its noon at the place.
        direction = SunDirection.RISING if self._rising else SunDirection.SETTING
        latitude = max(-_POLE, min(_POLE, self.lat))
        start, part = julian.julianday(day), 0.5 - self.lon / 360
        try:
            for _ in range(_ROUNDS):
                century = julian.julianday_to_juliancentury(start + part)
                declination = sun.sun_declination(century)
                angle = degrees(sun.hour_angle(latitude, declination, _ZENITH, direction))
                minutes = 720 - 4 * (self.lon + angle) - sun.eq_of_time(century)
                part = minutes / 1440
        except ValueError:  # the sun stays above or below the horizon
            return None
        assert isinstance(self.offset, timedelta)
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        return midnight + timedelta(seconds=round(minutes * 60)) + self.offset


@dataclass(frozen=True, slots=True)
class Sunrise(_Sun):
    """Runs at sunrise: `Sunrise(40.7, -74.0, offset="-PT30M")` half an hour before (extra `solar`).

    The place is given in degrees, east and north positive.
    """

    name: ClassVar[str] = "sunrise"

    @property
    def _rising(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Sunset(_Sun):
    """Runs at sunset: `Sunset(40.7, -74.0, offset="PT30M")` half an hour later (extra `solar`).

    The place is given in degrees, east and north positive.
    """

    name: ClassVar[str] = "sunset"

    @property
    def _rising(self) -> bool:
        return False
