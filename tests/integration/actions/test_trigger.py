"""Triggering a DAG as if at another time: in the past, or in the future."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.domain.dag.spec import DagSpec, TimetableSpec
from headway.domain.errors import ConflictError
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 10 * seed.DAY + timedelta(hours=6)
TOMORROW = NOW + seed.DAY
UNSCHEDULED = replace(seed.dag(), timetable=TimetableSpec(name="null"))


def create(engine: Engine, spec: DagSpec, date: datetime | None, *, in_future: bool = False) -> Any:
    """Trigger the DAG as if at that date, and return the run."""
    seed.store(engine, spec)
    request = TriggerRequest("etl", logical_date=date, in_future=in_future)
    with engine.begin() as conn:
        trigger(conn, request, NOW, "user:ann")
        return conn.execute(text("SELECT * FROM dag_run")).one()


def start(engine: Engine, now: datetime) -> int:
    return start_runs(Replica(engine, seed.register(engine), read(SchedulerSettings)), now)


def test_a_run_of_the_past_is_about_what_was_complete_then(engine: Engine) -> None:
    date = seed.START + 3 * seed.DAY

    run = create(engine, seed.dag(), date)

    assert run.run_id == "manual__2024-01-04T00:00:00+00:00"
    assert (run.interval_start, run.interval_end) == (date - seed.DAY, date)
    assert run.schedule_date == date
    assert start(engine, NOW) == 1
    with engine.connect() as conn:
        details = conn.scalar(text("SELECT details FROM event"))
    assert details == {"conf": {}, "logical_date": "2024-01-04T00:00:00+00:00"}


@pytest.mark.parametrize(
    ("spec", "in_future"),
    [(seed.dag(), False), (seed.dag(), True), (UNSCHEDULED, False)],
    ids=["with a schedule", "with a schedule, allowed", "without a schedule"],
)
def test_a_run_of_the_future_waits_for_its_date(
    engine: Engine, spec: DagSpec, in_future: bool
) -> None:
    run = create(engine, spec, TOMORROW, in_future=in_future)

    assert (run.run_after, run.schedule_date) == (TOMORROW, TOMORROW)
    assert start(engine, TOMORROW - timedelta(seconds=1)) == 0
    assert start(engine, TOMORROW) == 1


def test_a_run_of_the_future_starts_at_once_if_that_is_allowed(engine: Engine) -> None:
    run = create(engine, UNSCHEDULED, TOMORROW, in_future=True)

    assert run.run_id == "manual__2024-01-12T06:00:00+00:00"
    assert (run.run_after, run.schedule_date, run.interval_end) == (NOW, TOMORROW, TOMORROW)
    assert start(engine, NOW) == 1


def test_what_is_allowed_for_the_future_changes_nothing_of_the_past(engine: Engine) -> None:
    run = create(engine, UNSCHEDULED, seed.START, in_future=True)

    assert run.run_after == seed.START


def test_a_date_is_triggered_once(engine: Engine) -> None:
    create(engine, seed.dag(), TOMORROW)

    with pytest.raises(ConflictError, match="choose another run id"):
        create(engine, seed.dag(), TOMORROW)
