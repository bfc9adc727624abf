"""call a DAG's own functions for what has happened."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.add_column(
        "dag_task",
        sa.Column("callbacks", sa.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.add_column(
        "dag_run",
        sa.Column("timed_out", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.create_table(
        "callback",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("dag_run_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("map_index", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=True),
        sa.Column("queue", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), server_default=sa.text("'queued'"), nullable=False),
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("token", sa.Uuid(), nullable=True),
        sa.Column("process_id", sa.BigInteger(), nullable=True),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        *_constraints(),
        comment="One row per event that a DAG has functions for; workers call them.",
    )
    op.create_index(
        "callback_unfinished",
        "callback",
        ["id"],
        unique=False,
        postgresql_where=sa.text("ended_at IS NULL"),
    )


def _constraints() -> list[sa.Constraint]:
    return [
        sa.PrimaryKeyConstraint("id", name=op.f("callback_pkey")),
        sa.ForeignKeyConstraint(
            ["dag_run_id"],
            ["dag_run.id"],
            name=op.f("callback_dag_run_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint(
            "dag_run_id",
            "task_id",
            "map_index",
            "attempt",
            name=op.f("callback_dag_run_id_task_id_map_index_attempt_key"),
        ),
        sa.CheckConstraint(
            "event IN ('success', 'failure', 'retry', 'skipped')",
            name=op.f("callback_event_check"),
        ),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'success', 'failed')",
            name=op.f("callback_state_check"),
        ),
        sa.CheckConstraint(
            "(task_id IS NULL) = (map_index IS NULL) AND (task_id IS NULL) = (attempt IS NULL)",
            name=op.f("callback_attempt_check"),
        ),
        sa.CheckConstraint(
            "(state = 'running') = (token IS NOT NULL AND process_id IS NOT NULL "
            "AND claimed_until IS NOT NULL AND ended_at IS NULL)",
            name=op.f("callback_claimed_check"),
        ),
        sa.CheckConstraint(
            "(state IN ('success', 'failed')) = (ended_at IS NOT NULL)",
            name=op.f("callback_ended_check"),
        ),
    ]
