"""The pass that answers tasks which ask for runs of other DAGs."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from headway.actions.runs.requested import carry_out
from headway.db.core import processes
from headway.db.scheduling.requests import facts, requested
from headway.db.scheduling.scope import KeyFilter
from headway.decide.scheduling.requested import answered
from headway.runtime.daemon.seam import nothing
from headway.runtime.daemon.time_limit import interrupted
from headway_scheduler.passes.create_runs import LONGEST_PLAN
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)

MOST: Final = 100
"""Requests that one pass answers: the other passes are not to wait for more."""


def answer_requests(
    replica: Replica, now: datetime, before_commit: Callable[[], None] = nothing
) -> int:
    """Answer up to `MOST` requests, each in a transaction with the run; return how many.

    One that another scheduler has is skipped.  A request is answered once: whoever is killed
    before the commit leaves it as it was.
    """

    def answer(choice: KeyFilter[int], locked_keys: list[int]) -> int:
        with replica.engine.begin() as conn:
            processes.confirm(conn, replica.me)
            request = requested.lock_next(conn, choice)
            if request is None:
                return 0
            locked_keys.append(request.id)
            known = facts.facts(conn, request.id)
            given = answered(request.wanted, known)
            if given is None:
                too_long = f"It takes more than {LONGEST_PLAN:g} s to tell the run's interval."
                with interrupted(LONGEST_PLAN, too_long):
                    given = carry_out(conn, request, known, f"scheduler:{replica.me.id}")
            requested.answer(conn, request.id, given)
            before_commit()
        log.info(
            "action=answer_request request=%d dag=%s answer=%s run=%s",
            request.id,
            request.wanted.dag_id,
            given.answer,
            given.run_id,
        )
        return 1

    answered_now = 0
    for _ in range(MOST):
        found = replica.answering.each(replica.engine, replica.me, now, answer)
        if found == [0]:
            break
        answered_now += sum(found)  # none of one that fails, which is set aside
    return answered_now
