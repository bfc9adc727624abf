"""keep the bundles of versions, and the versions of attempts and callbacks."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column("dag_version", sa.Column("bundle", sa.Text()))
    op.execute("""
        UPDATE dag_version SET bundle = dag.bundle FROM dag WHERE dag.dag_id = dag_version.dag_id
    """)
    op.alter_column("dag_version", "bundle", nullable=False)
    op.add_column("task_attempt", sa.Column("version_id", sa.BigInteger()))
    op.add_column("callback", sa.Column("version_id", sa.BigInteger()))
    # What is claimed at this moment runs the version of its run, unless a user has changed that.
    op.execute("""
        UPDATE task_attempt SET version_id = run.version_id
          FROM task_instance AS task, dag_run AS run
         WHERE task_attempt.ended_at IS NULL AND task.id = task_attempt.task_instance_id
           AND run.id = task.dag_run_id
    """)
    op.execute("""
        UPDATE callback SET version_id = run.version_id
          FROM dag_run AS run
         WHERE callback.state = 'running' AND run.id = callback.dag_run_id
    """)
