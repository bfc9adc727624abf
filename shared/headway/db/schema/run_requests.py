"""What tasks ask for of other DAGs: runs."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from headway.db.schema.columns import METADATA, identity, moment, one_of
from headway.domain.dag.run_request import MOST_REQUESTS, RequestAnswer

Table(
    "run_request",
    METADATA,
    identity(),
    # Whose it is, and the how many of that attempt: asked again, it is the same.
    Column("task_instance_id", BigInteger, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    # The run that is asked for; without an id it is called by its date.
    Column("dag_id", Text, nullable=False),
    Column("run_id", Text),
    moment("logical_date"),
    Column("conf", JSON, nullable=False),
    Column("reset", Boolean, nullable=False),
    Column("unless_paused", Boolean, nullable=False),
    # Whether the attempt waits for the end of the run.
    Column("waits", Boolean, nullable=False),
    Column("note", Text),
    moment("created_at", now=True),
    # What a scheduler has made of it: of which run it speaks, or why there is none.
    Column("answer", Text),
    Column("answer_run_id", Text),
    Column("reason", Text),
    moment("answered_at"),
    UniqueConstraint("task_instance_id", "attempt", "number"),
    ForeignKeyConstraint(
        ["task_instance_id", "attempt"],
        ["task_attempt.task_instance_id", "task_attempt.attempt"],
        ondelete="CASCADE",
    ),
    CheckConstraint(f"number BETWEEN 1 AND {MOST_REQUESTS}", name="number_check"),
    CheckConstraint(one_of("answer", RequestAnswer), name="answer_check"),
    CheckConstraint("(answer IS NULL) = (answered_at IS NULL)", name="answered_check"),
    CheckConstraint(
        "(answer IS NOT DISTINCT FROM 'refused') = (reason IS NOT NULL)", name="reason_check"
    ),
    CheckConstraint(
        "(answer IS NULL OR answer = 'refused') = (answer_run_id IS NULL)", name="answer_run_check"
    ),
    Index("run_request_unanswered", "id", postgresql_where=text("answered_at IS NULL")),
    comment="What a task's attempt asks of another DAG: a run; a scheduler answers once.",
)
