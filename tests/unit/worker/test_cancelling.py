"""What was told to stop before it has begun ends without ever beginning."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import pytest

from headway.db.attempts import AttemptKey, Claimed, Report
from headway.domain.interval import DataInterval
from headway.domain.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.states import Outcome, RunType
from headway.runtime.clock import SystemClock
from headway.runtime.loop import Pace
from headway.runtime.settings import WorkerSettings
from headway_worker.clerk import Clerk, Work
from headway_worker.questions import Questions
from headway_worker.worker import Means, Worker

KEY = AttemptKey(7, 1, UUID(int=1))
NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)


class Idle:
    """A Spark that is never ready, and a launcher that never launches."""

    def forker_ready(self) -> bool:
        return False

    def close(self) -> None:
        pass


def work() -> Work:
    """Work that must wait for Spark."""
    task = TaskSpec(task_id="t", operator="pyspark", needs_spark=True)
    claimed = Claimed(
        key=KEY,
        dag_run_id=1,
        dag_id="d",
        run_id="r",
        run_type=RunType.MANUAL,
        task_id="t",
        map_index=-1,
        failures=0,
        losses=0,
        conf={},
        version_id=1,
        manifest_hash="",
        interval=DataInterval.exact(NOON),
        schedule_date=NOON,
        run_after=NOON,
        run_started_at=NOON,
    )
    timetable = TimetableSpec(name="none")
    dag = DagSpec(
        dag_id="d", relative_path="d.py", timetable=timetable, timezone="UTC", tasks=(task,)
    )
    return Work(claimed, dag, task, Path())


def test_one_that_waits_for_spark_is_reported_at_once(
    clerk: Clerk, worker_settings: WorkerSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, reported = [work()], list[Report]()

    def claim(_clerk: Clerk, _free_slots: int) -> list[Work]:
        return [found.pop()] if found else []

    def renew(_clerk: Clerk, keys: Sequence[AttemptKey]) -> dict[AttemptKey, bool]:
        return dict.fromkeys(keys, True)

    monkeypatch.setattr(Clerk, "any_queued", lambda _clerk: True)
    monkeypatch.setattr(Clerk, "claim", claim)
    monkeypatch.setattr(Clerk, "renew", renew)
    monkeypatch.setattr(Clerk, "report", lambda _clerk, reports: reported.extend(reports))
    idle: Any = Idle()
    clock = SystemClock()
    means = Means(clerk, Questions(clerk, idle, clock, Event()), idle, idle, Pace(idle=0.01))
    settings = worker_settings.model_copy(update={"heartbeat_interval": 0.01})
    worker = Worker(means, settings, clock)

    for _ in range(200):
        worker.step()
        if reported:
            break
    worker.close()

    assert [(it.key, it.outcome) for it in reported] == [(KEY, Outcome.CANCELLED)]
