"""What a parser does from its start to its end."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from typing import Final

from headway.db.access import registration
from headway.db.core.engine import is_transient
from headway.metrics.process import show_disk
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.loop import Found, Loop, Pace, cause_of
from headway.runtime.forker import Forker, ForkerError
from headway.runtime.settings.parser import ParserSettings
from headway_parser.assembly import assembled, parsing_of
from headway_parser.parse.fork_server import ParserHost
from headway_parser.parse.processor_pool import ProcessorPool
from headway_parser.secrets.answers import THREADS

log = logging.getLogger(__name__)

CONNECTIONS: Final = 5
"""Connections to the database, besides those of threads that read secrets."""

IDLE: Final = 0.2
"""Seconds between two steps at the most: a beat and a stop are never later than that."""


def serve(
    database: str,
    given: ParserSettings,
    around: ParserHost,
    starting: Future[Forker],
    bell: Bell,
) -> None:
    """Parse files until the bell is stopped."""
    clock = SystemClock()
    parsing = parsing_of(given, around, clock, starting)
    connections = CONNECTIONS + (THREADS if given.reads_secrets else 0)
    with (
        closing(parsing),
        registration.registered(
            "parser", database, bell, connections=connections, http_port=given.http_port
        ) as process,
        assembled(process, given, around, parsing, bell) as manager,
    ):
        process.show_skew(manager.database_clock)
        show_disk(around.home)
        process.health.others.append(parsing.check)
        look_early(manager.look)  # which takes a while, as does the start of the fork server
        warm_up_or_wait(parsing, elsewhere=given.forker is not None)

        def step() -> Found:
            found = Found.MORE if manager.step() else Found.NOTHING
            parsing.recover()
            return found

        moved = process.health.moved
        Loop("parser", step, clock, _passes, Pace(idle=IDLE), bell, moved=moved).run()


def warm_up_or_wait(parsing: ProcessorPool, *, elsewhere: bool) -> None:
    """Have the fork server ready; one elsewhere may start later than this process."""
    try:
        parsing.warm_up()
    except ForkerError as error:
        if not elsewhere:
            raise
        log.warning("action=await_forker error=%s", error)


def look_early(look: Callable[[], None]) -> None:
    """Look before the loop does, which looks again if this came to nothing for now."""
    try:
        look()
    except Exception as error:
        if not _passes(error):
            raise
        log.warning("action=scan The first look failed, and is tried again: %s", cause_of(error))


def _passes(error: BaseException) -> bool:
    """Tell whether it is worth trying again: a fork server elsewhere may be starting anew."""
    return is_transient(error) or isinstance(error, ForkerError)
