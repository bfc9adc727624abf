"""`python -m benchmarks.support.stand_in URL`: a worker whose tasks end as soon as they begin.

It claims, reports and gives notice as a worker does, with the same functions, but many
attempts at a time and without running anything.
"""

import os
import select
import signal
import sys
from functools import partial
from typing import Final

import psycopg2
from sqlalchemy import Engine
from sqlalchemy.engine import make_url

from headway.db.core import engine as engines
from headway.db.core import identity, notices, processes
from headway.db.core.notices import NoticeSender
from headway.db.core.processes import Identity
from headway.db.execution import attempts
from headway.db.execution.attempts import Report
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_QUEUE
from headway.domain.states import Outcome, TaskState
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.loop import Pace
from headway.runtime.settings.configuration import read
from headway.runtime.settings.database import DatabaseSettings

BATCH: Final = 1000
SLOTS: Final = 1_000_000
LEASE: Final = 60.0
HEARTBEAT: Final = 2.0
SUCCESS: Final = Next(TaskState.SUCCESS)
CLOCK: Final = SystemClock()


def main(url: str) -> None:
    """Work until SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    engine = engines.connect(url, name="headway worker", pool_size=2)
    with engine.begin() as conn:
        me = processes.register(
            conn, "worker", ("benchmark", os.getpid()), "benchmark", [DEFAULT_QUEUE], SLOTS
        )
    identity.introduce(engine, me)
    notifier = NoticeSender(partial(notices.send, engine), CLOCK)
    bell = _connect(url)
    if read(DatabaseSettings).wakes:
        notifier.start()
        with bell.cursor() as cursor:
            cursor.execute("LISTEN headway_worker")
    pace, beat_at, in_vain, rung = Pace(), 0.0, 0, True
    while True:
        if CLOCK.monotonic() >= beat_at:
            with engine.begin() as conn:
                processes.beat(conn, me)
            beat_at = CLOCK.monotonic() + HEARTBEAT
        if (rung or _any_queued(engine)) and work(engine, me):
            notifier.notify(notices.SCHEDULER)
            in_vain, rung = 0, False
        else:
            in_vain += 1
            rung = _rings(bell, pace.idle_after(in_vain))
            in_vain = 0 if rung else in_vain


def _any_queued(engine: Engine) -> bool:
    with engines.reader(engine).connect() as conn:
        return attempts.any_queued(conn, [DEFAULT_QUEUE])


def work(engine: Engine, me: Identity) -> int:
    """Claim what is queued, and report that it has succeeded; return how much there was."""
    with engine.begin() as conn:
        processes.confirm(conn, me)
        claimed = attempts.claim(conn, me, [DEFAULT_QUEUE], BATCH, LEASE)
    if claimed:
        reports = [
            Report(key=each.key, outcome=Outcome.SUCCESS, following=SUCCESS) for each in claimed
        ]
        with engine.begin() as conn:
            processes.confirm(conn, me)
            attempts.report(conn, reports)
    return len(claimed)


def _connect(url: str) -> "psycopg2.extensions.connection":
    address = make_url(url).set(drivername="postgresql")
    connection = psycopg2.connect(address.render_as_string(hide_password=False))
    connection.autocommit = True
    return connection


def _rings(bell: "psycopg2.extensions.connection", seconds: float) -> bool:
    select.select([bell], [], [], seconds)
    bell.poll()
    heard = bool(bell.notifies)
    bell.notifies.clear()
    return heard


if __name__ == "__main__":
    main(sys.argv[1])
