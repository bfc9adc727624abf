"""What tasks keep from attempt to attempt."""

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from headway.db.schema.columns import METADATA, moment
from headway.domain.retention import LONGEST_STATE_KEY

Table(
    "task_state_store",
    METADATA,
    # By the names of the instance, not by its number: a mapped task that is expanded anew gets
    # other rows for its instances, and they go on with what their map index has kept.
    Column("dag_run_id", ForeignKey("dag_run.id", ondelete="CASCADE")),
    Column("task_id", Text),
    Column("map_index", Integer),
    Column("key", Text),
    Column("value", JSON, nullable=False),
    moment("written_at", now=True),
    # From then on it is not found; NULL: it never expires.
    moment("expires_at"),
    PrimaryKeyConstraint("dag_run_id", "task_id", "map_index", "key"),
    CheckConstraint(f"length(key) BETWEEN 1 AND {LONGEST_STATE_KEY}", name="key_check"),
    Index(
        "task_state_store_expires",
        "expires_at",
        postgresql_where=text("expires_at IS NOT NULL"),
    ),
    comment="What a task instance keeps by key; all its attempts find it.",
)
