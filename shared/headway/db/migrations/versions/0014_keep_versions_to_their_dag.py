"""keep versions to their DAG: keys that also hold which DAG a version or backfill is of."""

import sqlalchemy as sa
from alembic import op

from headway.domain.errors import DatabaseError

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

TERMINAL = "('failed', 'removed', 'skipped', 'success', 'upstream_failed')"

NOT_ITS_OWN = "NOT EXISTS (SELECT FROM {parent} AS its WHERE its.dag_id = {table}.dag_id AND its.id = {table}.{column})"
FOREIGN_RUN = NOT_ITS_OWN.format(parent="dag_version", table="dag_run", column="version_id")
FOREIGN_BACKFILL = "backfill_id IS NOT NULL AND " + NOT_ITS_OWN.format(
    parent="backfill", table="dag_run", column="backfill_id"
)
FOREIGN_DAG = "version_id IS NOT NULL AND " + NOT_ITS_OWN.format(
    parent="dag_version", table="dag", column="version_id"
)
NO_END = f"wake.state NOT IN {TERMINAL}"

RUN = "dag_id || '/' || run_id || ' (id ' || id || ')'"
WOKEN = "coalesce(its.dag_id || '/' || its.run_id, 'a deleted run') || ' (id ' || wake.dag_run_id || ')'"
NEWEST = "(SELECT max(id) FROM dag_version AS its WHERE its.dag_id = {table}.dag_id)"

BROKEN = (
    (
        "DAG runs with a version of another DAG",
        f"SELECT {RUN} FROM dag_run WHERE {FOREIGN_RUN} ORDER BY id",
        f"UPDATE dag_run SET version_id = {NEWEST.format(table='dag_run')}, unfinished = NULL WHERE {FOREIGN_RUN};",
    ),
    (
        "DAG runs in a backfill of another DAG",
        f"SELECT {RUN} FROM dag_run WHERE {FOREIGN_BACKFILL} ORDER BY id",
        f"UPDATE dag_run SET backfill_id = NULL, run_type = CASE run_type WHEN 'backfill' THEN 'manual' ELSE run_type END WHERE {FOREIGN_BACKFILL};",
    ),
    (
        "DAGs with a version of another DAG",
        f"SELECT dag_id FROM dag WHERE {FOREIGN_DAG} ORDER BY dag_id",
        f"UPDATE dag SET version_id = {NEWEST.format(table='dag')} WHERE {FOREIGN_DAG};",
    ),
    (
        "DAG runs with a wake for a state in which no task instance ends",
        f"SELECT DISTINCT {WOKEN} FROM wake LEFT JOIN dag_run AS its ON its.id = wake.dag_run_id WHERE {NO_END} ORDER BY 1",
        f"UPDATE wake SET task_id = NULL, state = NULL, skips = NULL WHERE {NO_END};",
    ),
)
"""What breaks a key: what it is called, the statement that names it, the one that corrects it."""

MOST_NAMED = 10


def upgrade() -> None:
    """Apply the change."""
    for what, look, remedy in BROKEN:
        refuse(what, list(op.get_bind().scalars(sa.text(look))), remedy)
    for table in ("dag_version", "backfill"):
        op.create_unique_constraint(op.f(f"{table}_dag_id_id_key"), table, ["dag_id", "id"])
    op.drop_index("backfill_dag_id_idx", "backfill")
    for table, parent, column in (
        ("dag", "dag_version", "version_id"),
        ("dag_run", "dag_version", "version_id"),
        ("dag_run", "backfill", "backfill_id"),
    ):
        op.drop_constraint(f"{table}_{column}_fkey", table, type_="foreignkey")
        name = f"{table}_{column.removesuffix('_id')}_fkey"
        op.create_foreign_key(name, table, parent, ["dag_id", column], ["dag_id", "id"])
    op.create_check_constraint(op.f("wake_state_check"), "wake", f"state IN {TERMINAL}")


def refuse(what: str, names: list[str], remedy: str) -> None:
    """Raise DatabaseError if there is anything that breaks a key."""
    if not names:
        return
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    raise DatabaseError(
        f"Migration {revision} has changed nothing. There are {what}, which its keys forbid: "
        f"{', '.join(names[:MOST_NAMED])}{more}. "
        f"Correct them as the owner of the tables, and migrate again:\n  {remedy}"
    )
