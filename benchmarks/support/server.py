"""A Postgres of the benchmark's own, with real settings, and databases that services log in to."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from headway.db.access import migrate
from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.embedded.postgres import PostgresServer
from headway.testing.database.postgres import ThrowawayPostgres

ROLES: Final = (
    Login.PARSER,
    Login.SCHEDULER,
    Login.WORKER,
    Login.USER,
    Login.API,
    Login.READONLY,
)
PASSWORD: Final = "benchmark"

# What the embedded server has for its users, fsync and synchronous_commit on, and
# what this needs to see what is done: which role runs what, and when rows were committed.
SETTINGS: Final = {
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.max": "10000",
    "track_commit_timestamp": "on",
}

_TEMPLATE: Final = "benchmark_template"
_REAL: Final = text("""
    SELECT bool_and(setting = 'on') FROM pg_settings
     WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes')
""")


@dataclass(frozen=True, slots=True)
class Database:
    """One database: an engine of its owner, and its address for each role."""

    owner: Engine
    urls: Mapping[Login, str]
    postmaster: int


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, in which databases are copies of a migrated one."""

    postgres: PostgresServer

    @contextmanager
    def database(self, name: str) -> Iterator[Database]:
        """Make a database for as long as the context lasts."""
        throwaway = ThrowawayPostgres(self.postgres.url)
        url = throwaway.create_database(name, _TEMPLATE)
        owner = engines.connect(url, name="benchmark", pool_size=3)
        address = make_url(url)
        urls = {
            role: address.set(username=role, password=PASSWORD).render_as_string(
                hide_password=False
            )
            for role in ROLES
        }
        try:
            assert self.postgres.pid is not None
            yield Database(owner, urls, self.postgres.pid)
        finally:
            owner.dispose()
            throwaway.drop_database(name)


@contextmanager
def running() -> Iterator[Server]:
    """Run a server in a folder of its own, which is gone afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="headway-bench-") as folder,
        PostgresServer(Path(folder, "postgres"), settings=SETTINGS) as postgres,
    ):
        url = ThrowawayPostgres(postgres.url).create_database(_TEMPLATE)
        migrate.upgrade(url, dict.fromkeys(ROLES, PASSWORD))
        engine = engines.connect(url, name="benchmark", pool_size=1)
        with engine.begin() as conn:
            assert conn.scalar(_REAL), "the server does not keep what it commits"
            conn.execute(text("CREATE EXTENSION pg_stat_statements"))
        engine.dispose()
        yield Server(postgres)
