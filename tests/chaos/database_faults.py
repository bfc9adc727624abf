"""Faults of the database and of the way to it."""

import os
from dataclasses import dataclass
from random import Random
from signal import SIGKILL
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from tests.chaos.fault_series import Steps, Timer
from tests.chaos.scene import LEASE, LEASE_GRACE, Scene

from headway.db.core.engine import is_transient

STARTED_AT: Final = text("SELECT pg_postmaster_start_time()::text")
TERMINATE: Final = text("""
    SELECT count(*) FILTER (WHERE pg_terminate_backend(pid))
      FROM (SELECT pid FROM pg_stat_activity
             WHERE usename LIKE 'headway\\_%' ORDER BY random() LIMIT 5) AS victims
""")
LOCK: Final = text("LOCK TABLE task_instance IN SHARE ROW EXCLUSIVE MODE")
WAITING: Final = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
SILENCE: Final = text("""
    SELECT extract(epoch FROM clock_timestamp() - max(beat.beat_at))
      FROM process_beat AS beat JOIN process ON process.id = beat.process_id
     WHERE kind = :kind AND pid = :pid
""")

_CUT_SECONDS: Final = LEASE + LEASE_GRACE + 4.0
_LOCK_SECONDS: Final = (1.0, 4.0)
_BACK_WITHIN: Final = 30.0


@dataclass(frozen=True, slots=True)
class DatabaseFaults:
    """Kill Postgres, close its connections, hold a lock, cut a service off."""

    scene: Scene
    timer: Timer
    random: Random

    def kill_postgres(self) -> Steps:
        """Kill the postmaster, have it away for a moment, and start it again."""
        before = self.scene.scalar(STARTED_AT)
        postgres = self.scene.postgres
        if before is None or postgres.pid is None:
            return False
        os.kill(postgres.pid, SIGKILL)
        yield from self.timer.until(lambda: not postgres.is_alive(), _BACK_WITHIN)
        away = self.scene.scalar(STARTED_AT) is None
        yield from self.timer.wait(self.random.uniform(0, 3))
        postgres.start()
        back = yield from self.timer.until(
            lambda: self.scene.scalar(STARTED_AT) not in (None, before), _BACK_WITHIN
        )
        return away and back

    def terminate_backends(self) -> Steps:
        """Close some connections of services from the server's side."""
        yield
        return bool(self.scene.scalar(TERMINATE))

    def hold_lock(self) -> Steps:
        """Hold a lock that everybody who writes task instances waits for.

        A stopped process may hold a row for longer than the lock is waited for.
        """
        waited = False
        with self.scene.engine.connect() as conn:
            if not _locks(conn):
                return False
            yield from self.timer.wait(self.random.uniform(*_LOCK_SECONDS))
            waited = bool(self.scene.scalar(WAITING))
        return waited

    def cut_off(self, kind: str) -> Steps:
        """Let nothing through between a service and the database until a lease would be over."""
        services = self.scene.fleet.of(kind)
        if not services:
            return False
        service = self.random.choice(services)
        with self.scene.relays[service.name].cut():
            yield from self.timer.wait(_CUT_SECONDS)
            silence = self.scene.scalar(SILENCE, kind=kind, pid=service.pid)
        return silence is not None and silence > LEASE


def _locks(conn: Connection) -> bool:
    """Take the lock; tell whether it was free, and the database there."""
    try:
        conn.execute(LOCK)
    except DBAPIError as error:
        if not is_transient(error):
            raise
        return False
    return True
