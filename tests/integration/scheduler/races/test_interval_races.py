"""I4: whoever creates the run of an interval, and however near to each other, there is one."""

from collections import Counter
from concurrent.futures import Future
from contextlib import ExitStack

import pytest
from sqlalchemy import Engine, text

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.domain.errors import ConflictError
from headway.testing.data import seed
from headway.testing.database.interleaving import in_background, wait_until_blocked
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 4 * seed.DAY
REQUEST = BackfillRequest("etl", seed.START, seed.START + 2 * seed.DAY, conf={})
"""The first three days."""


def kinds(engine: Engine) -> Counter[str]:
    with engine.connect() as conn:
        intervals = text("SELECT count(DISTINCT interval_start) = count(*) FROM dag_run")
        assert conn.scalar(intervals)
        return Counter(conn.scalars(text("SELECT run_type FROM dag_run")))


def test_a_backfill_while_the_runs_are_being_created(engine: Engine, replica: Replica) -> None:
    """It waits for the scheduler, and then finds the runs that there are."""
    seed.store(engine, seed.dag())
    asked: list[Future[object]] = []

    def backfill() -> None:
        with engine.begin() as conn:
            create_backfill(conn, REQUEST, NOW, "user:test")

    with ExitStack() as until_then:

        def meanwhile() -> None:
            asked.append(until_then.enter_context(in_background(backfill)))
            wait_until_blocked(engine)

        create_runs(replica, NOW, meanwhile)

    with pytest.raises(ConflictError, match="All 3 intervals have a run already"):
        asked[0].result()
    assert kinds(engine) == {"scheduled": 4}


def test_a_schedule_while_a_backfill_is_being_created(engine: Engine, replica: Replica) -> None:
    """The scheduler leaves the DAG alone, and then the intervals that the backfill has."""
    seed.store(engine, seed.dag())

    with engine.begin() as conn:
        create_backfill(conn, REQUEST, NOW, "user:test")
        assert create_runs(replica, NOW) == 0
    assert create_runs(replica, NOW) == 1

    assert kinds(engine) == {"backfill": 3, "scheduled": 1}
