"""The login roles: what the catalogue grants them, what they cannot do, how they are made."""

from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Final

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from headway.db.access import (
    delivery,
    expiry_functions,
    grants,
    grants_matrix,
    grants_page,
    migrate,
    roles,
)
from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.db.core import identity
from headway.db.schema import METADATA
from headway.domain.errors import DatabaseError
from headway.domain.hints import Action, act, hint
from headway.testing.database.logins import bare_connection, logged_in
from headway.testing.database.postgres import ThrowawayPostgres

DOCS: Final = Path(__file__).parents[4] / "docs" / "grants.md"
REFUSED: Final = "42501"
CALLABLE: Final = {
    (Login.PARSER, delivery.OF_BUNDLE),
    (Login.WORKER, delivery.SIGNATURE),
    (Login.WORKER, delivery.OF_CALL),
    *(
        (login, name)
        for login in (Login.SCHEDULER, Login.USER, Login.API)
        for name in expiry_functions.SIGNATURES
    ),
}

# Not asked in the way in which the grants themselves are looked at when they are installed.
GRANTED: Final = text("""
    SELECT grantee AS login, table_name, privilege_type, '' AS column_name
      FROM information_schema.table_privileges
     WHERE grantee LIKE 'headway\\_%' OR grantee = 'PUBLIC' AND table_schema = 'public'
     UNION ALL
    SELECT grantee, table_name, privilege_type, column_name
      FROM information_schema.column_privileges AS one
     WHERE (grantee LIKE 'headway\\_%' OR grantee = 'PUBLIC' AND table_schema = 'public')
       AND NOT EXISTS (SELECT FROM information_schema.table_privileges AS whole
                        WHERE (whole.grantee, whole.table_name, whole.privilege_type)
                              = (one.grantee, one.table_name, one.privilege_type))
""")

OTHER_GRANTS: Final = text("""
    SELECT object_type, object_name FROM information_schema.role_usage_grants
     WHERE grantee LIKE 'headway\\_%'
     UNION ALL
    SELECT 'ROUTINE', routine_name FROM information_schema.role_routine_grants
     WHERE grantee LIKE 'headway\\_%'
     UNION ALL
    SELECT 'MEMBERSHIP', CAST(roleid AS regrole)::text FROM pg_auth_members
     WHERE CAST(CAST(member AS regrole) AS text) LIKE 'headway\\_%'
""")

POWERS: Final = text("""
    SELECT rolname, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls,
           (SELECT count(*) FROM pg_class WHERE relowner = role.oid)
           + (SELECT count(*) FROM pg_proc WHERE proowner = role.oid)
           + (SELECT count(*) FROM pg_namespace WHERE nspowner = role.oid)
           + (SELECT count(*) FROM pg_database WHERE datdba = role.oid) AS owned,
           has_schema_privilege(rolname, 'public', 'CREATE') AS creates,
           has_database_privilege(rolname, current_database(), 'CREATE') AS creates_schemas
      FROM pg_roles AS role WHERE rolname LIKE 'headway\\_%'
     ORDER BY rolname
""")

GET_ROUND: Final = {
    "disable a guard": "ALTER TABLE task_instance DISABLE TRIGGER task_instance_moves",
    "disable all": "ALTER TABLE task_instance DISABLE TRIGGER ALL",
    "drop a guard": "DROP TRIGGER task_instance_moves ON task_instance",
    "drop its function": "DROP FUNCTION headway_task_instance_moves CASCADE",
    "replace its function": "CREATE OR REPLACE FUNCTION headway_task_instance_moves() "
    "RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "replay as a replica": "SET session_replication_role = replica",
    "become the owner": "SET ROLE {owner}",
    "log in as the owner": "SET SESSION AUTHORIZATION {owner}",
    "take more power": "ALTER ROLE CURRENT_USER SUPERUSER",
    "empty a table": "TRUNCATE task_instance CASCADE",
    "make a table": "CREATE TABLE mine (id int)",
    "drop a check": "ALTER TABLE task_instance DROP CONSTRAINT task_instance_state_check",
    "rewrite the journal": "UPDATE event SET actor = 'nobody'",
    "erase the journal": "DELETE FROM event",
    "rewrite a version": "UPDATE dag_version SET serialized = ''",
    "rewrite code": "UPDATE code_file SET content = ''",
    "replace what delivers secrets": "CREATE OR REPLACE FUNCTION headway_secret("
    "text, text, bigint, integer, uuid) RETURNS TABLE (granted boolean, present boolean, "
    "key_id text, sealed bytea) LANGUAGE sql AS 'SELECT true, true, key_id, sealed FROM secret'",
    "change whose task it is": "UPDATE task_instance SET dag_run_id = 1",
}


