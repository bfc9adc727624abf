"""Name tables and columns by the field's terms.

Names change and nothing else: no table is written anew.  The journal is read once.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

TABLES = {"passed_interval": "skipped_interval", "schedule_watch": "scheduler_uptime"}

COLUMNS = (
    ("backfill", "lane", "priority_class"),
    ("backfill_date", "fate", "decision"),
    ("dag", "next_below", "next_run_below"),
    ("dag", "watched_since", "looked_at_since"),
    ("dag_bundle", "asked_at", "fetch_claimed_at"),
    ("dag_file", "asked", "parse_requested"),
    ("dag_run", "parse_asked_at", "parse_requested_at"),
    ("dag_version", "left_at", "superseded_at"),
    ("dag_version", "look_at_start", "settle_at_start"),
    ("process", "drain_asked_at", "drain_requested_at"),
    ("scheduler_uptime", "one", "singleton"),
    ("task_instance", "lane", "priority_class"),
)

INDEXES = {
    "passed_interval_run": "skipped_interval_run",
    "task_instance_line": "task_instance_queue_order",
}

# `headway db migrate` makes them anew, with their new names.
FUNCTIONS = ("headway_run_ties(bigint[])", "headway_process_ties(bigint[])")

RENAME_EVENTS = """
    UPDATE event SET action = it.new
      FROM (VALUES ('charges.adopted', 'ownership.adopted'),
                   ('dag.poison', 'dag.quarantine'),
                   ('run.poison', 'run.quarantine')) AS it (old, new)
     WHERE action = it.old
"""

CONSTRAINTS = sa.text("""
    SELECT conname FROM pg_constraint
     WHERE conrelid = CAST(CAST(:home AS text) AS regclass)
       AND starts_with(CAST(conname AS text), :prefix)
""")


def upgrade() -> None:
    """Apply the change."""
    for old, new in TABLES.items():
        op.rename_table(old, new)
        _rename_constraints(new, f"{old}_", f"{new}_")
    for table, old, new in COLUMNS:
        op.alter_column(table, old, new_column_name=new)
        _rename_constraints(table, f"{table}_{old}_", f"{table}_{new}_")
    for old, new in INDEXES.items():
        op.execute(f"ALTER INDEX {old} RENAME TO {new}")
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION IF EXISTS {function}")
    op.execute(RENAME_EVENTS)


def _rename_constraints(table: str, old: str, new: str) -> None:
    """Rename what begins with `old`: since version 18 Postgres has names for NOT NULL, too."""
    found = op.get_bind().scalars(CONSTRAINTS, {"home": table, "prefix": old})
    for name in list(found):
        op.execute(f"ALTER TABLE {table} RENAME CONSTRAINT {name} TO {new}{name[len(old) :]}")
