"""How a worker loads the versions of what it has claimed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import OperationalError

from headway.db.core import engine as engines
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.data import seed
from headway_worker.database.code import CodeCache
from headway_worker.database.worker_database import WorkerDatabase


@pytest.fixture
def database(engine: Engine, tmp_path: Path) -> WorkerDatabase:
    me = seed.register(engine, "worker")
    return WorkerDatabase(engine, me, configuration.read(WorkerSettings), CodeCache(tmp_path))


def queued(engine: Engine, dags: int) -> None:
    for number in range(dags):
        seed.queued(engine, seed.dag(seed.task("a"), dag_id=f"dag_{number}"))


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """Note the statements that read versions or code."""
    noted: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_: Any) -> None:
        if "serialized" in statement or "code_manifest" in statement:
            noted.append(statement)

    both = engine, engines.reader(engine)
    for each in both:
        event.listen(each, "before_cursor_execute", note)
    try:
        yield noted
    finally:
        for each in both:
            event.remove(each, "before_cursor_execute", note)


@pytest.mark.regression
def test_a_claim_loads_all_its_versions_at_once(engine: Engine, database: WorkerDatabase) -> None:
    queued(engine, 5)

    with statements(engine) as noted:
        works = database.claim(5)

    assert [work.dag.dag_id for work in works] == [f"dag_{number}" for number in range(5)]
    assert len(noted) == 2, "the versions, and their manifests"


def test_a_version_that_is_known_is_not_loaded_again(
    engine: Engine, database: WorkerDatabase
) -> None:
    seed.queued(engine, seed.wide(2))
    database.claim(1)

    with statements(engine) as noted:
        assert len(database.claim(1)) == 1

    assert noted == []


def test_a_version_that_cannot_be_read_fails_its_own_attempt_alone(
    engine: Engine, database: WorkerDatabase
) -> None:
    queued(engine, 3)
    with engine.begin() as conn:
        conn.execute(text("ALTER TABLE dag_version DISABLE TRIGGER USER"))
        conn.execute(text("UPDATE dag_version SET serialized = 'nothing' WHERE dag_id = 'dag_0'"))

    works = database.claim(3)

    assert [work.dag.dag_id for work in works] == ["dag_1", "dag_2"]


@pytest.mark.parametrize("away", [True, False])
def test_only_what_may_be_a_fault_of_headway_is_logged_with_a_traceback(
    engine: Engine,
    database: WorkerDatabase,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    away: bool,
) -> None:
    queued(engine, 1)
    lost = OperationalError("SELECT", {}, psycopg2.OperationalError("the server closed"))
    lost.connection_invalidated = True

    def fails(*_: object) -> None:
        raise lost if away else KeyError("a version")

    monkeypatch.setattr(WorkerDatabase, "fetch", fails)

    assert database.claim(1) == []

    [record] = [record for record in caplog.records if "hand_back" in record.getMessage()]
    assert bool(record.exc_info) is not away
