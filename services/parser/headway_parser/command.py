"""`headway parser`: keep the database true to bundles of DAG files until told to stop."""

import logging
from contextlib import closing
from typing import Final

from headway import daemon
from headway.db.engine import is_transient
from headway.runtime import service, settings
from headway.runtime.clock import SystemClock
from headway.runtime.forker import ForkerError
from headway.runtime.loop import Loop, Pace
from headway.runtime.parser_settings import ParserSettings
from headway_parser.assembly import Surroundings, assembled, folders_of, parsing_of

log = logging.getLogger(__name__)

IDLE: Final = 0.2
"""Seconds between two steps at the most: a beat and a stop are never later than that."""


def run(database: str) -> int:
    """Run a parser on the database at that URL; return its exit status."""
    given = settings.read(ParserSettings)
    folders_of(given)
    around = Surroundings(settings.home(), settings.private_paths(), settings.environment())
    bell, clock = service.stop_on_signals(), SystemClock()
    parsing = parsing_of(given, around, clock)
    parsing.begin_to_warm_up()
    with (
        closing(parsing),
        daemon.registered("parser", database) as process,
        assembled(process, given, around, parsing, bell) as manager,
    ):
        isolation = parsing.warm_up().isolation
        log.info("action=isolate %s", isolation and isolation.describe())
        Loop("parser", manager.step, clock, _passes, Pace(idle=IDLE), bell).run()
    return 0


def _passes(error: BaseException) -> bool:
    """Tell whether it is worth trying again: a fork server elsewhere may be starting anew."""
    return is_transient(error) or isinstance(error, ForkerError)
