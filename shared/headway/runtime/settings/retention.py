"""The settings of retention: for how long schedulers keep what has ended."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from headway.domain.retention import LEAST, RetainedKind
from headway.runtime.settings.configuration import Seconds, Settings

_DAY: Final = 86_400.0


def _at_least_a_day(days: float) -> float:
    if 0 < days < LEAST / _DAY:
        raise ValueError(
            "write 1 or more, or 0 for ever: the database lets nobody remove what ended less than "
            "a day ago"
        )
    return days


_Days = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_at_least_a_day)]


class RetentionSettings(Settings):
    """What a scheduler removes, as a part of its settings."""

    retention_runs_days: _Days = Field(
        0.0,
        description="Days for which a run is kept after its end, with its task "
        "instances, attempts, XComs and callbacks; 0: forever.",
    )
    retention_events_days: _Days = Field(
        0.0, description="Days for which an event of the journal is kept; 0: forever."
    )
    retention_callbacks_days: _Days = Field(
        0.0, description="Days for which a callback is kept after its end; 0: forever."
    )
    retention_processes_days: _Days = Field(
        7.0,
        description="Days for which the row of a process is kept after its end, if "
        "nothing refers to the row; 0: forever.",
    )
    retention_interval: Seconds = Field(
        3600.0, description="Seconds between two searches for rows that retention must remove."
    )

    @property
    def retention_days(self) -> Mapping[RetainedKind, float]:
        """For how many days each kind is kept; 0 for ever."""
        return {
            RetainedKind.RUNS: self.retention_runs_days,
            RetainedKind.EVENTS: self.retention_events_days,
            RetainedKind.CALLBACKS: self.retention_callbacks_days,
            RetainedKind.PROCESSES: self.retention_processes_days,
        }
