"""The databases that tests are given."""

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from headway.db.access import migrate
from headway.db.core import engine as engines
from headway.testing.database.postgres import ThrowawayPostgres


def test_a_test_gets_a_migrated_database(engine: Engine) -> None:
    assert migrate.check(engine) == migrate.head()


@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_sees_nothing_of_another(engine: Engine, turn: int) -> None:
    with engine.begin() as conn:
        conn.execute(text("CREATE TABLE mine ()"))


def test_a_database_is_dropped_although_somebody_is_connected(postgres: ThrowawayPostgres) -> None:
    connections = engines.connect(postgres.create_database("drop me"))
    with connections.connect():
        postgres.drop_database("drop me")
    connections.dispose()

    with pytest.raises(OperationalError, match='"drop me" does not exist'):
        connections.connect()