@pytest.fixture
def empty_url(postgres: ThrowawayPostgres) -> Iterator[str]:
    """The address of a database without any table."""
    name = f"headway 100% {token_hex(4)}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


def refuses(url: str, login: Login, statement: str) -> bool:
    with bare_connection(url, login) as conn:
        try:
            conn.exec_driver_sql(statement)
        except DBAPIError as error:
            return getattr(error.orig, "pgcode", None) == REFUSED
    return False


def test_the_catalogue_grants_what_the_matrix_says_and_nothing_else(engine: Engine) -> None:
    with engine.connect() as conn:
        granted = {tuple(row) for row in conn.execute(GRANTED)}
        assert grants.installed(conn) == grants.expected()

    assert granted == grants.expected()


def test_nothing_is_granted_but_on_tables_and_a_few_functions(engine: Engine) -> None:
    """Of the database and its schema everybody has the use, and nobody more."""
    with engine.connect() as conn:
        others = {tuple(row) for row in conn.execute(OTHER_GRANTS)}
        assert others == {("ROUTINE", signature.partition("(")[0]) for _, signature in CALLABLE}
        assert grants.callable_by(conn) == CALLABLE


def test_no_role_has_any_power(engine: Engine) -> None:
    with engine.connect() as conn:
        found = conn.execute(POWERS).all()

    assert [row.rolname for row in found] == sorted(Login)
    assert {tuple(row)[1:] for row in found} == {
        (False, False, False, False, False, 0, False, False)
    }


def test_the_matrix_names_tables_and_columns_that_there_are() -> None:
    tables = {name: set(table.columns.keys()) for name, table in METADATA.tables.items()}
    tables[grants_matrix.VERSION_TABLE] = {"version_num"}
    tables[identity.VIEW] = {"id"}
    for _, table, verb, column in grants.expected():
        assert column == "" or (verb != "DELETE" and column in tables[table])


def test_the_documented_grants_are_the_matrix() -> None:
    assert DOCS.read_text() == grants_page.as_markdown(), "run `headway db grants > docs/grants.md`"


def test_no_role_gets_round_the_guards(engine: Engine, database_url: str) -> None:
    owner = engine.url.username
    allowed = {
        (login, what)
        for login in Login
        for what, statement in GET_ROUND.items()
        if not refuses(database_url, login, statement.format(owner=owner))
    }

    assert allowed == set()


def test_only_schedulers_and_users_enter_task_instances(database_url: str) -> None:
    for login in set(Login) - {Login.SCHEDULER, Login.USER, Login.API}:
        assert refuses(database_url, login, "COPY task_instance (state) FROM STDIN")
        assert refuses(database_url, login, "INSERT INTO task_instance (state) VALUES ('none')")
        assert refuses(database_url, login, "INSERT INTO task_attempt (attempt) VALUES (1)")


def test_a_worker_sees_what_it_runs_and_no_more(database_url: str) -> None:
    hidden = {
        table
        for table in METADATA.tables
        if refuses(database_url, Login.WORKER, f"SELECT FROM {table}")
    }

    assert hidden >= {"backfill", "dag_file", "event", "import_error", "pool"}
    assert hidden >= {"secret", "secret_grant"}


