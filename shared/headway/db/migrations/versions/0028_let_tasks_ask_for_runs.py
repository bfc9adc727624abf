"""let tasks ask for runs of other DAGs."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "run_request",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task_instance_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("dag_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("logical_date", sa.DateTime(timezone=True), nullable=True),
        sa.Column("conf", sa.JSON(), nullable=False),
        sa.Column("reset", sa.Boolean(), nullable=False),
        sa.Column("unless_paused", sa.Boolean(), nullable=False),
        sa.Column("waits", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("answer_run_id", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("run_request_pkey")),
        sa.UniqueConstraint(
            "task_instance_id",
            "attempt",
            "number",
            name=op.f("run_request_task_instance_id_attempt_number_key"),
        ),
        sa.ForeignKeyConstraint(
            ["task_instance_id", "attempt"],
            ["task_attempt.task_instance_id", "task_attempt.attempt"],
            name=op.f("run_request_task_instance_id_fkey"),
            ondelete="CASCADE",
        ),
        *_checks(),
        comment="What a task's attempt asks of another DAG: a run; a scheduler answers once.",
    )
    op.create_index(
        "run_request_unanswered",
        "run_request",
        ["id"],
        unique=False,
        postgresql_where=sa.text("answered_at IS NULL"),
    )


def _checks() -> list[sa.Constraint]:
    return [
        sa.CheckConstraint("number BETWEEN 1 AND 1000", name=op.f("run_request_number_check")),
        sa.CheckConstraint(
            "answer IN ('created', 'reset', 'exists', 'refused')",
            name=op.f("run_request_answer_check"),
        ),
        sa.CheckConstraint(
            "(answer IS NULL) = (answered_at IS NULL)", name=op.f("run_request_answered_check")
        ),
        sa.CheckConstraint(
            "(answer IS NOT DISTINCT FROM 'refused') = (reason IS NOT NULL)",
            name=op.f("run_request_reason_check"),
        ),
        sa.CheckConstraint(
            "(answer IS NULL OR answer = 'refused') = (answer_run_id IS NULL)",
            name=op.f("run_request_answer_run_check"),
        ),
    ]
