"""A worker without a database, a fork server or processes: what it makes of an attempt then."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import MagicMock

import pytest

from headway.db.execution.attempts import Report
from headway.db.execution.callback_claims import ClaimedCallback
from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.states import Outcome
from headway.runtime.daemon.loop import Pace
from headway.runtime.forker import ForkerError
from headway.runtime.processes.frames import Frame
from headway.runtime.settings.worker import WorkerSettings
from headway.sdk.harness.execution import Result
from headway.testing.data import claims
from headway.testing.time.clock import FakeClock
from headway_worker.attempts.attempt import Attempt
from headway_worker.attempts.launch import AttemptLauncher
from headway_worker.attempts.questions import Questions
from headway_worker.database.callback_database import CallbackWork
from headway_worker.database.secret_resolver import SecretResolver
from headway_worker.database.worker_database import AttemptWork, WorkerDatabase
from headway_worker.logs.file import LogFile, LogLimits
from headway_worker.protocol.supply import Code
from headway_worker.supervision.claims import Claims
from headway_worker.supervision.execution import Execution
from headway_worker.supervision.fork_servers import ForkServers
from headway_worker.supervision.held import WorkState
from headway_worker.supervision.scratch import ScratchFolders
from headway_worker.worker import Worker, WorkerParts

TASK = TaskSpec(task_id="t", operator="python")
DAG = DagSpec(
    dag_id="d",
    relative_path="d.py",
    timetable=TimetableSpec(name="null"),
    timezone="UTC",
    tasks=(TASK,),
)
WORK = AttemptWork(
    claims.claimed(),
    DAG,
    TASK,
    Code(Path("/code"), {}),
)
CALLBACK = CallbackWork(MagicMock(spec=ClaimedCallback), DAG, Code(Path("/code"), {}))


def nothing_listens() -> Any:
    raise ForkerError("nobody listens")


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """What the worker has taken to the database."""
    found: list[Report] = []
    monkeypatch.setattr(WorkerDatabase, "report", lambda _database, reports: found.extend(reports))
    monkeypatch.setattr(WorkerDatabase, "renew", MagicMock())
    monkeypatch.setattr(WorkerDatabase, "any_queued", lambda _database: False)
    return found


@pytest.fixture
def launcher(worker_settings: WorkerSettings, clock: FakeClock, tmp_path: Path) -> AttemptLauncher:
    """One that finds no fork server."""
    logs = MagicMock()
    logs.open = lambda _key: LogFile(tmp_path, Path("log"), LogLimits(2**20, 2**20), clock)
    forkers = ForkServers(nothing_listens, clock)
    return AttemptLauncher(forkers, worker_settings, logs, ScratchFolders(tmp_path))


@pytest.fixture
def worker(
    database: WorkerDatabase,
    resolver: SecretResolver,
    worker_settings: WorkerSettings,
    clock: FakeClock,
    launcher: AttemptLauncher,
    reported: list[Report],
) -> Iterator[Worker]:
    outside = MagicMock()
    outside.logs.return_value = []
    questions = Questions(database, resolver, outside, clock, Event())
    worker = Worker(
        WorkerParts(database, questions, outside, launcher, Pace()), worker_settings, clock
    )
    yield worker
    worker.close()


def until_reported(worker: Worker, reported: list[Report]) -> Report:
    """Step until one report has been taken."""
    for _ in range(100):
        worker.step()
        if reported:
            return reported[0]
    raise AssertionError("nothing was reported")


@pytest.mark.regression
@pytest.mark.parametrize("draining", [False, True])
def test_the_callbacks_are_stepped_with_the_worker(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, draining: bool
) -> None:
    stepped: list[bool] = []
    monkeypatch.setattr(worker._callbacks, "step", lambda *, draining: stepped.append(draining))
    if draining:
        worker.drain()

    worker.step()

    assert stepped == [draining]


def test_the_spark_server_is_tended_with_the_worker(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    tended: list[bool] = []
    monkeypatch.setattr(worker._parts.spark, "tend", lambda: tended.append(True))

    worker.step()

    assert tended == [True]


@pytest.mark.regression
def test_an_attempt_that_finds_no_fork_server_is_left_to_other_workers(
    worker: Worker,
    reported: list[Report],
    clock: FakeClock,
    launcher: AttemptLauncher,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server has died after the attempt was claimed."""
    brought = [[WORK]]
    monkeypatch.setattr(
        Claims,
        "collect",
        lambda claims: (
            brought.pop() if isinstance(claims.database, WorkerDatabase) and brought else []
        ),
    )
    clock.advance(1)

    report = until_reported(worker, reported)

    assert (report.key, report.outcome) == (WORK.claimed.key, Outcome.LOST)
    assert report.error == "The worker could not start it: nobody listens"