def test_a_reader_writes_nothing_even_if_it_is_granted(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    engine = engines.connect(empty_url)
    with engine.begin() as conn:
        conn.exec_driver_sql("GRANT ALL ON pool TO headway_readonly")
    engine.dispose()
    with bare_connection(empty_url, Login.READONLY) as conn, pytest.raises(DBAPIError) as caught:
        conn.execute(text("DELETE FROM pool"))

    assert getattr(caught.value.orig, "pgcode", None) == "25006"


def test_every_session_of_a_role_begins_with_its_settings(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    for login in Login:
        with bare_connection(empty_url, login) as conn:
            for name, value in roles.SETTINGS[login].items():
                assert conn.execute(text(f"SHOW {name}")).scalar() == value, (login, name)


def test_grants_and_settings_that_were_changed_are_put_right(empty_url: str) -> None:
    migrate.upgrade(empty_url)
    engine = engines.connect(empty_url)
    with engine.begin() as conn:
        conn.exec_driver_sql("GRANT DELETE ON dag_run TO headway_worker")
        conn.exec_driver_sql("GRANT UPDATE (token) ON task_attempt TO headway_user")
        conn.exec_driver_sql("GRANT SELECT ON event TO PUBLIC")
        conn.exec_driver_sql("REVOKE INSERT ON wake FROM headway_scheduler")
        conn.exec_driver_sql(f"GRANT EXECUTE ON FUNCTION {delivery.SIGNATURE} TO PUBLIC")
        conn.exec_driver_sql(f"REVOKE ALL ON FUNCTION {delivery.SIGNATURE} FROM headway_worker")
        database = conn.scalar(roles.DATABASE).replace("%", "%%")
        conn.exec_driver_sql(f"ALTER ROLE headway_user IN DATABASE {database} RESET ALL")
        conn.exec_driver_sql("REVOKE USAGE ON SCHEMA public FROM PUBLIC")
        conn.exec_driver_sql(f"REVOKE CONNECT ON DATABASE {database} FROM PUBLIC")
        assert grants.installed(conn) != grants.expected()

    migrate.upgrade(empty_url)

    with engine.connect() as conn:
        assert grants.installed(conn) == grants.expected()
        assert grants.callable_by(conn) == CALLABLE
    engine.dispose()
    with bare_connection(empty_url, Login.USER) as conn:
        assert conn.scalar(text("SHOW lock_timeout")) == "5s"
        assert conn.execute(text("SELECT FROM dag")).all() == []


def test_grants_that_are_right_are_left_alone(engine: Engine) -> None:
    stamps = text("SELECT oid, xmin FROM pg_class WHERE relnamespace = 'public'::regnamespace")
    with engine.begin() as conn:
        before = conn.execute(stamps).all()
        grants.install(conn, list(Login))
        assert conn.execute(stamps).all() == before


def test_a_service_checks_the_schema_as_its_role(database_url: str) -> None:
    for login in Login:
        with logged_in(database_url, login) as engine:
            assert migrate.check(engine) == migrate.head()


def test_a_role_without_grants_is_told_what_to_do(engine: Engine, database_url: str) -> None:
    with engine.begin() as conn:
        conn.exec_driver_sql("REVOKE ALL ON alembic_version FROM headway_worker")

    with logged_in(database_url, Login.WORKER) as own, pytest.raises(DatabaseError) as caught:
        migrate.check(own)

    assert "refuses its user headway_worker: " in str(caught.value)
    assert caught.value.hint is not None
    assert act(Action.MIGRATE_DATABASE) in caught.value.hint.parts


def test_a_role_may_not_migrate(engine: Engine, database_url: str) -> None:
    with engine.begin() as conn:
        conn.exec_driver_sql("DROP TRIGGER dag_run_moves ON dag_run")
    with logged_in(database_url, Login.USER) as own, pytest.raises(DatabaseError) as caught:
        migrate.upgrade(own.url.render_as_string(hide_password=False))

    assert "refuses its user headway_user: " in str(caught.value)
    assert caught.value.hint == hint("Migrate as the owner of the database's tables.")


@pytest.mark.parametrize("login", sorted(set(Login) - {Login.API}))
def test_only_the_api_reads_what_signs_in(database_url: str, login: Login) -> None:
    for column in ("api_account.password_hash", "api_token.hash"):
        table = column.partition(".")[0]
        assert refuses(database_url, login, f"SELECT {column} FROM {table}")
    for table in ("api_session", "api_login_link", "api_login_limit", "api_idempotency"):
        assert refuses(database_url, login, f"SELECT FROM {table}")


def test_readers_and_users_list_accounts_and_change_none(database_url: str) -> None:
    for login in (Login.READONLY, Login.USER):
        with bare_connection(database_url, login) as conn:
            assert conn.execute(text("SELECT name, role FROM api_account")).all() == []
            assert conn.execute(text("SELECT id, name FROM api_token")).all() == []
    for statement in (
        "INSERT INTO api_account (name, role) VALUES ('eve', 'admin')",
        "UPDATE api_account SET role = 'admin'",
        "DELETE FROM api_token",
    ):
        assert refuses(database_url, Login.USER, statement)
