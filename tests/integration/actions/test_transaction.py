"""An action survives the loss of its connection before the COMMIT, and is never done twice."""

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from headway.actions.transaction import act
from headway.db.core import engine as engines

PID = text("SELECT pg_backend_pid()")
TERMINATE = text("SELECT pg_terminate_backend(:pid, 10000)")
ADD = text("UPDATE pool SET slots = slots + 1 WHERE name = 'default_pool'")
SLOTS = text("SELECT slots FROM pool WHERE name = 'default_pool'")


@pytest.fixture
def other(database_url: str) -> Engine:
    return engines.connect(database_url, pool_size=1)


def slots(engine: Engine) -> int:
    with engine.connect() as conn:
        return int(conn.execute(SLOTS).scalar_one())


def test_a_connection_that_was_kept_and_is_dead_is_replaced(engine: Engine, other: Engine) -> None:
    before = slots(other)
    with engine.connect() as conn:
        kept = conn.scalar(PID)
    with other.connect() as conn:
        conn.execute(TERMINATE, {"pid": kept})

    act(engine, lambda conn: conn.execute(ADD), [])

    assert slots(other) == before + 1


def test_what_a_lost_commit_may_have_done_is_not_done_again(engine: Engine, other: Engine) -> None:
    before, tries = slots(other), list[int]()

    def work(conn: Connection) -> None:
        conn.execute(ADD)
        tries.append(conn.scalar(PID) or 0)
        with other.connect() as another:
            another.execute(TERMINATE, {"pid": tries[-1]})

    with pytest.raises(DBAPIError):
        act(engine, work, [])

    assert len(tries) == 1
    assert slots(other) == before
