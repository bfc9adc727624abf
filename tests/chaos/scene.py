"""What chaos happens to: Postgres, the services with the relays before it, folders, and times."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, TextClause
from sqlalchemy.exc import DBAPIError
from tests.chaos.receiver import Receiver
from tests.chaos.services import Fleet, Service

from headway.db.core.engine import is_transient
from headway.embedded.postgres import PostgresServer
from headway.testing.database.relay import Relay

LEASE: Final = 8.0
LEASE_GRACE: Final = 2.0
THRESHOLD: Final = 6.0
"""Seconds without a heartbeat after which a process counts as dead."""

SETTINGS: Final = {
    "HEADWAY_WORKER_LEASE_DURATION": str(LEASE),
    "HEADWAY_WORKER_HEARTBEAT_INTERVAL": "1",
    "HEADWAY_WORKER_KILL_GRACE": "1.5",
    "HEADWAY_SCHEDULER_LEASE_GRACE": str(LEASE_GRACE),
    "HEADWAY_SCHEDULER_HEARTBEAT_INTERVAL": "1",
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": str(THRESHOLD),
    "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "0.5",
    "HEADWAY_SCHEDULER_DEADLINE_CHECK_INTERVAL": "0.5",
    "HEADWAY_SCHEDULER_NOTIFICATION_GATHER_TIME": "1",
    "HEADWAY_PARSER_HEARTBEAT_INTERVAL": "1",
    "HEADWAY_PARSER_HEALTH_CHECK_THRESHOLD": str(THRESHOLD),
    "HEADWAY_API_HEARTBEAT_INTERVAL": "1",
}
"""Short leases and little patience: many adoptions in few minutes."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that faults act on."""

    root: Path
    postgres: PostgresServer
    engine: Engine
    fleet: Fleet
    relays: Mapping[str, Relay]
    receiver: Receiver
    user: Mapping[str, str] = field(repr=False)
    """The environment of a user's commands."""
    touched: set[tuple[str, str]] = field(default_factory=set)
    """DAG and run id of each run that a user's command was about."""

    @property
    def api_ports(self) -> dict[str, int]:
        """The port of each API by the name of its service."""
        services = (service for service in self.fleet.services if service.kind == "api")
        return {it.name: int(it.environment["HEADWAY_API_PORT"]) for it in services}

    def rows(self, query: TextClause, **given: object) -> list[Any]:
        """Return the rows of a query; none while the database is away."""
        try:
            with self.engine.connect() as conn:
                return list(conn.execute(query, given))
        except DBAPIError as error:
            if not is_transient(error):
                raise
            return []

    def scalar(self, query: TextClause, **given: object) -> Any:
        """Return the first value of a query; None while the database is away."""
        rows = self.rows(query, **given)
        return rows[0][0] if rows else None

    def service(self, name: str) -> Service:
        """Return the service of that name."""
        [found] = (service for service in self.fleet.services if service.name == name)
        return found
