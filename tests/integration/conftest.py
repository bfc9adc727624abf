"""What integration tests share: a replica, marks, and no Spark session of another module."""

import sys
from collections.abc import Callable
from pathlib import Path
from threading import local
from typing import TypeAlias

import pytest
from sqlalchemy import Engine

from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.marks import Marks
from headway_scheduler.replica.replica import Replica

NewReplica: TypeAlias = Callable[..., Replica]


@pytest.fixture(scope="module", autouse=True)
def no_spark_session_of_another_module() -> None:
    """Forget the default and the active Spark session, whose server is gone.

    The process of an attempt opens one session.  This one has run other test modules, and
    `SparkSession.builder` would return a session that one of them never stopped.
    """
    module = sys.modules.get("pyspark.sql.connect.session")
    if module is not None:
        module.SparkSession._default_session = None
        module.SparkSession._active_session = local()


@pytest.fixture
def marks(tmp_path: Path) -> Marks:
    """What executions of a task record of when they ran."""
    folder = tmp_path / "marks"
    folder.mkdir()
    return Marks(folder)


@pytest.fixture
def new_replica(engine: Engine) -> NewReplica:
    """Make another scheduler replica on the same database, with these settings."""

    def make(**given: object) -> Replica:
        read = configuration.read(SchedulerSettings, **given)
        return Replica(engine, seed.register(engine), read)

    return make


@pytest.fixture
def replica(new_replica: NewReplica) -> Replica:
    return new_replica()
