"""name whose task it is: the process that has claimed a task instance, and that of a lease."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column("task_instance", sa.Column("process_id", sa.BigInteger(), nullable=True))
    op.add_column("lease", sa.Column("process_id", sa.BigInteger(), nullable=True))
    # What runs goes on, and its worker reports it.
    op.execute("""
        UPDATE task_instance AS task SET process_id = it.process_id
          FROM task_attempt AS it
         WHERE it.task_instance_id = task.id AND it.ended_at IS NULL AND it.process_id IS NOT NULL
    """)
    op.execute("""
        UPDATE lease SET process_id = it.process_id
          FROM task_attempt AS it
         WHERE (it.task_instance_id, it.attempt) = (lease.task_instance_id, lease.attempt)
    """)
    # A row check has taken the place of this guard.
    op.execute("DROP FUNCTION IF EXISTS headway_task_attempt_claimants() CASCADE")
