"""What there is to run: DAGs, their versions and code, the files they come from."""

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from headway.db.schema.columns import METADATA, identity, moment

Table(
    "dag",
    METADATA,
    Column("dag_id", Text, primary_key=True),
    Column("bundle", Text, nullable=False),
    Column("relative_path", Text, nullable=False),
    Column("description", Text),
    Column("tags", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("version_id", BigInteger, ForeignKey("dag_version.id", use_alter=True)),
    Column("active", Boolean, nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("max_active_runs", Integer, nullable=False),
    Column("max_active_tasks", Integer, nullable=False),
    Column("planned_version_id", BigInteger),
    moment("next_run_after"),
    moment("next_interval_start"),
    moment("next_interval_end"),
    Index(None, "next_run_after", postgresql_where=text("active AND NOT paused")),
    Index(
        "dag_to_plan",
        "dag_id",
        postgresql_where=text(
            "active AND NOT paused AND planned_version_id IS DISTINCT FROM version_id"
        ),
    ),
    comment="One row per DAG.  The parser owns its version, the scheduler its next run.",
)

Table(
    "code_file",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    comment="Source by content.",
)

Table(
    "code_manifest",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("files", JSON, nullable=False),
    comment="The bundle files of a version: relative path to content hash.",
)

Table(
    "dag_version",
    METADATA,
    identity(),
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("serialized", LargeBinary, nullable=False),
    Column("manifest_hash", ForeignKey("code_manifest.hash"), nullable=False),
    Column("max_active_tasks_per_dagrun", Integer),
    Column("dagrun_timeout", Double),
    # Whether a run that starts is to be looked at as a whole, or its first tasks are known.
    Column("look_at_start", Boolean, nullable=False, server_default=text("true")),
    moment("created_at", now=True),
    UniqueConstraint("dag_id", "number"),
    comment="What a DAG was, for ever: serialized structure and code.",
)

Table(
    "dag_task",
    METADATA,
    Column("version_id", ForeignKey("dag_version.id", ondelete="CASCADE")),
    Column("task_id", Text),
    Column("position", Integer, nullable=False),
    Column("operator", Text, nullable=False),
    Column("trigger_rule", Text, nullable=False),
    Column("pool", Text, nullable=False),
    Column("pool_slots", Integer, nullable=False),
    Column("queue", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("upstreams", Integer, nullable=False, server_default=text("0")),
    # Whether it is scheduled when the run starts: nothing is to be decided about it.
    Column("starts", Boolean, nullable=False, server_default=text("false")),
    Column("mapped", Boolean, nullable=False, server_default=text("false")),
    Column("max_active_tis_per_dag", Integer),
    Column("max_active_tis_per_dagrun", Integer),
    Column("on_lost", Text, nullable=False, server_default=text("'retry'")),
    PrimaryKeyConstraint("version_id", "task_id"),
)

Table(
    "dag_edge",
    METADATA,
    Column("version_id", ForeignKey("dag_version.id", ondelete="CASCADE")),
    Column("upstream", Text),
    Column("downstream", Text),
    PrimaryKeyConstraint("version_id", "upstream", "downstream"),
)

Table(
    "dag_file",
    METADATA,
    Column("bundle", Text),
    Column("relative_path", Text),
    Column("signature", Text, nullable=False),
    Column("seconds", Double, nullable=False),
    moment("parsed_at", now=True),
    PrimaryKeyConstraint("bundle", "relative_path"),
    comment="The last parse of every DAG file.",
)

Table(
    "import_error",
    METADATA,
    Column("bundle", Text),
    Column("relative_path", Text),
    Column("error", Text, nullable=False),
    moment("at", now=True),
    PrimaryKeyConstraint("bundle", "relative_path"),
)
