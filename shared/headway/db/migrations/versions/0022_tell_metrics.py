"""Note when a task became scheduled, and let schedulers see how old transactions are."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column("task_instance", sa.Column("scheduled_at", sa.DateTime(timezone=True)))
    # Of the sessions of others only their age is told, and that only where the owner of the
    # schema may see it.
    op.execute("""
        CREATE FUNCTION headway_oldest_transaction() RETURNS float8
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
            SELECT CASE WHEN pg_has_role('pg_read_all_stats', 'USAGE')
                        THEN coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)
                   END
              FROM pg_stat_activity
             WHERE datname = current_database() AND backend_type = 'client backend'
               AND pid <> pg_backend_pid()
        $$
    """)
