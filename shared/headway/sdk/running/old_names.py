"""Names of the context that are worked out when asked for; those given up still work, and warn."""

import warnings
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from headway.domain.interval import PriorRun
    from headway.sdk.running.context import Context
    from headway.timetables.base import DagRunInfo

_DAY: Final = timedelta(days=1)


class _Scheduled(Protocol):
    """A DAG, as these names ask it."""

    def run_before(self, moment: datetime) -> "DagRunInfo | None":
        """Return the last run of the schedule that begins before a moment."""

    def run_ending_after(self, moment: datetime) -> "DagRunInfo | None":
        """Return the first run of the schedule that ends after a moment."""


class OldNameWarning(DeprecationWarning):
    """A name was used that another one has replaced."""


warnings.simplefilter("default", OldNameWarning)  # else nobody would see it in a task's log


def _previous(date: Callable[["DagRunInfo"], datetime]) -> Callable[["Context"], datetime | None]:
    """Return what finds a date of the run of the schedule before this one."""

    def find(values: "Context") -> datetime | None:
        dag: _Scheduled | None = values["dag"]
        info = dag and dag.run_before(values["data_interval_start"])
        return _utc(date(info)) if info else None

    return find


def _next(date: Callable[["DagRunInfo"], datetime]) -> Callable[["Context"], datetime | None]:
    """Return what finds a date of the run of the schedule after this one, be this one a rollup."""

    def find(values: "Context") -> datetime | None:
        dag: _Scheduled | None = values["dag"]
        info = dag and dag.run_ending_after(values["data_interval_end"])
        return _utc(date(info)) if info else None

    return find


def _of_success(date: Callable[["PriorRun"], datetime]) -> Callable[["Context"], datetime | None]:
    def find(values: "Context") -> datetime | None:
        prior = values.last_success
        return _utc(date(prior)) if prior else None

    return find


def _day(offset: int, form: str) -> Callable[["Context"], str]:
    return lambda values: (values["data_interval_start"] + offset * _DAY).strftime(form)


def _utc(date: datetime) -> datetime:
    import pendulum

    return pendulum.instance(date).in_timezone("UTC")


LAZY: Final[Mapping[str, Callable[["Context"], Any]]] = {
    "prev_schedule_date": _previous(lambda run: run.run_after),
    "next_schedule_date": _next(lambda run: run.run_after),
    "prev_data_interval_start_success": _of_success(lambda prior: prior.data_interval.start),
    "prev_data_interval_end_success": _of_success(lambda prior: prior.data_interval.end),
    "prev_start_date_success": _of_success(lambda prior: prior.start_date),
    "prev_end_date_success": _of_success(lambda prior: prior.end_date),
    "expanded_ti_count": lambda values: values["ti"].expanded_ti_count if "ti" in values else None,
    "execution_date": lambda values: values["data_interval_start"],
    "next_execution_date": _next(lambda run: run.data_interval.start),
    "prev_execution_date": _previous(lambda run: run.data_interval.start),
    "tomorrow_ds": _day(1, "%Y-%m-%d"),
    "tomorrow_ds_nodash": _day(1, "%Y%m%d"),
    "yesterday_ds": _day(-1, "%Y-%m-%d"),
    "yesterday_ds_nodash": _day(-1, "%Y%m%d"),
}
"""What is worked out, of the rest of the context or by a question, only when it is asked for."""

REPLACED: Final[Mapping[str, str]] = {
    "execution_date": "data_interval_start",
    "next_execution_date": "data_interval_end, or next_schedule_date",
    "prev_execution_date": "prev_schedule_date",
    "tomorrow_ds": "macros.ds_add(ds, 1)",
    "tomorrow_ds_nodash": "macros.ds_format(macros.ds_add(ds, 1), '%Y-%m-%d', '%Y%m%d')",
    "yesterday_ds": "macros.ds_add(ds, -1)",
    "yesterday_ds_nodash": "macros.ds_format(macros.ds_add(ds, -1), '%Y-%m-%d', '%Y%m%d')",
}
"""What to write instead of an old name."""


def warn_of_old(name: str, instead: str, depth: int = 3) -> None:
    """Warn whoever called the caller that a name is an old one."""
    warnings.warn(f"{name} is an old name; use {instead}.", OldNameWarning, stacklevel=depth)


def work_out(name: str, values: "Context") -> Any:
    """Return the value of a lazy name; warn if it is an old one."""
    if name in REPLACED:
        warn_of_old(name, REPLACED[name], depth=4)
    return LAZY[name](values)
