"""The plans of what workers execute all the time, by their own login and with its row checks."""

from typing import Any

import pytest
from sqlalchemy import Engine

from headway.db.access.logins import Login
from headway.db.core import processes
from headway.db.execution import attempts, leases
from headway.db.execution.attempts import Report
from headway.domain.dag.spec import DEFAULT_QUEUE
from headway.domain.states import Outcome
from headway.testing.data import seed
from headway.testing.database.logins import entered
from headway.testing.database.query_plans import explained

HOT = {"attempts.CLAIM", "attempts.LOCK_TASKS", "attempts.REPORT", "leases.RENEW"}
LIVE = 1_000
CLAIMED = 3
MOST = 40 * CLAIMED
"""Rows that such a statement may look at, all its steps taken together."""


@pytest.mark.regression
def test_row_checks_look_no_further_than_a_statement_does(
    engine: Engine, database_url: str
) -> None:
    """However many attempts others run, and however many wait."""
    seed.queued(engine, seed.wide(2 * LIVE))
    other = seed.register(engine, "worker")
    held = [attempt.key for attempt in seed.claim(engine, other, limit=LIVE)]
    with engine.begin() as conn:
        leases.renew(conn, held, 60)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.exec_driver_sql("ANALYZE task_attempt, task_instance, lease, process")

    with entered(database_url, Login.WORKER, "worker") as (own, me), explained(own) as plans:
        with own.begin() as conn:
            processes.confirm(conn, me)
            claimed = attempts.claim(conn, me, [DEFAULT_QUEUE], CLAIMED, 60)
            keys = [attempt.key for attempt in claimed]
        with own.begin() as conn:
            assert len(leases.renew(conn, keys, 60)) == CLAIMED
        with own.begin() as conn:
            ended = [
                Report(key=key, outcome=Outcome.SUCCESS, following=seed.SUCCESS) for key in keys
            ]
            assert len(attempts.report(conn, ended)) == CLAIMED

    found = [plan for plan in plans if plan.statement in HOT]
    assert {plan.statement for plan in found} == HOT
    for plan in found:
        said = (plan.statement, plan.kept)
        assert not plan.read_in_full, said
        assert not any("hashed SubPlan" in str(_shown(node)) for node in plan.nodes()), said
        assert plan.rows <= MOST, (*said, plan.rows)


def _shown(node: Any) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name != "Plans"}
