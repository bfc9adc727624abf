"""Connections to a database of a test as the role of a service, with what that may do."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, Engine, create_engine

from headway.db.access import roles
from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.db.core import identity
from headway.db.core.processes import Identity
from headway.testing.data import seed

PASSWORD: Final = "the-same-for-every-role-of-every-test"  # noqa: S105


def address(url: str, login: Login) -> str:
    """Return the address for that role of the database whose owner's is `url`.

    Roles are the server's: tests that run at the same time agree about their password.
    """
    owner = engines.connect(url, name="test", pool_size=1)
    try:
        with owner.begin() as conn:
            roles.set_passwords(conn, {login: PASSWORD})
    finally:
        owner.dispose()
    return roles.address(url, login, PASSWORD)


@contextmanager
def logged_in(url: str, login: Login) -> Iterator[Engine]:
    """Give connections as that role, as a service has them."""
    engine = engines.connect(address(url, login), name="test", pool_size=2)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def entered(url: str, login: Login, kind: str) -> Iterator[tuple[Engine, Identity]]:
    """Give connections as that role, which prove that they are of a new process."""
    with logged_in(url, login) as engine:
        me = seed.register(engine, kind)
        identity.introduce(engine, me)
        yield engine, me


@contextmanager
def bare_connection(url: str, login: Login) -> Iterator[Connection]:
    """Give one connection as that role, with nothing but what the database itself sets."""
    engine = create_engine(address(url, login))
    try:
        with engine.connect() as conn:
            yield conn
    finally:
        engine.dispose()
