"""A worker that was declared dead claims nothing and reports nothing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest
from sqlalchemy import Engine, text

from headway.db.core import processes
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.db.execution import callback_claims
from headway.db.execution.attempts import Report
from headway.db.execution.callback_claims import CallbackReport
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.spec import DEFAULT_QUEUE
from headway.domain.errors import FencedError
from headway.domain.states import CallbackState, Outcome
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.data import callbacks, seed
from headway_worker.database.callback_database import CallbackDatabase
from headway_worker.database.code import CodeCache
from headway_worker.database.worker_database import WorkerDatabase

Desk: TypeAlias = tuple[WorkerDatabase, Identity]

WRITTEN = text("""
    SELECT CAST(xmin AS text) FROM task_instance
     UNION ALL SELECT CAST(xmin AS text) FROM task_attempt
     UNION ALL SELECT CAST(xmin AS text) FROM callback
""")


@pytest.fixture
def desk(engine: Engine, tmp_path: Path) -> Desk:
    me = seed.register(engine, "worker")
    database = WorkerDatabase(engine, me, configuration.read(WorkerSettings), CodeCache(tmp_path))
    return database, me


def written(engine: Engine) -> list[str]:
    with engine.connect() as conn:
        return sorted(conn.scalars(WRITTEN))


def declare_dead(engine: Engine) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE process_beat SET beat_at = now() - interval '1 hour'"))
        assert processes.end_dead(conn, 0.001, 100)


def refused(engine: Engine, call: Callable[[], object]) -> None:
    declare_dead(engine)
    before = written(engine)
    with pytest.raises(FencedError, match="declared dead"):
        call()
    assert written(engine) == before


@pytest.mark.regression
def test_who_was_declared_dead_claims_no_attempt(engine: Engine, desk: Desk) -> None:
    seed.queued(engine, seed.dag())

    refused(engine, lambda: desk[0].claim(5))


@pytest.mark.regression
@pytest.mark.parametrize("left", [None, "application_1"])
def test_who_was_declared_dead_reports_no_attempt(
    engine: Engine, desk: Desk, left: str | None
) -> None:
    seed.queued(engine, seed.dag())
    [claimed] = seed.claim(engine, desk[1])
    report = reported(claimed.key, left)

    refused(engine, lambda: desk[0].report([report]))


def test_a_report_that_is_refused_is_logged_and_one_that_is_sent_again_is_not(
    engine: Engine, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer to a report may be lost; the worker sends it again."""
    seed.queued(engine, seed.dag())
    [claimed] = seed.claim(engine, desk[1])
    report = reported(claimed.key, None)

    for _ in range(2):
        desk[0].report([report])
    assert caplog.messages == []

    desk[0].report([replace(report, outcome=Outcome.SKIPPED)])
    [message] = caplog.messages
    assert message.startswith(f"action=refused task_instance={claimed.key.task_instance_id} ")


@pytest.mark.regression
def test_who_is_declared_dead_between_two_reports_leaves_no_attempt_to_others(
    engine: Engine, desk: Desk
) -> None:
    """What has an application elsewhere is given up in a transaction of its own."""
    seed.queued(engine, seed.dag())
    [claimed] = seed.claim(engine, desk[1])
    report = reported(claimed.key, "application_1")

    refused(engine, lambda: desk[0]._give_up([report]))


@pytest.mark.regression
def test_who_was_declared_dead_claims_no_callback(engine: Engine, desk: Desk) -> None:
    end_a_task(engine)

    refused(engine, lambda: CallbackDatabase(desk[0]).claim(5))


@pytest.mark.regression
def test_who_was_declared_dead_reports_no_callback(engine: Engine, desk: Desk) -> None:
    end_a_task(engine)
    with engine.begin() as conn:
        [claimed] = callback_claims.claim(conn, desk[1], [DEFAULT_QUEUE], 5, 30)
    report = CallbackReport(claimed.key, CallbackState.SUCCESS)

    refused(engine, lambda: CallbackDatabase(desk[0]).report([report]))


def test_who_is_alive_does_all_of_it(engine: Engine, desk: Desk) -> None:
    """So what is refused above is refused for that reason alone."""
    end_a_task(engine)
    database = CallbackDatabase(desk[0])
    with engine.begin() as conn:
        [claimed] = callback_claims.claim(conn, desk[1], [DEFAULT_QUEUE], 5, 30)
    database.report([CallbackReport(claimed.key, CallbackState.SUCCESS)])
    seed.queued(engine, seed.dag(dag_id="other"))
    [attempt] = seed.claim(engine, desk[1])
    desk[0].report([reported(attempt.key, None)])

    assert [row.state for row in callbacks.rows(engine)] == ["success"]
    assert set(seed.task_states(engine).values()) == {"success"}


def reported(key: AttemptKey, left: str | None) -> Report:
    return Report(key=key, outcome=Outcome.SUCCESS, following=seed.SUCCESS, left=left)


def end_a_task(engine: Engine) -> None:
    """End a task that has a function for its success."""
    [key] = seed.running(engine, callbacks.caring(CallbackEvent.SUCCESS))
    assert callbacks.report(engine, key)
