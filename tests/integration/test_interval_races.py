"""I4: whoever creates the run of an interval, and however near to each other, there is one."""

from collections import Counter

from sqlalchemy import Engine, text

from headway.actions.backfill import BackfillRequest, create_backfill
from headway.db import runs
from headway.testing import seed
from headway.testing.interleaving import in_background, just_before, wait_until_blocked
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.replica import Replica

NOW = seed.START + 4 * seed.DAY
REQUEST = BackfillRequest("etl", seed.START, seed.START + 2 * seed.DAY, conf={})
"""The first three days."""


def kinds(engine: Engine) -> Counter[str]:
    with engine.connect() as conn:
        intervals = text("SELECT count(DISTINCT interval_start) = count(*) FROM dag_run")
        assert conn.scalar(intervals)
        return Counter(conn.scalars(text("SELECT run_type FROM dag_run")))


def test_a_backfill_just_before_the_runs_are_created(engine: Engine, replica: Replica) -> None:
    """It has taken some of the intervals that the scheduler has found due."""
    seed.store(engine, seed.dag())

    def backfill() -> None:
        with engine.begin() as conn:
            create_backfill(conn, REQUEST, NOW, "user:test")

    with just_before(engine, runs.CREATE, backfill):
        create_runs(replica, NOW)

    assert kinds(engine) == {"backfill": 3, "scheduled": 1}


def test_a_backfill_while_the_runs_are_being_created(engine: Engine, replica: Replica) -> None:
    """The scheduler waits to see whether the backfill commits, and leaves its intervals to it."""
    seed.store(engine, seed.dag())

    with engine.begin() as user:
        create_backfill(user, REQUEST, NOW, "user:test")
        with in_background(lambda: create_runs(replica, NOW)) as creating:
            try:
                wait_until_blocked(engine)
            finally:
                user.commit()
    creating.result()

    assert kinds(engine) == {"backfill": 3, "scheduled": 1}
