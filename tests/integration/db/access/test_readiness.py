"""What the database says of a process that is asked whether it is ready."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from headway.db.access import migrate
from headway.db.access.logins import Login
from headway.db.access.readiness import Readiness
from headway.db.core import engine as engines
from headway.db.core import processes
from headway.db.core.processes import Identity
from headway.runtime.health import HealthCheck
from headway.testing.data import seed
from headway.testing.database.logins import logged_in
from headway.testing.database.relay import relay

NEWER = text("UPDATE alembic_version SET version_num = '9999'")
UNMIGRATED = text("DROP TABLE alembic_version")
DEAD = text("UPDATE process SET ended_at = now(), epoch = epoch + 1")

ANSWERS = HealthCheck("database", True, "answers")


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine)


@pytest.fixture
def readiness(engine: Engine, me: Identity) -> Readiness:
    return Readiness(engine, me)


def schema() -> HealthCheck:
    return HealthCheck("schema", True, f"is {migrate.head()}")


def process(me: Identity) -> HealthCheck:
    return HealthCheck("process", True, f"is process {me.id}")


def test_a_process_that_is_registered_is_ready(readiness: Readiness, me: Identity) -> None:
    assert readiness.look() == [ANSWERS, schema(), process(me)]


@pytest.mark.parametrize("login", [Login.PARSER, Login.SCHEDULER, Login.WORKER])
def test_every_service_may_look(database_url: str, me: Identity, login: Login) -> None:
    with logged_in(database_url, login) as engine:
        assert Readiness(engine, me).look() == [ANSWERS, schema(), process(me)]


def test_one_that_has_not_registered_yet_is_not(engine: Engine) -> None:
    assert Readiness(engine).look()[-1] == HealthCheck("process", False, "is not registered yet")


def test_one_that_was_declared_dead_is_not(
    engine: Engine, readiness: Readiness, me: Identity
) -> None:
    with engine.begin() as conn:
        conn.execute(DEAD)

    assert readiness.look() == [
        ANSWERS,
        schema(),
        HealthCheck("process", False, f"process {me.id} counts as ended"),
    ]


def test_one_that_has_left_is_not(engine: Engine, readiness: Readiness, me: Identity) -> None:
    with engine.begin() as conn:
        processes.leave(conn, me)

    assert not readiness.look()[-1].ok


def test_another_schema_than_that_of_this_release_is_not_ready(
    engine: Engine, readiness: Readiness
) -> None:
    with engine.begin() as conn:
        conn.execute(NEWER)
    newer = readiness.look()[1]
    with engine.begin() as conn:
        conn.execute(UNMIGRATED)
    none = Readiness(engine).look()[1]

    needs = f"this release needs {migrate.head()}"
    assert newer == HealthCheck("schema", False, f"is 9999; {needs}")
    assert none == HealthCheck("schema", False, f"there are no tables; {needs}")


@pytest.fixture
def away(database_url: str) -> Iterator[Engine]:
    """Connections to a server that nobody finds."""
    with relay(database_url) as way:
        url = way.through(database_url)
    engine = engines.connect(url, name="test")
    yield engine
    engine.dispose()


def test_of_a_database_that_does_not_answer_nothing_else_is_told(
    away: Engine, me: Identity
) -> None:
    [check] = Readiness(away, me).look()

    assert (check.check, check.ok) == ("database", False)
    assert "Connection refused" in check.found
    assert "\n" not in check.found


def test_a_login_that_is_refused_is_told_without_the_password(
    database_url: str, me: Identity
) -> None:
    url = make_url(database_url).set(username="nobody_at_all", password="hidden")
    engine = engines.connect(url.render_as_string(hide_password=False))

    [check] = Readiness(engine, me).look()

    assert not check.ok
    assert "FATAL" in check.found
    assert "hidden" not in check.found
