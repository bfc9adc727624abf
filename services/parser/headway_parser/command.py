"""`headway parser`: keep the database true to a folder of DAG files until told to stop."""

import logging

from headway import __version__
from headway.db import engine as engines
from headway.db import migrate, processes
from headway.domain.errors import FencedError, SettingsError
from headway.runtime import service, settings
from headway.runtime.clock import SystemClock
from headway.runtime.forker import Forker
from headway.runtime.loop import Loop, Pace
from headway.runtime.scrub import scrubbed_environment
from headway_parser.manager import DagFileProcessorManager

log = logging.getLogger(__name__)

PRELOAD = ("headway_parser.child", "pendulum")


def run(database: str) -> int:
    """Run a parser on the database at that URL; return its exit status."""
    given = settings.read(settings.ParserSettings)
    if not given.dags.is_dir():
        raise SettingsError(
            f"There is no DAGs folder {given.dags.absolute()}; create it, or name another one "
            "by HEADWAY_PARSER_DAGS."
        )
    service.log_to_stderr("parser")
    stop = service.stop_on_signals()
    engine = engines.connect(database, name="headway parser")
    migrate.check(engine)
    with engine.begin() as conn:
        me = processes.register(conn, "parser", service.host(), __version__)
    log.info("action=start process=%d dags=%s", me.id, given.dags.absolute())
    manager = DagFileProcessorManager(engine, me, given, SystemClock(), _start_forker)
    pace = Pace(idle=min(0.2, given.dag_dir_list_interval))
    try:
        Loop("parser", manager.step, SystemClock(), engines.is_transient, pace, stop).run()
    except FencedError as error:
        log.error("%s", error)
        return 3
    finally:
        manager.close()
    with engine.begin() as conn:
        processes.leave(conn, me)
    log.info("action=stop process=%d", me.id)
    return 0


def _start_forker() -> Forker:
    return Forker.start(PRELOAD, scrubbed_environment(settings.environment()))
