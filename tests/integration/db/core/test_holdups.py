"""Who can hold up a migration, or a scheduler that starts; and that the one who does is named."""

from contextlib import suppress
from pathlib import Path
from shutil import copytree
from typing import Final

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from headway.db.access import migrate
from headway.db.access.logins import Login
from headway.db.core import processes
from headway.db.scheduling import schedulers
from headway.db.schema import METADATA
from headway.domain.errors import ConflictError, DatabaseError
from headway.testing.data import seed
from headway.testing.database.interleaving import in_background, wait_until_blocked
from headway.testing.database.logins import bare_connection

REVISION: Final = '''
"""What the next release changes."""

from alembic import op

revision = "9999"
down_revision = "{head}"


def upgrade() -> None:
    op.execute("ALTER TABLE dag_run ADD COLUMN novelty int")
    op.execute("ALTER TABLE pool ADD COLUMN novelty int")
'''

ADVISORY: Final = text("SELECT pg_advisory_lock(4841445741593), pg_advisory_lock(4841445741594)")

MODES: Final = (
    "ACCESS SHARE",
    "ROW SHARE",
    "ROW EXCLUSIVE",
    "SHARE UPDATE EXCLUSIVE",
    "SHARE",
    "SHARE ROW EXCLUSIVE",
    "EXCLUSIVE",
    "ACCESS EXCLUSIVE",
)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have migrations give up after two seconds."""
    monkeypatch.setattr(migrate, "LOCK_TIMEOUT", "2s")


@pytest.fixture
def next_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next migration change two tables."""
    scripts = tmp_path / "migrations"
    copytree(migrate.SCRIPTS, scripts)
    (scripts / "versions" / "9999_next.py").write_text(REVISION.format(head=migrate.head()))
    monkeypatch.setattr(migrate, "SCRIPTS", scripts)


def lock(hostile: Connection, tables: tuple[str, ...]) -> None:
    """Take every lock on these tables and their rows that this role may take, and advisory ones."""
    hostile.execute(ADVISORY)
    for table in tables:
        for mode in MODES:
            with suppress(DBAPIError), hostile.begin_nested():
                hostile.exec_driver_sql(f"LOCK TABLE {table} IN {mode} MODE NOWAIT")
        with suppress(DBAPIError), hostile.begin_nested():
            hostile.exec_driver_sql(f"SELECT FROM {table} FOR UPDATE")


@pytest.mark.regression
@pytest.mark.parametrize("login", Login)
@pytest.mark.usefixtures("engine", "impatient")
def test_no_role_holds_up_a_migration_that_changes_nothing(database_url: str, login: Login) -> None:
    with bare_connection(database_url, login) as hostile:
        lock(hostile, (*METADATA.tables, "alembic_version"))

        assert migrate.upgrade(database_url) == migrate.head()


@pytest.mark.regression
@pytest.mark.usefixtures("impatient")
def test_no_role_holds_up_the_first_migration(empty_url: str) -> None:
    with bare_connection(empty_url, Login.READONLY) as hostile:
        hostile.execute(ADVISORY)

        assert migrate.upgrade(empty_url) == migrate.head()


@pytest.mark.regression
@pytest.mark.usefixtures("engine", "impatient", "next_release")
def test_a_migration_that_has_to_wait_names_who_holds_it_up(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A reader has left a transaction open."""
    with bare_connection(database_url, Login.READONLY) as reader:
        reader.execute(text("SET application_name = 'a dashboard'"))
        reader.execute(text("SELECT count(*) FROM dag_run"))
        pid = reader.scalar(text("SELECT pg_backend_pid()"))
        with pytest.raises(DatabaseError) as caught:
            migrate.upgrade(database_url)

    told = str(caught.value)
    assert "The migration has changed nothing: it has waited 2s for a lock" in told
    assert f"pid {pid}, role headway_readonly, application 'a dashboard', idle in trans" in told
    assert f"`SELECT pg_terminate_backend({pid})` ends it" in told
    assert " UTC" in told.partition("since ")[2]
    assert caplog.text.count(f"action=wait_for_lock held_by=pid {pid}, ") == 1
    assert migrate.upgrade(database_url) == "9999"


@pytest.mark.regression
@pytest.mark.usefixtures("next_release")
def test_a_migration_that_a_deadlock_ends_names_who_held_it_up(
    engine: Engine, database_url: str
) -> None:
    """A transaction has changed a pool, and looks at the runs that the migration has locked."""
    with engine.begin() as conn:
        name = conn.scalar(text("SELECT quote_ident(current_database())"))
        conn.exec_driver_sql(f"ALTER DATABASE {name} SET deadlock_timeout = '3s'")
    with engine.connect() as other:
        other.execute(text("SET LOCAL deadlock_timeout = '60s'"))
        other.execute(text("SET LOCAL lock_timeout = 0"))
        other.execute(text("UPDATE pool SET slots = slots"))
        pid = other.scalar(text("SELECT pg_backend_pid()"))
        with in_background(lambda: migrate.upgrade(database_url)) as migration:
            wait_until_blocked(engine)
            other.execute(text("SELECT count(*) FROM dag_run"))
            with pytest.raises(DatabaseError, match="waited for each other's locks") as caught:
                migration.result()

    assert f"`SELECT pg_terminate_backend({pid})` ends it" in str(caught.value)


@pytest.mark.regression
@pytest.mark.parametrize("login", [name for name in Login if name is not Login.SCHEDULER])
def test_no_other_role_holds_up_a_scheduler_that_starts(
    engine: Engine, database_url: str, login: Login
) -> None:
    me = seed.register(engine)
    with engine.begin() as conn:
        schedulers.extend_uptime(conn, 60)
    with bare_connection(database_url, login) as hostile:
        lock(hostile, ("scheduler_uptime",))
        with bare_connection(database_url, Login.SCHEDULER) as conn:
            conn.execute(text("SET LOCAL lock_timeout = '2s'"))
            assert schedulers.join(conn, me, alone=False) is None


@pytest.mark.parametrize("before", [True, False], ids=["not the first", "the first ever"])
def test_of_two_schedulers_that_start_at_once_one_finds_the_other(
    engine: Engine, before: bool
) -> None:
    one, two = seed.register(engine), seed.register(engine)
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET ended_at = now() WHERE id = :id"), {"id": two.id})
        if before:
            schedulers.extend_uptime(conn, 60)

    def join() -> ConflictError | None:
        with engine.begin() as conn:
            return schedulers.join(conn, seed.register(engine), alone=True)

    with engine.connect() as conn:
        assert schedulers.join(conn, one, alone=True) is None
        with in_background(join) as other:
            wait_until_blocked(engine)
            conn.commit()
            assert isinstance(other.result(), ConflictError)


def test_a_scheduler_that_starts_holds_up_none_that_runs(engine: Engine) -> None:
    runs, starts = seed.register(engine), seed.register(engine)
    with engine.connect() as starting, engine.begin() as running:
        assert schedulers.join(starting, starts, alone=False) is None
        running.execute(text("SET LOCAL lock_timeout = '1s'"))
        processes.confirm(running, runs)
