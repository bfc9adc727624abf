"""A parser in the process of a test, with a fork server and children that are real."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import Engine

from headway.db.access.registration import Registered
from headway.db.core.notices import NoticeSender
from headway.db.core.processes import Identity
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.health import Health
from headway.runtime.settings import configuration
from headway.runtime.settings.parser import ParserSettings
from headway.testing.data import seed
from headway.testing.time.clock import PATIENCE
from headway_parser.assembly import assembled, parsing_of
from headway_parser.manager import DagFileProcessorManager
from headway_parser.parse.fork_server import ParserHost

CLOCK = SystemClock()


@contextmanager
def manager_of(
    engine: Engine, dags: Path, me: Identity | None = None, **given: object
) -> Iterator[DagFileProcessorManager]:
    """Give the manager of a parser of that folder, which lists it twenty times a second."""
    wanted = {"dags": dags, "dag_dir_list_interval": 0.05, "watch_files": False, **given}
    home = dags.parent / "home"
    around = ParserHost(home, (home,), configuration.environment())
    with ExitStack() as ending:
        registered = Registered(
            engine,
            me or seed.register(engine, "parser"),
            NoticeSender(lambda _: None, CLOCK),
            False,
            Health(Bell(), CLOCK),
            ending,
        )
        read = configuration.read(ParserSettings, **wanted)
        parsing = parsing_of(read, around, CLOCK)
        manager = ending.enter_context(assembled(registered, read, around, parsing, Bell()))
        yield manager


def until(manager: DagFileProcessorManager, condition: Callable[[], bool]) -> None:
    """Let a manager work until the condition holds."""
    deadline = CLOCK.monotonic() + PATIENCE
    while not condition():
        assert CLOCK.monotonic() < deadline, "what was waited for did not come"
        manager.step()
