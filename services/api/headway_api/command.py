"""`headway api`: serve the REST API until told to stop."""

import logging
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sqlalchemy import Engine

from headway.actions.accounts import expiry
from headway.db.access import registration
from headway.db.access.registration import Registered
from headway.db.core import notices, processes
from headway.db.core.engine import is_transient, with_password
from headway.runtime.daemon import service
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.runtime.daemon.database_clock import DatabaseClock
from headway.runtime.daemon.loop import Found, Loop, Pace
from headway.runtime.settings import configuration
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.database import DatabaseSettings
from headway.runtime.settings.oidc import OidcSettings
from headway_api.auth.database import ApiDatabase, reading
from headway_api.http.server import serving

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from headway_api.live.hub import LiveHub

log = logging.getLogger(__name__)

OWN_CONNECTIONS: Final = 4
"""Connections beside those of requests: of the loop, the readiness, the listener, notices."""

EXPIRY_EVERY: Final = 60.0
"""Seconds between two deletions of expired sessions, tokens and answers."""


def run(database: str) -> int:
    """Serve the API of the installation at that database's URL; return the exit status."""
    given, oidc = configuration.read(ApiSettings), configuration.read(OidcSettings)
    bell, clock = service.stop_on_signals(), DatabaseClock(SystemClock())
    with registration.registered(
        "api",
        database,
        bell,
        connections=given.threads + OWN_CONNECTIONS,
        http_port=given.http_port,
    ) as process:
        process.show_skew(clock)
        state = ApiDatabase(reading(_reading_url(database), given), process.engine)
        loaded = LoadedApi(process, state, given, oidc)
        # Streams end before the server waits for its requests to end.
        with serving(loaded.load, given, bell), closing(loaded):
            job = ApiJob(process, clock, given.heartbeat_interval)
            pace = Pace(idle=given.heartbeat_interval, first=given.heartbeat_interval)
            moved = process.health.moved
            Loop("api", job.step, SystemClock(), is_transient, pace, bell, moved=moved).run()
    return 0


@dataclass(slots=True)
class LoadedApi:
    """The application of a process, once it is loaded."""

    process: Registered
    database: ApiDatabase
    given: ApiSettings
    oidc: OidcSettings
    _live: "LiveHub | None" = field(default=None)

    def load(self) -> "ASGIApp":
        """Return the application; what watches is told of notices from now on."""
        # Here and not above: an API that nobody asks would hold all of that in its memory.
        from headway_api.app import build, guarded

        app = build(self.database, self.given, self.oidc)
        live: LiveHub = app.state.live
        self._live = live
        rings = dict.fromkeys((notices.SCHEDULER, notices.WORKER, notices.STOP), live.ring)
        self.process.listen(rings)
        return guarded(app, self.given)

    def close(self) -> None:
        """End all streams."""
        if self._live is not None:
            self._live.close()


@dataclass(slots=True)
class ApiJob:
    """What an api process does beside its answers: it says that it lives, and cleans up."""

    process: Registered
    clock: DatabaseClock
    interval: float
    _cleaned_at: float | None = field(default=None)

    def step(self) -> Found:
        """Say that this process lives; delete what has expired, once a minute."""
        engine: Engine = self.process.engine
        own: Clock = self.clock.own
        before = own.now()
        with engine.begin() as conn:
            theirs = processes.beat(conn, self.process.me, self.clock.skew)
        self.clock.compare(before, theirs)
        now = own.monotonic()
        if self._cleaned_at is not None and now < self._cleaned_at + EXPIRY_EVERY:
            return Found.NOTHING
        with engine.begin() as conn:
            more = expiry.delete_expired(conn)
        if more:
            return Found.MORE
        self._cleaned_at = now
        return Found.NOTHING


def _reading_url(database: str) -> str:
    """Return where reads log in: as `headway_readonly` where the settings say so."""
    given = configuration.read(DatabaseSettings)
    if not given.readonly_url:
        return database
    if not given.readonly_password:
        return given.readonly_url
    return with_password(given.readonly_url, given.readonly_password.get_secret_value())
