"""For how many days things are kept."""

import pytest

from headway.domain.errors import SettingsError
from headway.domain.retention import RetainedKind
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings


def test_by_default_only_processes_go() -> None:
    days = read(SchedulerSettings).retention_days

    assert days == {
        RetainedKind.RUNS: 0,
        RetainedKind.EVENTS: 0,
        RetainedKind.CALLBACKS: 0,
        RetainedKind.PROCESSES: 7,
    }


@pytest.mark.parametrize("days", [-1, 0.5, float("nan"), float("inf")])
def test_less_than_a_day_is_refused(days: float) -> None:
    with pytest.raises(SettingsError, match=r"(?i)retention_runs_days"):
        read(SchedulerSettings, retention_runs_days=days)
