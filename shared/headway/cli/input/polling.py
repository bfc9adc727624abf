"""Look at the database again and again; one that is away for a while is waited for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from headway.cli.input.session import user_url
from headway.db.core import engine as engines

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PolledDatabase:
    """A database that a command looks at more than once."""

    engine: Engine

    def look(self, read: Callable[[Connection], T]) -> T | None:
        """Return what `read` returns; None if the database does not answer at the moment."""
        try:
            with self.engine.connect() as conn:
                return read(conn)
        except DBAPIError as error:
            if not engines.is_transient(error):
                raise
            return None


@contextmanager
def polled(name: str, url: str | None = None) -> Iterator[PolledDatabase]:
    """Give the database of users, or the one at `url`; the server knows the command by `name`."""
    engine = engines.connect(url or user_url(), name=name, pool_size=1)
    try:
        yield PolledDatabase(engine)
    finally:
        engine.dispose()
