"""Databases of an earlier revision of the schema, as a migration finds them."""

from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, TextClause, inspect, text

from headway.db.access import guards, migrate

ROWS_OF_0023: Final = (
    text("""
        INSERT INTO dag (dag_id, bundle, relative_path, version_id, active, paused,
                         max_active_runs, max_active_tasks, next_run_after, next_below,
                         scheduled_since, watched_since)
        VALUES ('etl', 'main', 'etl.py', 2, true, true, 4, 8, '2024-01-05Z', 3,
                '2024-01-01Z', '2024-01-02Z'),
               ('new', 'main', 'new.py', NULL, true, false, 4, 8, NULL, NULL, '2024-01-03Z', NULL)
    """),
    text("INSERT INTO code_manifest (hash, files) VALUES ('m', '{}')"),
    text("""
        INSERT INTO dag_version (id, dag_id, number, fingerprint, serialized, manifest_hash,
                                 look_at_start, left_at)
        OVERRIDING SYSTEM VALUE
        VALUES (1, 'etl', 1, 'f1', '', 'm', false, '2024-01-03Z'),
               (2, 'etl', 2, 'f2', '', 'm', true, NULL)
    """),
    text("""
        INSERT INTO dag_bundle (name, commit, parser_id, asked_at)
        VALUES ('main', 'c0ffee', 7, '2024-01-04Z'), ('new', NULL, NULL, NULL)
    """),
    text("""
        INSERT INTO dag_file (bundle, relative_path, asked, claimed)
        VALUES ('main', 'etl.py', true, false), ('main', 'new.py', false, false)
    """),
    text("""
        INSERT INTO process (id, kind, hostname, pid, version, drain_asked_at, ended_at)
        OVERRIDING SYSTEM VALUE
        VALUES (7, 'worker', 'a', 11, '0.1', '2024-01-04Z', '2024-01-04Z'),
               (8, 'scheduler', 'a', 12, '0.1', NULL, '2024-01-04Z')
    """),
    text("INSERT INTO process_beat (process_id) VALUES (7), (8)"),
    text("INSERT INTO schedule_watch (since, seen_at) VALUES ('2024-01-02Z', '2024-01-04Z')"),
    text("""
        INSERT INTO backfill (id, dag_id, from_date, to_date, max_active_runs, planned, idle_only)
        OVERRIDING SYSTEM VALUE
        VALUES (1, 'etl', '2024-01-01Z', '2024-01-02Z', 1, 1, false),
               (2, 'etl', '2024-01-03Z', '2024-01-04Z', 1, 1, true)
    """),
    text("""
        INSERT INTO dag_run (id, dag_id, run_id, run_type, state, schedule_date, interval_start,
                             interval_end, run_after, version_id, backfill_id, pinned,
                             parse_asked_at, started_at)
        OVERRIDING SYSTEM VALUE
        SELECT id, 'etl', 'run' || id, type, state, at, at, at, at, 2, backfill,
               state = 'running', CASE WHEN state = 'queued' THEN at END,
               CASE WHEN state = 'running' THEN at END
          FROM (VALUES (1, 'scheduled', 'running', NULL, TIMESTAMPTZ '2024-01-01Z'),
                       (2, 'backfill', 'running', 1, '2024-01-02Z'),
                       (3, 'backfill', 'running', 2, '2024-01-03Z'),
                       (4, 'manual', 'queued', NULL, '2024-01-04Z'))
               AS it (id, type, state, backfill, at)
    """),
    text("""
        INSERT INTO task_instance (dag_run_id, dag_id, task_id, state, pool, pool_slots, queue,
                                   priority, rank, lane, limited, scheduled_at)
        SELECT id, 'etl', 'work', 'scheduled', 'default_pool', 2, 'default', 1,
               (id - 1) * 1e12, id - 1, id > 1, '2024-01-04Z'
          FROM generate_series(1, 3) AS id
    """),
    text("""
        INSERT INTO backfill_date (backfill_id, position, schedule_date, interval_start,
                                   interval_end, fate, reason, run_id, dag_run_id)
        SELECT 1, position, '2024-01-02Z', '2024-01-02Z', '2024-01-02Z', fate, 'why', 'run2', run
          FROM (VALUES (1, 'create', 2), (2, 'rerun', NULL), (3, 'skip', NULL),
                       (4, 'conflict', NULL)) AS it (position, fate, run)
    """),
    text("""
        INSERT INTO passed_interval (dag_id, schedule_date, first_start, interval_start,
                                     interval_end, reason, dag_run_id)
        VALUES ('etl', '2023-12-02Z', '2023-12-01Z', '2023-12-01Z', '2023-12-02Z', 'catchup', NULL),
               ('etl', '2024-01-01Z', '2023-12-30Z', '2023-12-31Z', '2024-01-01Z', 'rollup', 1)
    """),
    text("""
        INSERT INTO event (actor, action, details)
        VALUES ('scheduler:8', 'process.dead', '{"process": 7}'),
               ('scheduler:8', 'charges.adopted', '{"processes": [7], "runs": 1, "attempts": 0}'),
               ('scheduler:8', 'dag.poison', '{"error": "why"}'),
               ('scheduler:8', 'run.poison', '{"error": "why"}')
    """),
    *(
        text(f"ALTER TABLE {table} ALTER COLUMN id RESTART WITH 100")
        for table in ("dag_version", "process", "backfill", "dag_run")
    ),
    text("CREATE FUNCTION headway_run_ties(bigint[]) RETURNS int LANGUAGE sql AS 'SELECT 1'"),
    text("CREATE FUNCTION headway_process_ties(bigint[]) RETURNS int LANGUAGE sql AS 'SELECT 1'"),
)
"""Rows in every table of which revision 0024 renames something, and what else is renamed."""


def put(empty: Engine, revision: str, *rows: TextClause) -> None:
    """Make the tables of that revision, with these rows, in an empty database."""
    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    with empty.begin() as conn:
        config.attributes["connection"] = conn
        command.upgrade(config, revision)
        there = inspect(conn).get_table_names()
        for guard in guards.triggers():
            if guard.table in there:
                guards.put_in_place(conn, guard)
    with empty.begin() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        for statement in rows:
            conn.execute(statement)
