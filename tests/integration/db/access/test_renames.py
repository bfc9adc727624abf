"""The migration that names tables and columns by the field's terms keeps every row."""

import re
from typing import Any, Final

import pytest
from sqlalchemy import Connection, Engine, inspect, text

from headway.db.access import migrate
from headway.testing.database.old_schemas import ROWS_OF_0023, put

TABLES: Final = {"passed_interval": "skipped_interval", "schedule_watch": "scheduler_uptime"}

COLUMNS: Final = {
    ("backfill", "lane"): "priority_class",
    ("backfill_date", "fate"): "decision",
    ("dag", "next_below"): "next_run_below",
    ("dag", "watched_since"): "looked_at_since",
    ("dag_bundle", "asked_at"): "fetch_claimed_at",
    ("dag_file", "asked"): "parse_requested",
    ("dag_run", "parse_asked_at"): "parse_requested_at",
    ("dag_version", "left_at"): "superseded_at",
    ("dag_version", "look_at_start"): "settle_at_start",
    ("process", "drain_asked_at"): "drain_requested_at",
    ("scheduler_uptime", "one"): "singleton",
    ("task_instance", "lane"): "priority_class",
}

EVENTS: Final = {
    "charges.adopted": "ownership.adopted",
    "dag.poison": "dag.quarantine",
    "run.poison": "run.quarantine",
}

OLD_WORDS: Final = re.compile(
    r"passed|watch|fate|lane|asked|look_at|left_at|next_below|_line|_ties"
)

NAMES: Final = text("""
    SELECT relname AS name FROM pg_class WHERE relnamespace = CAST('public' AS regnamespace)
     UNION
    SELECT attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
     WHERE relnamespace = CAST('public' AS regnamespace) AND relkind IN ('r', 'v')
       AND NOT attisdropped
     UNION
    SELECT conname FROM pg_constraint WHERE connamespace = CAST('public' AS regnamespace)
     UNION
    SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
     UNION
    SELECT polname FROM pg_policy
     UNION
    SELECT proname FROM pg_proc WHERE pronamespace = CAST('public' AS regnamespace)
                                  AND starts_with(CAST(proname AS text), 'headway_')
""")

FILES: Final = text("""
    SELECT relname, pg_relation_filenode(oid) AS file
      FROM pg_class
     WHERE relnamespace = CAST('public' AS regnamespace) AND relkind IN ('r', 'i')
""")


LATER: dict[str, dict[str, Any]] = {
    "dag_version": {"bundle": "main"},
    "process": {"http_address": None},
    "task_instance": {"rendered_map_index": None},
}
"""Columns that later migrations have added, as rows of before have them."""


def rows(conn: Connection) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table that has any."""
    found = {
        table: list(conn.scalars(text(f"SELECT to_jsonb(it) FROM {table} AS it ORDER BY it::text")))
        for table in inspect(conn).get_table_names()
        if table != "alembic_version"
    }
    return {table: its for table, its in found.items() if its}


def renamed(before: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The rows as they shall be called."""
    after = {
        TABLES.get(table, table): [
            {
                COLUMNS.get((TABLES.get(table, table), name), name): value
                for name, value in row.items()
            }
            | LATER.get(TABLES.get(table, table), {})
            for row in its
        ]
        for table, its in before.items()
    }
    for event in after["event"]:
        event["action"] = EVENTS.get(event["action"], event["action"])
    return after


def test_every_row_is_there_under_the_new_names(empty: Engine, empty_url: str) -> None:
    put(empty, "0023", *ROWS_OF_0023)
    with empty.connect() as conn:
        before, files = rows(conn), {row.file for row in conn.execute(FILES)}
    filled = {TABLES.get(table, table) for table in before}
    assert filled >= {*TABLES.values(), *(table for table, _ in COLUMNS)}

    migrate.upgrade(empty_url)

    with empty.connect() as conn:
        assert rows(conn) == renamed(before)
        # No table or index of before is written anew: that would take as long as they are large.
        assert {row.file for row in conn.execute(FILES)} >= files


@pytest.mark.parametrize("revision", [None, "0023"], ids=["new", "upgraded"])
def test_no_name_in_the_database_holds_an_old_word(
    empty: Engine, empty_url: str, revision: str | None
) -> None:
    if revision is not None:
        put(empty, revision, *ROWS_OF_0023)
        with empty.connect() as conn:
            assert len([name for name in conn.scalars(NAMES) if OLD_WORDS.search(name)]) > 20

    migrate.upgrade(empty_url)

    with empty.connect() as conn:
        names = list(conn.scalars(NAMES))
    assert len(names) > 300
    assert [name for name in names if OLD_WORDS.search(name)] == []
