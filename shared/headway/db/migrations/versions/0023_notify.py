"""tell people of what has happened, by messages that workers send."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_EVENTS = (
    "event IN ('failure', 'success', 'retry', 'missed_deadline', 'task_failure', "
    "'task_success', 'task_retry')"
)


def upgrade() -> None:
    """Apply the change."""
    op.add_column(
        "dag_task",
        sa.Column("notifies", sa.Text(), server_default=sa.text("''"), nullable=False),
    )
    op.create_table(
        "notifier",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("notifier_pkey")),
        comment="Notifiers by content, each stored once.",
    )
    op.create_table(
        "dag_notifier",
        sa.Column("version_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("notifier", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint(
            "version_id", "task_id", "event", "notifier", name=op.f("dag_notifier_pkey")
        ),
        sa.ForeignKeyConstraint(
            ["version_id"],
            ["dag_version.id"],
            name=op.f("dag_notifier_version_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["notifier"], ["notifier.hash"], name=op.f("dag_notifier_notifier_fkey")
        ),
        sa.CheckConstraint(_EVENTS, name=op.f("dag_notifier_event_check")),
        comment="Which notifiers of a version tell of what.",
    )
    _create_notifications()
    _create_events()


def _create_notifications() -> None:
    op.create_table(
        "notification",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("dag_run_id", sa.BigInteger(), nullable=False),
        sa.Column("notifier", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("collecting", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'queued'"), nullable=False),
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
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
        *_keys("notification"),
        *_checks(),
        comment="One row per message; workers send them.",
    )
    op.create_index(
        "notification_unfinished",
        "notification",
        ["due_at", "id"],
        unique=False,
        postgresql_where=sa.text("ended_at IS NULL"),
    )
    op.create_index(
        "notification_collecting",
        "notification",
        ["dag_run_id", "notifier", "event"],
        unique=True,
        postgresql_where=sa.text("collecting"),
    )
    op.create_index(
        op.f("notification_dag_run_id_notifier_event_idx"),
        "notification",
        ["dag_run_id", "notifier", "event"],
        unique=False,
    )


def _create_events() -> None:
    op.create_table(
        "notified_event",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("dag_run_id", sa.BigInteger(), nullable=False),
        sa.Column("notifier", sa.Text(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("map_index", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.Column("notification_id", sa.BigInteger(), nullable=True),
        *_keys("notified_event"),
        sa.ForeignKeyConstraint(
            ["notification_id"],
            ["notification.id"],
            name=op.f("notified_event_notification_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.CheckConstraint(_EVENTS, name=op.f("notified_event_event_check")),
        comment="What notifiers tell of, entered with what has happened.",
    )
    for column in ("dag_run_id", "notification_id"):
        op.create_index(
            op.f(f"notified_event_{column}_idx"), "notified_event", [column], unique=False
        )
    op.create_index(
        "notified_event_new",
        "notified_event",
        ["id"],
        unique=False,
        postgresql_where=sa.text("notification_id IS NULL"),
    )


def _keys(table: str) -> list[sa.Constraint]:
    return [
        sa.PrimaryKeyConstraint("id", name=op.f(f"{table}_pkey")),
        sa.ForeignKeyConstraint(
            ["dag_run_id"],
            ["dag_run.id"],
            name=op.f(f"{table}_dag_run_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["notifier"], ["notifier.hash"], name=op.f(f"{table}_notifier_fkey")
        ),
    ]


def _checks() -> list[sa.Constraint]:
    return [
        sa.CheckConstraint(_EVENTS, name=op.f("notification_event_check")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'success', 'failed')",
            name=op.f("notification_state_check"),
        ),
        sa.CheckConstraint(
            "state = 'queued' OR NOT collecting", name=op.f("notification_collecting_check")
        ),
        sa.CheckConstraint(
            "(state = 'running') = (token IS NOT NULL AND process_id IS NOT NULL "
            "AND claimed_until IS NOT NULL AND ended_at IS NULL)",
            name=op.f("notification_claimed_check"),
        ),
        sa.CheckConstraint(
            "(state IN ('success', 'failed')) = (ended_at IS NOT NULL)",
            name=op.f("notification_ended_check"),
        ),
    ]
