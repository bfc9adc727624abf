"""Migrations: what they make, and what is said of a database that lacks them."""

from pathlib import Path
from shutil import copytree

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

from headway.db.access import grants, guards, migrate
from headway.db.core import engine as engines
from headway.db.core import identity
from headway.db.schema import METADATA
from headway.domain.errors import DatabaseError
from headway.domain.hints import Action, act
from headway.testing.data.refusals import refused
from headway.testing.database.interleaving import in_background, wait_until_blocked
from headway.testing.database.old_schemas import put

NEXT_REVISION = '''
"""What the next release adds."""

from alembic import op

revision = "9999"
down_revision = "{head}"


def upgrade() -> None:
    op.execute("CREATE TABLE novelty ()")
'''


OF_VERSIONS = text("""
    WITH code AS (INSERT INTO code_manifest (hash, files) VALUES ('m', '{}'))
    INSERT INTO dag (dag_id, bundle, relative_path, version_id, active, paused,
                     max_active_runs, max_active_tasks)
    VALUES ('etl', 'main', 'etl.py', 1, true, false, 1, 1)
""")

BEFORE_PRIORITY_CLASSES = text("""
    WITH version AS (
        INSERT INTO dag_version (id, dag_id, number, fingerprint, serialized, manifest_hash)
        OVERRIDING SYSTEM VALUE VALUES (1, 'etl', 1, 'f', '', 'm')
    ), plan AS (
        INSERT INTO backfill (id, dag_id, from_date, to_date, max_active_runs, planned)
        OVERRIDING SYSTEM VALUE VALUES (1, 'etl', '2024-01-01', '2024-01-02', 1, 2)
    ), run AS (
        INSERT INTO dag_run (dag_id, run_id, run_type, state, schedule_date, interval_start,
                             interval_end, run_after, version_id, backfill_id, started_at, ended_at)
        SELECT 'etl', run_type || at, run_type, state, at, at, at, at, 1, backfill, at,
               CASE WHEN state = 'success' THEN at END
          FROM (VALUES ('running', 'backfill', 1, TIMESTAMPTZ '2024-01-01'),
                       ('success', 'backfill', 1, TIMESTAMPTZ '2024-01-02'),
                       ('running', 'scheduled', NULL, TIMESTAMPTZ '2024-01-03'))
               AS it (state, run_type, backfill, at)
     RETURNING id
    )
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, state, pool, pool_slots, queue,
                               priority, rank)
    SELECT id, 'etl', 'work', 'scheduled', 'default_pool', 1, 'default', 1, 7 FROM run
""")

BEFORE_LEAVING = text("""
    INSERT INTO dag_version (id, dag_id, number, fingerprint, serialized, manifest_hash)
    OVERRIDING SYSTEM VALUE
    SELECT number, 'etl', number, 'f' || number, '', 'm' FROM generate_series(1, 3) AS number
""")


@pytest.fixture
def next_release(tmp_path: Path) -> Path:
    """The migrations of a release to come, which has one more than this one."""
    scripts = tmp_path / "migrations"
    copytree(migrate.SCRIPTS, scripts)
    revision = NEXT_REVISION.format(head=migrate.head())
    (scripts / "versions" / "9999_next.py").write_text(revision)
    return scripts


def test_the_migrations_make_the_schema(engine: Engine) -> None:
    with engine.connect() as conn:
        assert compare_metadata(MigrationContext.configure(conn), METADATA) == []


def test_the_migrations_make_what_the_schema_makes(engine: Engine, empty: Engine) -> None:
    """Checks, defaults and the expressions of indexes are compared as Postgres shows them."""
    METADATA.create_all(empty)

    assert _definitions(engine) == _definitions(empty)


def _definitions(engine: Engine) -> set[tuple[str, str, str]]:
    shown = text("""
        SELECT tablename AS home, indexname AS name, indexdef AS definition
          FROM pg_indexes WHERE schemaname = 'public'
         UNION ALL
        SELECT CAST(CAST(conrelid AS regclass) AS text), conname, pg_get_constraintdef(oid)
          FROM pg_constraint WHERE connamespace = CAST('public' AS regnamespace)
         UNION ALL
        SELECT table_name, column_name,
               concat_ws(' ', data_type, is_nullable, is_identity, column_default)
          FROM information_schema.columns WHERE table_schema = 'public'
         UNION ALL
        SELECT relname, 'storage', CAST(reloptions AS text)
          FROM pg_class
         WHERE relnamespace = CAST('public' AS regnamespace) AND reloptions IS NOT NULL
    """)
    no_tables = {"alembic_version", identity.VIEW}
    with engine.connect() as conn:
        rows = conn.execute(shown).all()
    return {(row.home, row.name, row.definition) for row in rows if row.home not in no_tables}


