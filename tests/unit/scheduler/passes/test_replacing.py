"""Runs that make way for others are counted and traced as those that end in any other way."""

from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock, call

import pytest

from headway.db.changes.run_changes import LockedRun
from headway.domain.states import RunState
from headway.metrics.scheduler import RUNS_ENDED
from headway.testing.metrics.metrics import value
from headway_scheduler.passes import create_runs, replacing

LOCKED = [
    LockedRun(
        id=number, dag_id="replaced", run_id=f"{number}", state=state, version_id=1, pinned=False
    )
    for number, state in ((1, RunState.RUNNING), (2, RunState.QUEUED), (3, RunState.QUEUED))
]


def counted() -> float:
    return value(RUNS_ENDED, "replaced", "failed") or 0


@pytest.fixture
def replica(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """One of a database in which one DAG is due, with runs that make way for the next one."""
    locking = MagicMock(
        lock_scheduled=MagicMock(return_value=LOCKED),
        lock_unfinished=MagicMock(return_value={run.id: [] for run in LOCKED}),
    )
    monkeypatch.setattr(replacing, "run_changes", locking)
    for name in ("run_end", "events", "wakes"):
        monkeypatch.setattr(replacing, name, MagicMock())
    decided = MagicMock(plan=MagicMock(cancels=True))
    decided.dag.dag_id = "replaced"
    monkeypatch.setattr(create_runs, "_decided", lambda *_: [decided])
    for name in ("_carry_out", "dags", "processes"):
        monkeypatch.setattr(create_runs, name, MagicMock())

    def each(_engine: object, _me: object, _now: object, do: Callable[..., Any]) -> list[Any]:
        return [do(MagicMock(), [])]

    found = MagicMock()
    found.settings.max_dagruns_to_create_per_loop = 10
    found.creating.each = each
    return found


def test_a_run_that_ends_before_it_has_begun_is_counted_and_traced(replica: MagicMock) -> None:
    before, told = counted(), MagicMock()

    create_runs.create_runs(replica, MagicMock(), cancelled=told)

    assert told.mock_calls == [call(3)]
    assert counted() == before + 2
    replica.tracing.runs_ended.assert_called_once_with([2, 3])


def test_it_is_not_counted_where_the_database_has_not_taken_it(replica: MagicMock) -> None:
    before = counted()

    with pytest.raises(InterruptedError):
        create_runs.create_runs(replica, MagicMock(), MagicMock(side_effect=InterruptedError))

    assert counted() == before
    replica.tracing.runs_ended.assert_not_called()
