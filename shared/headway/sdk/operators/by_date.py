"""Branches that go by the date: BranchDateTimeOperator and BranchDayOfWeekOperator."""

from collections.abc import Iterable
from datetime import datetime, time, timedelta
from enum import IntEnum
from typing import Any
from zoneinfo import ZoneInfo

from headway.domain.errors import DagError
from headway.sdk.operators.branch import BaseBranchOperator
from headway.sdk.running.context import Context
from headway.sdk.values import checks

Target = datetime | time | None


class WeekDay(IntEnum):
    """A day of the week, by its number in ISO 8601."""

    MONDAY = 1
    TUESDAY = 2
    WEDNESDAY = 3
    THURSDAY = 4
    FRIDAY = 5
    SATURDAY = 6
    SUNDAY = 7

    @classmethod
    def get_weekday_number(cls, week_day_str: str) -> "WeekDay":
        """Return the day of that name."""
        return cls[week_day_str.upper()]

    @classmethod
    def validate_week_day(cls, week_day: "str | WeekDay | Iterable[str | WeekDay]") -> set[int]:
        """Return the numbers of one day, or of several."""
        days = [week_day] if isinstance(week_day, str | WeekDay) else week_day
        return {int(day if isinstance(day, WeekDay) else cls[day.upper()]) for day in days}


class DateBranch(BaseBranchOperator):
    """A branch into one of two lists of tasks, by the time or by the run's logical date."""

    def __init__(
        self,
        *,
        task_id: str,
        follow_task_ids_if_true: str | Iterable[str],
        follow_task_ids_if_false: str | Iterable[str],
        use_task_logical_date: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(task_id=task_id, **options)
        self.follow_task_ids_if_true = self._ids(follow_task_ids_if_true, "if_true")
        self.follow_task_ids_if_false = self._ids(follow_task_ids_if_false, "if_false")
        where = f"{self.where}: use_task_logical_date"
        self.use_task_logical_date = checks.flag(use_task_logical_date, where)

    def choose_branch(self, context: Context) -> Iterable[str]:
        """Choose by the date."""
        from headway.runtime.daemon.clock import SystemClock

        by_run = self.use_task_logical_date
        moment = context["logical_date"] if by_run else SystemClock().now()
        return self.follow_task_ids_if_true if self.holds(moment) else self.follow_task_ids_if_false

    def holds(self, moment: datetime) -> bool:
        """Whether the first list is to be followed."""
        raise NotImplementedError

    def _ids(self, value: str | Iterable[str], name: str) -> list[str]:
        where = f"{self.where}: follow_task_ids_{name}"
        return [value] if isinstance(value, str) else list(checks.texts(value, where))

    def _timezone(self) -> ZoneInfo:
        return ZoneInfo(self.dag.spec.timezone if self.dag else "UTC")


class BranchDateTimeOperator(DateBranch):
    """Branch by whether it is between `target_lower` and `target_upper`, both included.

    A time stands for that time on the day, in the DAG's time zone; if the upper one is below the
    lower one, for that on the next day.
    """

    operator_name = "branch_datetime"

    def __init__(
        self, *, task_id: str, target_lower: Target, target_upper: Target, **options: Any
    ) -> None:
        super().__init__(task_id=task_id, **options)
        self.target_lower = self._target(target_lower, "target_lower")
        self.target_upper = self._target(target_upper, "target_upper")
        if target_lower is None and target_upper is None:
            raise DagError(f"{self.where}: give target_lower, target_upper, or both.")

    def holds(self, moment: datetime) -> bool:
        """Whether the moment is between the two."""
        lower, upper = self._on(moment, self.target_lower), self._on(moment, self.target_upper)
        one_is_a_time = isinstance(self.target_lower, time) or isinstance(self.target_upper, time)
        if lower and upper and upper < lower and one_is_a_time:
            upper += timedelta(days=1)
        return (lower is None or lower <= moment) and (upper is None or moment <= upper)

    def _target(self, value: object, name: str) -> Target:
        if value is not None and not isinstance(value, datetime | time):
            checks.refuse(f"{self.where}: {name}", "a date, a time or None", value)
        return value

    def _on(self, moment: datetime, target: Target) -> datetime | None:
        if target is None:
            return None
        zone = self._timezone()
        if isinstance(target, time):
            target = datetime.combine(moment.astimezone(zone).date(), target)
        return target if target.tzinfo else target.replace(tzinfo=zone)


class BranchDayOfWeekOperator(DateBranch):
    """Branch by whether it is one of the days `week_day`.

    With `use_task_logical_date` it is the day of the logical date in UTC, else that of now in the
    DAG's time zone.
    """

    operator_name = "branch_day_of_week"

    def __init__(
        self,
        *,
        task_id: str,
        week_day: str | WeekDay | Iterable[str | WeekDay],
        **options: Any,
    ) -> None:
        super().__init__(task_id=task_id, **options)
        given = [week_day] if isinstance(week_day, str | WeekDay) else week_day
        if not isinstance(given, Iterable):
            checks.refuse(f"{self.where}: week_day", "a day or a list of days", week_day)
        self.week_day = frozenset(self._day(day) for day in given)

    def holds(self, moment: datetime) -> bool:
        """Whether it is one of the days."""
        at = moment if self.use_task_logical_date else moment.astimezone(self._timezone())
        return at.isoweekday() in self.week_day

    def _day(self, value: object) -> WeekDay:
        try:
            return value if isinstance(value, WeekDay) else WeekDay[str(value).upper()]
        except KeyError:
            checks.refuse(f"{self.where}: week_day", "the name of a day, as Monday", value)