def test_every_migration_is_called_by_its_revision() -> None:
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    scripts = ScriptDirectory.from_config(config).walk_revisions()

    assert migrate.revisions() == [script.revision for script in scripts][::-1]


def test_a_second_upgrade_changes_nothing(database_url: str, engine: Engine) -> None:
    tables = inspect(engine).get_table_names()

    assert migrate.upgrade(database_url) == migrate.head()
    assert inspect(engine).get_table_names() == tables


@pytest.mark.parametrize("before", [None, "0013"], ids=["empty", "of an earlier release"])
def test_upgrades_at_once_follow_each_other(
    empty: Engine, empty_url: str, before: str | None
) -> None:
    if before is not None:
        put(empty, before)

    def upgrade() -> str:
        return migrate.upgrade(empty_url)

    with empty.connect() as first:
        migrate.take_turn(first)
        with in_background(upgrade) as one, in_background(upgrade) as two:
            wait_until_blocked(empty, 2)
            first.rollback()
            assert [one.result(), two.result()] == [migrate.head()] * 2


def test_an_upgrade_that_fails_at_its_end_has_changed_nothing(
    empty: Engine, empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DatabaseError("no grants today")

    monkeypatch.setattr(grants, "install", fail)

    with pytest.raises(DatabaseError, match="no grants today"):
        migrate.upgrade(empty_url)
    assert inspect(empty).get_table_names() == []


def test_an_upgrade_protects_what_it_makes(empty: Engine, empty_url: str) -> None:
    migrate.upgrade(empty_url)

    with empty.connect() as conn:
        assert guards.outdated(conn) == []
        assert grants.installed(conn) == grants.expected()


def test_an_upgrade_that_changes_nothing_waits_for_nobody(
    engine: Engine, database_url: str
) -> None:
    with engine.begin() as busy:
        for table in METADATA.tables:
            busy.exec_driver_sql(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
        migrate.upgrade(database_url)
        # Had it waited, this transaction would have been ended to let it go on.
        assert busy.scalar(text("SELECT true"))


def test_a_database_that_is_absent_is_told(empty_url: str) -> None:
    engine = engines.connect(empty_url + "_of_nobody")

    with pytest.raises(DatabaseError, match=r"does not answer(?s:.*)does not exist") as caught:
        migrate.check(engine)

    assert "set HEADWAY_DATABASE_URL" in str(caught.value)
    password = engine.url.password
    assert password is None or f":{password}@" not in str(caught.value)


def test_a_database_that_was_never_migrated_is_told(empty: Engine) -> None:
    with refused(DatabaseError, "no Headway tables yet", act(Action.MIGRATE_DATABASE)):
        migrate.check(empty)


def test_an_older_schema_is_told(
    engine: Engine, next_release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = migrate.head()
    monkeypatch.setattr(migrate, "SCRIPTS", next_release)

    with pytest.raises(DatabaseError, match=f"schema {older}, this Headway needs 9999"):
        migrate.check(engine)


def test_an_older_schema_is_upgraded(
    engine: Engine, database_url: str, next_release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "SCRIPTS", next_release)

    assert migrate.upgrade(database_url) == "9999"
    assert "novelty" in inspect(engine).get_table_names()


def test_a_newer_schema_is_refused(
    engine: Engine, database_url: str, next_release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        later.setattr(migrate, "SCRIPTS", next_release)
        migrate.upgrade(database_url)

    with pytest.raises(DatabaseError, match="9999, which is newer than this Headway"):
        migrate.check(engine)
    with pytest.raises(DatabaseError, match="9999, which is newer than this Headway"):
        migrate.upgrade(database_url)


def test_a_backfill_that_has_not_ended_gets_its_priority_class(
    empty: Engine, empty_url: str
) -> None:
    put(empty, "0008", OF_VERSIONS, BEFORE_PRIORITY_CLASSES)

    migrate.upgrade(empty_url)

    with empty.connect() as conn:
        found = conn.execute(
            text("SELECT priority_class, limited, rank FROM task_instance ORDER BY dag_run_id")
        )
        assert list(found) == [(1, True, 1e12 + 7), (0, False, 7), (0, False, 7)]


def test_a_version_that_may_have_been_in_force_till_now_is_not_taken_for_an_old_one(
    empty: Engine, empty_url: str
) -> None:
    put(empty, "0009", OF_VERSIONS, BEFORE_LEAVING)

    migrate.upgrade(empty_url)

    with empty.connect() as conn:
        left = "SELECT superseded_at > now() - interval '1 hour' FROM dag_version ORDER BY id"
        assert list(conn.scalars(text(left))) == [None, True, True]
