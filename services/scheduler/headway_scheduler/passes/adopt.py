"""The pass that takes over what dead processes leave."""

import logging
from collections.abc import Callable

from sqlalchemy import Engine

from headway.db import events, leases, processes
from headway.db.events import Event
from headway.db.processes import Identity
from headway.domain.arguments import JsonValue
from headway.domain.retry import after_loss
from headway.runtime.seam import nothing

log = logging.getLogger(__name__)

LIMIT = 100
"""How many processes or attempts one pass takes over."""


def adopt(
    engine: Engine,
    me: Identity,
    threshold: float,
    grace: float,
    before_commit: Callable[[], None] = nothing,
) -> int:
    """Fence processes that are silent for `threshold` seconds, and try their attempts again.

    An attempt is given up once its lease ran out `grace` seconds ago: by then its
    worker, if it is alive, has killed it.
    """
    with engine.begin() as conn:
        processes.confirm(conn, me)
        dead = processes.end_dead(conn, threshold, LIMIT)
        for process in dead:
            log.warning("action=fence kind=%s process=%d", process.kind, process.id)
            details: dict[str, JsonValue] = {
                "process": process.id,
                "kind": process.kind,
                "host": process.hostname,
                "pid": process.pid,
            }
            events.add(
                conn, Event(actor=f"scheduler:{me.id}", action="process.dead", details=details)
            )
        lost = leases.take_expired(conn, grace, LIMIT)
        leases.end_lost(conn, [(attempt, after_loss(attempt.losses)) for attempt in lost])
        if lost:
            log.warning("action=adopt attempts=%d", len(lost))
        before_commit()
    return len(dead) + len(lost)
