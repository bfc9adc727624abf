"""What was told to stop, or is handed back, before it has begun ends without ever beginning."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import pytest

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.attempts import Report
from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.states import OnLost, Outcome, TaskState
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.loop import Pace
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.data import claims
from headway_worker.attempts.questions import Questions
from headway_worker.database.secret_resolver import SecretResolver
from headway_worker.database.worker_database import AttemptWork, WorkerDatabase
from headway_worker.protocol.supply import Code
from headway_worker.supervision.lease_keeper import Renewal
from headway_worker.worker import Worker, WorkerParts

KEY = AttemptKey(7, 1, UUID(int=1))


class Idle:
    """A Spark that is never ready, and a launcher that never launches."""

    logs = scratch = settings = None

    @property
    def forkers(self) -> "Idle":
        return self

    def forker_ready(self) -> bool:
        return False

    def foresee(self, work: AttemptWork) -> None:
        pass

    def hold(self, _until: object) -> None:
        pass

    def tend(self) -> None:
        pass

    def ready(self) -> bool:
        return True

    def close(self) -> None:
        pass


def work() -> AttemptWork:
    """Work that must wait for Spark."""
    task = TaskSpec(task_id="t", operator="pyspark", needs_spark=True, on_lost=OnLost.FAIL)
    claimed = claims.claimed(key=KEY)
    timetable = TimetableSpec(name="none")
    dag = DagSpec(
        dag_id="d", relative_path="d.py", timetable=timetable, timezone="UTC", tasks=(task,)
    )
    return AttemptWork(claimed, dag, task, Code(Path(), {}))


@dataclass
class Scene:
    """A worker that has claimed one attempt, and what it reports; `stopping` is what it is told."""

    worker: Worker
    reported: list[Report]
    stopping: bool = False

    def until(self, look: Callable[[], object]) -> None:
        clock = SystemClock()
        deadline = clock.monotonic() + 60
        while not look():
            assert clock.monotonic() < deadline
            self.worker.step()


@pytest.fixture
def scene(
    database: WorkerDatabase,
    resolver: SecretResolver,
    worker_settings: WorkerSettings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Scene]:
    found, reported = [work()], list[Report]()

    def claim(_database: WorkerDatabase, _free_slots: int) -> list[AttemptWork]:
        return [found.pop()] if found else []

    def renew(_database: WorkerDatabase, keys: Sequence[AttemptKey]) -> Renewal[AttemptKey]:
        return Renewal(dict.fromkeys(keys, made.stopping))

    monkeypatch.setattr(WorkerDatabase, "any_queued", lambda _database: True)
    monkeypatch.setattr(WorkerDatabase, "claim", claim)
    monkeypatch.setattr(WorkerDatabase, "renew", renew)
    monkeypatch.setattr(
        WorkerDatabase, "report", lambda _database, reports: reported.extend(reports)
    )
    idle: Any = Idle()
    clock = SystemClock()
    questions = Questions(database, resolver, idle, clock, Event())
    parts = WorkerParts(database, questions, idle, idle, Pace(idle=0.01))
    settings = worker_settings.model_copy(update={"heartbeat_interval": 0.01})
    made = Scene(Worker(parts, settings, clock), reported)
    yield made
    made.worker.close()


def test_one_that_waits_for_spark_is_reported_at_once(scene: Scene) -> None:
    scene.stopping = True
    scene.until(lambda: scene.reported)

    assert [(report.key, report.outcome) for report in scene.reported] == [(KEY, Outcome.CANCELLED)]


def test_one_that_waits_for_spark_is_handed_back_as_one_that_never_began(scene: Scene) -> None:
    scene.until(lambda: scene.worker._attempts.held)
    scene.worker.drain()
    scene.worker.hand_back()
    scene.until(lambda: scene.reported)

    [report] = scene.reported
    assert (report.key, report.outcome) == (KEY, Outcome.LOST)
    assert report.error == "The worker was stopped, and handed it back."
    assert report.following.state is TaskState.UP_FOR_RETRY
    scene.until(scene.worker.drain)
