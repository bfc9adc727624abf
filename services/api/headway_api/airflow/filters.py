"""Filters as Airflow's clients give them: instants, ranges of time, and parts of names."""

from datetime import UTC, datetime, timedelta
from math import inf, nextafter
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from headway.db.reads.pages.paging import DurationRange, TimeRange, begins_with, contains
from headway.domain.errors import RequestError

_FINEST: Final = timedelta(microseconds=1)
"""What the database tells apart."""

_FIRST: Final = datetime(1, 1, 3, tzinfo=UTC)
_END: Final = datetime(9999, 12, 30, tzinfo=UTC)


def _aware(value: datetime) -> datetime:
    """Return the instant in UTC; so is one without a time zone, as in Airflow."""
    aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    if not _FIRST <= aware < _END:
        raise ValueError("the instant is too far away")
    return aware.astimezone(UTC)


Instant: TypeAlias = Annotated[datetime, AfterValidator(_aware)]


def time_range(
    gte: datetime | None, gt: datetime | None, lte: datetime | None, lt: datetime | None
) -> TimeRange:
    """Return the instants that all of the given limits allow."""
    starts = [each for each in (gte, gt and gt + _FINEST) if each is not None]
    ends = [each for each in (lt, lte and lte + _FINEST) if each is not None]
    return TimeRange(max(starts, default=None), min(ends, default=None))


def like(pattern: str | None, prefix: str | None = None) -> str | None:
    """Return the ILIKE pattern of names that contain one text, or begin with another one.

    `~` is any name, as in Airflow.
    """
    if pattern is not None and prefix is not None:
        raise RequestError("Give a pattern or a prefix of the same name, not both.")
    if prefix is not None:
        return begins_with(prefix)
    if pattern is None or pattern == "~":
        return None
    if "|" in pattern:
        raise RequestError(f"Give one pattern, without `|`: {pattern[:60]!r}.")
    return contains(pattern)


Seconds: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]


class RunTimes(BaseModel):
    """Limits to when a run falls due, what it is about, when it or its task began and ended.

    And to how many seconds it or its task took, if it has ended.
    """

    model_config = ConfigDict(extra="forbid")

    run_after_gte: Instant | None = None
    run_after_gt: Instant | None = None
    run_after_lte: Instant | None = None
    run_after_lt: Instant | None = None
    logical_date_gte: Instant | None = None
    logical_date_gt: Instant | None = None
    logical_date_lte: Instant | None = None
    logical_date_lt: Instant | None = None
    start_date_gte: Instant | None = None
    start_date_gt: Instant | None = None
    start_date_lte: Instant | None = None
    start_date_lt: Instant | None = None
    end_date_gte: Instant | None = None
    end_date_gt: Instant | None = None
    end_date_lte: Instant | None = None
    end_date_lt: Instant | None = None
    duration_gte: Seconds | None = None
    duration_gt: Seconds | None = None
    duration_lte: Seconds | None = None
    duration_lt: Seconds | None = None

    def lasted(self) -> DurationRange:
        """Return the limits to how many seconds it took."""
        above, below = self.duration_gt, self.duration_lt
        least = [self.duration_gte, None if above is None else nextafter(above, inf)]
        most = [self.duration_lte, None if below is None else nextafter(below, -inf)]
        return DurationRange(
            max((each for each in least if each is not None), default=None),
            min((each for each in most if each is not None), default=None),
        )

    def within(self, name: str) -> TimeRange:
        """Return the limits to one of these times, such as `run_after`."""
        limits = (getattr(self, f"{name}_{limit}") for limit in ("gte", "gt", "lte", "lt"))
        return time_range(*limits)
