"""judge the deadlines of runs and of their tasks."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "dag_deadline",
        sa.Column("version_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("backfills", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["version_id"],
            ["dag_version.id"],
            name=op.f("dag_deadline_version_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint(
            "reference IN ('due', 'queued', 'start', 'fixed')",
            name=op.f("dag_deadline_reference_check"),
        ),
        sa.CheckConstraint(
            "(reference = 'fixed') = (at IS NOT NULL)", name=op.f("dag_deadline_at_check")
        ),
        comment="The deadlines of a version: of its runs, or of a task in each of them.",
    )
    op.create_index(
        "dag_deadline_one",
        "dag_deadline",
        ["version_id", sa.text("coalesce(task_id, '')"), "name"],
        unique=True,
    )
    _create_deadlines()


def _create_deadlines() -> None:
    op.create_table(
        "deadline",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("dag_run_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'open'"), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("check_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("judged_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("process_id", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("deadline_pkey")),
        sa.ForeignKeyConstraint(
            ["dag_run_id"],
            ["dag_run.id"],
            name=op.f("deadline_dag_run_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint(
            "state IN ('open', 'met', 'missed', 'withdrawn')", name=op.f("deadline_state_check")
        ),
        sa.CheckConstraint(
            "(state = 'open') = (judged_at IS NULL)", name=op.f("deadline_judged_check")
        ),
        sa.CheckConstraint(
            "state <> 'missed' OR due_at IS NOT NULL", name=op.f("deadline_missed_check")
        ),
        comment="One row per deadline of a run; schedulers judge it when it is over.",
    )
    op.create_index(
        "deadline_one",
        "deadline",
        ["dag_run_id", sa.text("coalesce(task_id, '')"), "name"],
        unique=True,
    )
    op.create_index(
        "deadline_open",
        "deadline",
        ["check_at", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'open'"),
    )
