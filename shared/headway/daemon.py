"""How the process of a service begins and ends: checked, registered, and left in good order."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from headway import __version__
from headway.db import engine as engines
from headway.db import migrate, processes
from headway.db.processes import Identity
from headway.runtime import service

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Registered:
    """A service process that the others know of."""

    engine: Engine
    me: Identity


@contextmanager
def registered(
    kind: str,
    database: str,
    *,
    connections: int = 5,
    queues: Sequence[str] = (),
    slots: int = 0,
) -> Iterator[Registered]:
    """Register this process as a service of that kind, for as long as the block lasts.

    DatabaseError when the database is not there or not migrated.  A block that ends by
    an error leaves the registration behind: others then count the process as dead.
    """
    service.log_to_stderr(kind)
    engine = engines.connect(database, name=f"headway {kind}", pool_size=connections)
    migrate.check(engine)
    with engine.begin() as conn:
        me = processes.register(conn, kind, service.host(), __version__, queues, slots)
    log.info("action=start process=%d", me.id)
    yield Registered(engine, me)
    try:
        with engine.begin() as conn:
            processes.leave(conn, me)
    except DBAPIError as error:
        if not engines.is_transient(error):
            raise
        log.warning("The database is away; this process will be counted as dead.")
    log.info("action=stop process=%d", me.id)
