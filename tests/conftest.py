"""Databases for tests: one server and one migrated template a session, one copy a test."""

import os
import secrets
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from headway.db import engine as engines
from headway.db import migrate
from headway.testing.postgres import ThrowawayPostgres, throwaway_postgres


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThrowawayPostgres]:
    directory = tmp_path_factory.mktemp("postgres")
    with throwaway_postgres(os.environ.get("TEST_DATABASE_URL") or None, directory) as server:
        yield server


@pytest.fixture(scope="session")
def template(postgres: ThrowawayPostgres) -> Iterator[str]:
    """The name of a migrated database that nobody is connected to."""
    name = f"headway_template_{secrets.token_hex(4)}"
    migrate.upgrade(postgres.create_database(name))
    yield name
    postgres.drop_database(name)


@pytest.fixture
def database_url(postgres: ThrowawayPostgres, template: str) -> Iterator[str]:
    """The address of a fresh, migrated database."""
    name = f"headway_test_{secrets.token_hex(4)}"
    yield postgres.create_database(name, template)
    postgres.drop_database(name)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """Connections to a fresh, migrated database."""
    engine = engines.connect(database_url, name="test")
    yield engine
    engine.dispose()
