"""The pass that takes over what dead processes leave."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sqlalchemy import Connection

from headway.db.core import events, processes
from headway.db.core.events import Event
from headway.db.core.processes import DeadProcess
from headway.db.recovery import lost_attempts, ownership
from headway.db.recovery.lost_attempts import LostAttempt
from headway.decide.scheduling.lost import FollowedAttempt, is_storm, what_follows
from headway.domain.arguments import JsonValue
from headway.domain.dag.retry import Next
from headway.domain.states import TaskState
from headway.metrics.scheduler import ADOPTIONS, ATTEMPTS_LOST, PROCESSES_DEAD
from headway.runtime.daemon.seam import nothing
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)

LIMIT: Final = 500
"""How many processes, attempts or runs one pass takes over."""


def adopt(replica: Replica, before_commit: Callable[[], None] = nothing) -> int:
    """Fence processes that are silent, and take over what is nobody's; return how much.

    This scheduler becomes the owner of their attempts; the runs that they have reserved
    are released.  An attempt is given up once its lease ran out `lease_grace` seconds ago:
    by then its worker, if it is alive, has killed it.  One that has left an application on a
    cluster is followed by another one in its place.
    """
    with replica.engine.begin() as conn:
        processes.confirm(conn, replica.me)
        dead = _fence(conn, replica)
        runs, attempts = _take_ownership(conn, replica)
        lost = _take_lost(conn, replica)
        before_commit()
    replica.tracing.attempts_lost([attempt.key for attempt in lost])
    for process in dead:
        PROCESSES_DEAD.inc(process.kind)
    ADOPTIONS.inc("run", by=runs)
    ADOPTIONS.inc("attempt", by=attempts)
    ATTEMPTS_LOST.inc(by=len(lost))
    return len(dead) + runs + attempts + len(lost)


def _fence(conn: Connection, replica: Replica) -> Sequence[DeadProcess]:
    threshold = replica.settings.scheduler_health_check_threshold
    silent, registered = processes.silent(conn, threshold)
    if not silent:
        return []
    if is_storm(silent, registered):
        _tell_of_storm(conn, replica, "processes", silent, registered)
        threshold *= 2
    dead = processes.end_dead(conn, threshold, LIMIT)
    for process in dead:
        log.warning("action=fence kind=%s process=%d", process.kind, process.id)
        details: dict[str, JsonValue] = {
            "process": process.id,
            "kind": process.kind,
            "host": process.hostname,
            "pid": process.pid,
        }
        _journal(conn, replica, "process.dead", details)
    return dead


def _take_ownership(conn: Connection, replica: Replica) -> tuple[int, int]:
    owners = ownership.abandoned(conn)
    if not owners:
        return 0, 0
    runs = ownership.release(conn, owners, LIMIT)
    attempts = ownership.adopt(conn, owners, replica.me.id, LIMIT)
    log.warning("action=adopt processes=%s runs=%d attempts=%d", owners, runs, attempts)
    details: dict[str, JsonValue] = {"processes": [*owners], "runs": runs, "attempts": attempts}
    _journal(conn, replica, "ownership.adopted", details)
    return runs, attempts


def _take_lost(conn: Connection, replica: Replica) -> Sequence[LostAttempt]:
    grace = replica.settings.lease_grace
    silence = lost_attempts.count_silent(conn, grace)
    if silence.expired + silence.orphaned == 0:
        return ()
    storm = is_storm(silence.expired, silence.running)
    if storm:
        _tell_of_storm(conn, replica, "attempts", silence.expired, silence.running)
    lost = lost_attempts.take_expired(conn, grace, LIMIT, storm=storm)
    if lost:
        _end_lost(conn, replica, lost)
        log.warning("action=lost attempts=%d", len(lost))
    return lost


def _end_lost(conn: Connection, replica: Replica, lost: Sequence[LostAttempt]) -> None:
    ended: list[tuple[LostAttempt, Next]] = []
    followed: list[tuple[LostAttempt, TaskState | None]] = []
    for attempt in lost:
        leaves = attempt.left is not None
        match what_follows(attempt.losses, attempt.on_lost, leaves=leaves, stop_to=attempt.stop_to):
            case FollowedAttempt(stop_to):
                followed.append((attempt, stop_to))
            case Next() as following:
                ended.append((attempt, following))
    if ended:
        lost_attempts.end_lost(conn, ended)
    if followed:
        lost_attempts.follow(conn, followed, replica.me.id)


def _tell_of_storm(conn: Connection, replica: Replica, what: str, silent: int, of: int) -> None:
    log.warning("action=hold_storm what=%s silent=%d of=%d: so many at once", what, silent, of)
    _journal(conn, replica, f"{what}.held", {"silent": silent, "of": of})


def _journal(
    conn: Connection, replica: Replica, action: str, details: Mapping[str, JsonValue]
) -> None:
    events.add(conn, Event(actor=f"scheduler:{replica.me.id}", action=action, details=details))
