"""What attempts do in Spark, on its way to the database."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.spark_work import SparkNews
from headway.domain.spark_work import SparkFigures, SparkProgress
from headway.testing.time.clock import FakeClock
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.spark.service.figures_writer import FiguresWriter
from headway_worker.supervision.background_call import BackgroundCall

SESSION = "11111111-1111-4111-8111-111111111111"
HALF = SparkProgress(stages=1, tasks=4, tasks_done=2)
DONE = SparkProgress(stages=1, stages_done=1, tasks=4, tasks_done=4)


@dataclass
class Spark:
    """A Spark with one server, which writes into this folder."""

    folder: Path | None
    left: list[AttemptKey] = field(default_factory=list)
    resting: list[AttemptKey] = field(default_factory=list)
    ended: list[AttemptKey] = field(default_factory=list)

    def log_of(self, _key: AttemptKey) -> Path | None:
        return self.folder

    def logs(self) -> list[Path]:
        return [self.folder] if self.folder else []

    def end_python(self, keys: Sequence[AttemptKey]) -> None:
        self.ended.extend(keys)

    def rest(self, key: AttemptKey) -> None:
        self.resting.append(key)

    def leave(self, key: AttemptKey) -> None:
        self.left.append(key)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[SparkNews]:
    """What the database was given, in the order of the attempts."""
    found: list[SparkNews] = []

    def tell(_database: WorkerDatabase, said: Sequence[SparkNews]) -> None:
        found.extend(sorted(said, key=lambda it: it.key.task_instance_id))

    monkeypatch.setattr(WorkerDatabase, "tell", tell)
    return found


@dataclass
class Desk:
    """A telling whose chores are done at once, or fail, as the test says."""

    telling: FiguresWriter
    threads: Any
    spark: Spark
    clock: FakeClock

    def pass_on(self, seconds: float = 0.5) -> None:
        """Have what is new saved, and what was saved collected."""
        self.clock.advance(seconds)
        self.telling.step()
        for future in self.threads.begun:
            if not future.done():
                future.set_result(self.threads.calls[-1]())
        self.telling.step()


@pytest.fixture
def desk(
    threads: Any, database: WorkerDatabase, clock: FakeClock, tmp_path: Path, said: list[SparkNews]
) -> Desk:
    threads.calls = []
    submit = threads.submit

    def submitted(call: Any, /, *args: Any, **kwargs: Any) -> Any:
        threads.calls.append(call)
        return submit(call)

    threads.submit = submitted
    spark: Any = Spark(tmp_path)
    chore: BackgroundCall[list[AttemptKey]] = BackgroundCall("tell", threads, lambda: None, clock)
    return Desk(FiguresWriter(database, spark, chore, clock), threads, spark, clock)


def log(folder: Path, *events: dict[str, Any]) -> None:
    (folder / "events" / "log").mkdir(parents=True, exist_ok=True)
    with (folder / "events" / "log" / "events_1_local").open("a") as file:
        for event in events:
            file.write(json.dumps(event, separators=(",", ":")) + "\n")


START = {
    "Event": "SparkListenerJobStart",
    "Job ID": 0,
    "Stage IDs": [0],
    "Properties": {"spark.job.tags": f"SparkConnect_User_a_Session_{SESSION}_Operation_x"},
}
END = {"Event": "SparkListenerJobEnd", "Job ID": 0}


def test_progress_of_all_attempts_is_saved_at_once_and_the_latest_only(
    desk: Desk, keys: list[AttemptKey], said: list[SparkNews]
) -> None:
    desk.telling.note(keys[0], HALF)
    desk.telling.note(keys[0], DONE)
    desk.telling.note(keys[1], HALF)

    desk.pass_on()
    desk.pass_on()

    assert said == [SparkNews(key=keys[0], progress=DONE), SparkNews(key=keys[1], progress=HALF)]
    assert not desk.telling.pending


def test_what_could_not_be_saved_is_saved_later_unless_there_is_news(
    desk: Desk, keys: list[AttemptKey], said: list[SparkNews]
) -> None:
    desk.telling.note(keys[0], HALF)
    desk.telling.note(keys[1], HALF)
    desk.telling.step()
    desk.telling.note(keys[0], DONE)
    desk.threads.fail()
    desk.telling.step()

    desk.pass_on(60)

    assert said == [SparkNews(key=keys[0], progress=DONE), SparkNews(key=keys[1], progress=HALF)]


def test_figures_that_an_attempt_tells_itself_go_with_its_progress(
    desk: Desk, keys: list[AttemptKey], said: list[SparkNews]
) -> None:
    figures = SparkFigures(jobs=1, tasks=4)
    desk.telling.note(keys[0], HALF)
    desk.telling.note(keys[0], figures)
    desk.telling.note(keys[0], DONE)
    desk.telling.end(keys[0], None)

    desk.pass_on()

    assert said == [SparkNews(key=keys[0], progress=DONE, figures=figures)]
    assert not desk.telling.pending


def test_figures_that_could_not_be_saved_are_saved_later(
    desk: Desk, keys: list[AttemptKey], said: list[SparkNews]
) -> None:
    figures = SparkFigures(jobs=1, tasks=4)
    desk.telling.note(keys[0], figures)
    desk.telling.step()
    desk.telling.note(keys[0], DONE)
    desk.threads.fail()
    desk.telling.step()

    desk.pass_on(60)

    assert said == [SparkNews(key=keys[0], progress=DONE, figures=figures)]


def test_figures_are_saved_when_the_log_is_complete_and_the_place_kept_until_then(
    desk: Desk, keys: list[AttemptKey], said: list[SparkNews], tmp_path: Path
) -> None:
    log(tmp_path, START)
    desk.telling.end(keys[0], SESSION)
    desk.pass_on(1)
    assert said == []
    assert desk.telling.pending

    log(tmp_path, END)
    desk.pass_on()

    assert said == [SparkNews(key=keys[0], figures=SparkFigures(jobs=1))]
    assert desk.spark.left == [keys[0]]
    assert desk.spark.ended == [keys[0]]
    assert not desk.telling.pending


def test_a_job_that_never_seems_to_end_is_not_waited_for(
    desk: Desk, keys: list[AttemptKey], said: list[SparkNews], tmp_path: Path
) -> None:
    log(tmp_path, START)
    desk.telling.end(keys[0], SESSION)
    desk.pass_on(10)

    assert said == [SparkNews(key=keys[0], figures=SparkFigures(jobs=1))]


def test_of_a_server_elsewhere_or_dead_nothing_is_known(
    desk: Desk, keys: list[AttemptKey], said: list[SparkNews]
) -> None:
    desk.spark.folder = None
    desk.telling.end(keys[0], SESSION)
    desk.telling.end(keys[1], None)

    desk.pass_on()

    assert said == []
    assert desk.spark.left == [keys[0], keys[1]]
