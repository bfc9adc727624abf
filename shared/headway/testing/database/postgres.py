"""A throw-away Postgres server for tests, and databases that are copied from a template."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg2
from docker.errors import DockerException  # type: ignore[import-untyped]
from psycopg2 import sql
from sqlalchemy.engine import make_url
from testcontainers.community.postgres import PostgresContainer

from headway.embedded.data_directory import DATABASE
from headway.embedded.postgres import PostgresServer

CARELESS: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Settings for data that nobody will miss after a power failure."""

_CROWDED: Final = {"max_connections": "200"}
"""Several workers of pytest share a server, each with services of its own."""


@dataclass(frozen=True, slots=True)
class ThrowawayPostgres:
    """A server to make databases in; the user of `url` may create them.

    `migrated` is the name of a database that has Headway's tables already, if there is one.
    """

    url: str
    migrated: str | None = None

    def create_database(self, name: str, template: str | None = None) -> str:
        """Create a database and return its address.

        As a copy of `template`, which nobody may be connected to meanwhile, if one is named.
        """
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        self._execute(
            statement.format(sql.Identifier(name), sql.Identifier(template or "template0"))
        )
        return self.url_of(name)

    def url_of(self, name: str) -> str:
        """Return the address of a database."""
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)

    def drop_database(self, name: str) -> None:
        """Drop the database, and whoever is still connected to it."""
        statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        self._execute(statement.format(sql.Identifier(name)))

    def _execute(self, statement: sql.Composed) -> None:
        address = make_url(self.url).set(drivername="postgresql")
        with closing(psycopg2.connect(address.render_as_string(hide_password=False))) as connection:
            connection.autocommit = True
            with connection.cursor() as cursor:
                cursor.execute(statement)


@contextmanager
def throwaway_postgres(
    url: str | None, directory: Path, prepared: Path | None = None
) -> Iterator[ThrowawayPostgres]:
    """Give a server for as long as the context lasts.

    The one at `url`; without it one in a container, if a Docker engine answers; else an
    embedded one in `directory`, or in a copy there of a `prepared` one with a migrated database.
    """
    migrated = None
    with ExitStack() as stack:
        container = None if url else _start_container()
        if container is not None:
            stack.callback(container.stop)
            url = container.get_connection_url()
        if url is None:
            if prepared is not None:
                directory, migrated = directory / prepared.name, DATABASE
                subprocess.run(["cp", "--archive", str(prepared), str(directory)], check=True)
            url = stack.enter_context(
                PostgresServer(directory, settings={**CARELESS, **_CROWDED})
            ).url
        address = make_url(url).set(drivername="postgresql+psycopg2")  # else SQLAlchemy chooses
        yield ThrowawayPostgres(address.render_as_string(hide_password=False), migrated)


def _start_container() -> PostgresContainer | None:
    flags = [word for name, value in CARELESS.items() for word in ("-c", f"{name}={value}")]
    try:
        container = PostgresContainer("postgres:18", command=["postgres", *flags])
        container.start()
    except DockerException:
        return None
    return container
