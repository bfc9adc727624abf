"""Deadlines: what a DAG file gives as `deadline=` of a DAG and as `sla=` of a task."""

from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from headway.domain.dag.deadline import DeadlineMoment as Moment
from headway.domain.dag.deadline import DeadlineSpec
from headway.domain.errors import DagError
from headway.sdk.values import checks

LONGEST: Final = timedelta(days=3653)
"""Ten years: what a deadline may be after its reference."""

LAST: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""When the last deadline is, so that it is a date in each time zone."""

_WANTED: Final = "a timedelta (after the run is due), a DeadlineAlert, or a list of these"


class FixedDate:
    """A date that a deadline is counted from; what `DeadlineReference.FIXED_DATETIME` returns."""

    __slots__ = ("at",)

    def __init__(self, at: datetime) -> None:
        self.at = checks.instant(at, "DeadlineReference.FIXED_DATETIME")


Reference: TypeAlias = Moment | FixedDate


class _Refused:
    """A reference of Airflow's that there is not here, and what to take instead."""

    __slots__ = ("advice",)

    def __init__(self, advice: str) -> None:
        self.advice = advice


class DeadlineReference:
    """What a deadline is counted from: a moment of the run, also for a task's, or a date."""

    DUE: Final = Moment.DUE
    QUEUED: Final = Moment.QUEUED
    START: Final = Moment.START
    DAGRUN_QUEUED_AT: Final = QUEUED
    DAGRUN_LOGICAL_DATE: Final = _Refused(
        "DeadlineReference.DAGRUN_LOGICAL_DATE may be the start of the run's interval, at which "
        "nothing is due; use DeadlineReference.DUE, the moment at which the run falls due."
    )

    @staticmethod
    def FIXED_DATETIME(at: datetime) -> FixedDate:  # noqa: N802 - Airflow's name
        """Count from a date, which has a time zone; runs created after the deadline have none."""
        return FixedDate(at)

    @staticmethod
    def AVERAGE_RUNTIME(*_: object, **__: object) -> FixedDate:  # noqa: N802 - Airflow's name
        """Refuse to count from what earlier runs took."""
        raise DagError(
            "DeadlineReference.AVERAGE_RUNTIME is not supported: a deadline that follows the "
            "average gets later with each late run, and so hides what becomes slower. Use "
            "DeadlineReference.START with the longest time that a run may take."
        )


_REFUSED: Final = {
    "callback": (
        "it calls nothing, so it takes no callback; pass notify=Notifier(…) to the DAG, which "
        "tells of missed deadlines."
    ),
}


class DeadlineAlert:
    """A deadline: an interval after a reference.  Runs of backfills have it if they are to."""

    __slots__ = ("spec",)

    def __init__(
        self,
        reference: Reference = DeadlineReference.DUE,
        interval: timedelta | float = 0.0,
        *,
        backfills: bool = False,
        **others: object,
    ) -> None:
        where = "DeadlineAlert"
        checks.known(others, ("backfills", "interval", "reference"), where, _REFUSED)
        if isinstance(reference, _Refused):
            raise DagError(f"{where}: {reference.advice}")
        if not isinstance(reference, Moment | FixedDate) or reference is Moment.FIXED:
            checks.refuse(
                f"{where}: reference",
                "DeadlineReference.DUE, QUEUED, START or FIXED_DATETIME(date)",
                reference,
            )
        at = reference.at if isinstance(reference, FixedDate) else None
        seconds = _seconds(checks.duration(interval, f"{where}: interval"), f"{where}: interval")
        if at is not None and at > LAST - timedelta(seconds=seconds):
            raise DagError(f"{where} is after the year 9999; take an earlier date.")
        if at is None and not seconds:
            checks.refuse(f"{where}: interval", "longer than 0 seconds", interval)
        self.spec = DeadlineSpec(
            reference=Moment.FIXED if isinstance(reference, FixedDate) else reference,
            seconds=seconds,
            at=at,
            backfills=checks.flag(backfills, f"{where}: backfills"),
        )


def deadlines(value: object, where: str) -> tuple[DeadlineSpec, ...]:
    """Accept one deadline, several, or None; return them, no two of the same name."""
    if value is None:
        return ()
    items = value if isinstance(value, list | tuple) else [value]
    found = [_spec(item, where) for item in items]
    names = [deadline.name for deadline in found]
    for name in names:
        if names.count(name) > 1:
            raise DagError(f"{where} has two deadlines of {name}; leave one out.")
    return tuple(found)


def _spec(item: object, where: str) -> DeadlineSpec:
    if isinstance(item, DeadlineAlert):
        return item.spec
    if isinstance(item, bool) or not isinstance(item, timedelta | int | float):
        checks.refuse(where, _WANTED, item)
    return DeadlineSpec(seconds=_seconds(checks.time_limit(item, where), where))


def _seconds(interval: timedelta, where: str) -> float:
    if interval > LONGEST:
        raise DagError(
            f"{where} must be at most {LONGEST.days:,} days (ten years), not {interval}; take a "
            "shorter one, or leave the deadline out."
        )
    return interval.total_seconds()