@pytest.mark.regression
def test_the_log_of_an_attempt_that_finds_no_fork_server_says_so(
    launcher: AttemptLauncher, tmp_path: Path
) -> None:
    with pytest.raises(ForkerError, match="nobody listens"):
        launcher.launch(WORK, 0.0)

    assert "The worker could not start it." in (tmp_path / "log").read_text()


@pytest.mark.parametrize(("grace", "seconds"), [(10.0, 60.0), (600.0, 600.0)])
def test_an_attempt_that_is_only_to_end_an_application_has_time_for_that(
    worker_settings: WorkerSettings,
    launcher: AttemptLauncher,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    grace: float,
    seconds: float,
) -> None:
    """At least a minute, whatever its execution_timeout is."""
    launcher.settings = worker_settings.model_copy(update={"cluster_kill_grace": grace})
    monkeypatch.setattr(Execution, "start", MagicMock())
    work = replace(
        WORK,
        claimed=replace(WORK.claimed, is_called_off=True),
        task=replace(TASK, execution_timeout=1.0),
    )

    execution = launcher.launch(work, 0.0, MagicMock())

    assert execution.deadline == clock.monotonic() + seconds
    assert launcher.launch(replace(WORK, task=work.task), 0.0, MagicMock()).deadline == 1.0


@pytest.mark.regression
@pytest.mark.parametrize("over", [False, True])
def test_an_attempt_is_not_reported_when_its_lease_is_over(
    worker: Worker, reported: list[Report], clock: FakeClock, over: bool
) -> None:
    """It has ended by itself, just before; the database may have given it away by then."""
    execution = MagicMock(fenced=False, spark_session=None, outlived_by=None)
    attempt = Attempt(WORK, worker._kind)
    attempt.state, attempt.execution = WorkState.ENDING, execution
    attempt._result = Result(outcome=Outcome.SUCCESS)
    worker._attempts.held[attempt.key] = attempt
    worker._kind.leases.grant(attempt.key, clock.monotonic())
    clock.advance(3600 if over else 1)

    worker.step()

    assert attempt.state is (WorkState.DROPPED if over else WorkState.REPORTING)
    assert (attempt.key in worker._attempts.held) is not over
    execution.close.assert_called_once()
    assert (execution.close.call_args.args == ()) is over


@pytest.mark.regression
@pytest.mark.parametrize("work", [WORK, CALLBACK], ids=["attempt", "callback"])
def test_values_of_a_mapped_task_are_handed_on_page_by_page(
    database: WorkerDatabase,
    resolver: SecretResolver,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    work: AttemptWork | CallbackWork,
) -> None:
    left = {0: "a", 2: "b", 5: "c"}

    def page(_database: WorkerDatabase, claimed: object, *named: object) -> dict[int, Any]:
        task_id, key, after, of = named
        assert (claimed, task_id, key, of) == (work.claimed, "m", "k", None)
        assert isinstance(after, int)
        return dict([item for item in left.items() if item[0] > after][:2])

    monkeypatch.setattr(WorkerDatabase, "pull_xcoms", page)
    questions = Questions(database, resolver, MagicMock(), clock, Event())

    def ask(after: int) -> Frame:
        asked = {"ask": "pull_xcoms", "task_id": "m", "key": "k", "after": after}
        return questions.answer(work, asked).frame

    assert ask(-1) == {"values": ["a", "b"], "last": 2}
    assert ask(2) == {"values": ["c"], "last": 5}
    assert ask(5) == {"values": [], "last": None}
