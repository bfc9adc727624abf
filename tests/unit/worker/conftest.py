"""Threads that do nothing by themselves, and a worker database that is never asked."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.exc import OperationalError

from headway.db.core import engine as engines
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.runtime.settings import configuration
from headway.runtime.settings.secret_keys import Provided
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.time.clock import FakeClock
from headway_worker.database.code import CodeCache
from headway_worker.database.secret_resolver import SecretResolver
from headway_worker.database.worker_database import WorkerDatabase


class Threads(Executor):
    """An executor that keeps what it is given; the test says what comes of it, and when."""

    def __init__(self) -> None:
        self.begun: list[Future[Any]] = []

    def submit(self, call: Callable[..., Any], /, *_args: Any, **_kwargs: Any) -> Future[Any]:
        self.begun.append(Future())
        return self.begun[-1]

    def finish(self, result: object) -> None:
        """Let the last call return."""
        self.begun[-1].set_result(result)

    def fail(self, error: Exception | None = None) -> None:
        """Let the last call end with an error, by default one that passes."""
        away = OperationalError("SELECT 1", {}, Exception("connection refused"))
        self.begun[-1].set_exception(error or away)


@pytest.fixture
def threads() -> Threads:
    return Threads()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def worker_settings() -> WorkerSettings:
    return configuration.read(WorkerSettings, lease_duration=20, heartbeat_interval=2, kill_grace=5)


@pytest.fixture
def database(worker_settings: WorkerSettings, tmp_path: Path) -> WorkerDatabase:
    engine = engines.connect("postgresql://nobody@nowhere.invalid/none")
    return WorkerDatabase(engine, Identity(1, 1), worker_settings, CodeCache(tmp_path))


@pytest.fixture
def resolver(database: WorkerDatabase) -> SecretResolver:
    return SecretResolver(database.engine, Provided({}, None))


@pytest.fixture
def keys() -> list[AttemptKey]:
    """Three attempts."""
    return [AttemptKey(number, 1, UUID(int=number)) for number in (1, 2, 3)]
