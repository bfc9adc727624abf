"""`headway parser`: keep the database true to a folder of DAG files until told to stop."""

from contextlib import closing
from functools import partial

from headway import daemon
from headway.db.engine import is_transient
from headway.domain.errors import SettingsError
from headway.runtime import service, settings
from headway.runtime.clock import SystemClock
from headway.runtime.forker import Forker
from headway.runtime.loop import Loop, Pace
from headway.runtime.scrub import scrubbed_environment
from headway_parser.manager import DagFileProcessorManager

PRELOAD = ("headway_parser.child", "pendulum")


def run(database: str) -> int:
    """Run a parser on the database at that URL; return its exit status."""
    given = settings.read(settings.ParserSettings)
    if not given.dags.is_dir():
        raise SettingsError(
            f"There is no DAGs folder {given.dags.absolute()}; create it, or name another one "
            "by HEADWAY_PARSER_DAGS."
        )
    bell = service.stop_on_signals()
    start_forker = partial(Forker.start, PRELOAD, scrubbed_environment(settings.environment()))
    with daemon.registered("parser", database) as process:
        manager = DagFileProcessorManager(
            process.engine,
            process.me,
            given,
            SystemClock(),
            start_forker,
            notify=process.notifier.notify,
        )
        pace = Pace(idle=min(0.2, given.dag_dir_list_interval))
        with closing(manager):
            Loop("parser", manager.step, SystemClock(), is_transient, pace, bell).run()
    return 0
