"""Keys by which a version, and a backfill, is of the DAG that names it; and states of wakes."""

from typing import Final

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import IntegrityError

from headway.db.access import migrate
from headway.db.access.logins import Login
from headway.domain.errors import DatabaseError
from headway.domain.states import TERMINAL, TaskState
from headway.testing.data import seed
from headway.testing.database.logins import bare_connection
from headway.testing.database.old_schemas import put

WAKE: Final = "INSERT INTO wake (dag_run_id, task_id, state) VALUES (1, 'work', '{state}')"

# Two DAGs with a version and a backfill each, and a run of "etl" that has its own.
TWO_DAGS: Final = text("""
    WITH dags AS (
        INSERT INTO dag (dag_id, bundle, relative_path, version_id, active, paused,
                         max_active_runs, max_active_tasks)
        VALUES ('etl', 'main', 'etl.py', 1, true, false, 1, 1),
               ('other', 'main', 'other.py', 2, true, false, 1, 1)
    ), versions AS (
        INSERT INTO dag_version (id, dag_id, number, fingerprint, serialized, manifest_hash)
        OVERRIDING SYSTEM VALUE VALUES (1, 'etl', 1, 'f', '', 'm'), (2, 'other', 1, 'f', '', 'm')
    ), backfills AS (
        INSERT INTO backfill (id, dag_id, from_date, to_date, max_active_runs, planned)
        OVERRIDING SYSTEM VALUE VALUES (1, 'etl', '2024-01-01', '2024-01-02', 1, 1),
                                       (2, 'other', '2024-01-01', '2024-01-02', 1, 1)
    )
    INSERT INTO dag_run (dag_id, run_id, run_type, schedule_date, interval_start, interval_end,
                         run_after, version_id, backfill_id)
    SELECT 'etl', 'run' || number, 'backfill', at, at, at, at, 1, 1
      FROM generate_series(1, 12) AS number
     CROSS JOIN LATERAL (SELECT TIMESTAMPTZ '2024-01-01' + number * interval '1 day') AS it (at)
""")

RUNS: Final = "etl/run1 (id 1), etl/run2 (id 2)"
BROKEN: Final = (
    ("UPDATE dag_run SET version_id = 2", "DAG runs with a version of another DAG", RUNS),
    ("UPDATE dag_run SET version_id = 7", "DAG runs with a version of another DAG", RUNS),
    ("UPDATE dag_run SET backfill_id = 2", "DAG runs in a backfill of another DAG", RUNS),
    ("UPDATE dag SET version_id = 2", "DAGs with a version of another DAG", "etl."),
    (WAKE.format(state="running"), "DAG runs with a wake for a state", "etl/run1 (id 1)."),
    (WAKE.format(state="lost").replace("1", "99"), "with a wake for", "a deleted run (id 99)."),
)


@pytest.fixture
def versions(engine: Engine) -> dict[str, int]:
    """The versions of two DAGs, "etl" with a run."""
    found = seed.store_all(engine, [seed.dag(), seed.dag(dag_id="other")])
    seed.create_runs(engine, found["etl"], [0])
    return found


def refused(conn: Connection, statement: str, key: str, **parameters: object) -> None:
    """Have a statement refused by that key or check."""
    with pytest.raises(IntegrityError, match=key), conn.begin_nested():
        conn.execute(text(statement), parameters)


@pytest.mark.regression
def test_a_parser_gives_no_run_and_no_dag_a_version_of_another_dag(
    engine: Engine, database_url: str, versions: dict[str, int]
) -> None:
    with engine.begin() as conn:  # a row check would refuse more, before the key
        conn.exec_driver_sql("ALTER TABLE dag_run DISABLE ROW LEVEL SECURITY")
    own, other = "WHERE dag_id = 'etl'", versions["other"]
    with bare_connection(database_url, Login.PARSER) as parser:
        statement = f"UPDATE dag_run SET version_id = :it, pinned = true {own}"
        refused(parser, statement, "dag_run_version_fkey", it=other)
        refused(parser, f"UPDATE dag SET version_id = :it {own}", "dag_version_fkey", it=other)
        right = text(f"UPDATE dag SET version_id = :it {own}")
        assert parser.execute(right, {"it": versions["etl"]}).rowcount == 1


@pytest.mark.regression
@pytest.mark.usefixtures("versions")
def test_a_user_puts_no_run_into_a_backfill_or_version_of_another_dag(
    engine: Engine, database_url: str, versions: dict[str, int]
) -> None:
    planned = text("""
        INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)
        VALUES ('other', now(), now(), 1, 0) RETURNING id
    """)
    with engine.begin() as conn:
        backfill = conn.scalar(planned)
    with bare_connection(database_url, Login.USER) as user:
        statement = "UPDATE dag_run SET backfill_id = :it"
        refused(user, statement, "dag_run_backfill_fkey", it=backfill)
        statement = "UPDATE dag_run SET version_id = :it"
        refused(user, statement, "dag_run_version_fkey", it=versions["other"])


@pytest.mark.regression
@pytest.mark.usefixtures("versions")
def test_a_worker_tells_of_ends_only(engine: Engine, database_url: str) -> None:
    """A scheduler reads the state of a wake as that of a task instance that has ended."""
    with engine.begin() as conn:  # a row check would refuse more, before the key
        conn.exec_driver_sql("ALTER TABLE wake DISABLE ROW LEVEL SECURITY")
    with bare_connection(database_url, Login.WORKER) as worker:
        for state in ("nonsense", *sorted(set(TaskState) - TERMINAL)):
            refused(worker, WAKE.format(state=state), "wake_state_check")
        for state in sorted(TERMINAL):
            worker.execute(text(WAKE.format(state=state)))


@pytest.mark.parametrize(("change", "what", "which"), BROKEN, ids=range(len(BROKEN)))
def test_data_that_breaks_a_key_is_named_with_the_statement_that_corrects_it(
    empty: Engine, empty_url: str, change: str, what: str, which: str
) -> None:
    put(empty, "0013", TWO_DAGS, text(change))

    with pytest.raises(DatabaseError, match=what) as caught:
        migrate.upgrade(empty_url)

    told, _, remedy = str(caught.value).partition("migrate again:\n")
    assert told.startswith("Migration 0014 has changed nothing. There are ")
    assert which in told
    assert ("etl/run10 (id 10) and 2 more." in told) is (which == RUNS)
    with empty.begin() as conn:
        assert migrate.current(conn) == "0013"
        conn.exec_driver_sql(remedy)
    assert migrate.upgrade(empty_url) == migrate.head()


def test_data_that_keeps_the_keys_is_migrated(empty: Engine, empty_url: str) -> None:
    put(empty, "0013", TWO_DAGS, text(WAKE.format(state="success")))

    migrate.upgrade(empty_url)

    with empty.connect() as conn:
        kept = text("SELECT DISTINCT version_id, backfill_id, run_type FROM dag_run")
        assert [tuple(row) for row in conn.execute(kept)] == [(1, 1, "backfill")]
