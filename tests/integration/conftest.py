"""What the tests of the scheduler's passes start from."""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from sqlalchemy import Engine

from headway.runtime import settings
from headway.testing import seed
from headway_scheduler.replica import Replica

NewReplica: TypeAlias = Callable[..., Replica]


@pytest.fixture
def new_replica(engine: Engine) -> NewReplica:
    """Make another scheduler replica on the same database, with these settings."""

    def make(**given: object) -> Replica:
        read = settings.read(settings.SchedulerSettings, **given)
        return Replica(engine, seed.register(engine), read)

    return make


@pytest.fixture
def replica(new_replica: NewReplica) -> Replica:
    return new_replica()
