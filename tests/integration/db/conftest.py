"""A database that nothing has been made in."""

from collections.abc import Iterator
from secrets import token_hex

import pytest
from sqlalchemy import Engine

from headway.db.core import engine as engines
from headway.testing.database.postgres import ThrowawayPostgres


@pytest.fixture
def empty_url(postgres: ThrowawayPostgres) -> Iterator[str]:
    """The address of a database without any table."""
    name = f"headway_empty_{token_hex(4)}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture
def empty(empty_url: str) -> Iterator[Engine]:
    """Connections to a database without any table."""
    engine = engines.connect(empty_url)
    yield engine
    engine.dispose()
