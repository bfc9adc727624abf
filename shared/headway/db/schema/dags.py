"""What there is to run: DAGs, their versions and code, the files they come from."""

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
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
    Column("version_id", BigInteger),
    Column("active", Boolean, nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("max_active_runs", Integer, nullable=False),
    Column("max_active_tasks", Integer, nullable=False),
    # Compared with the version in force, and never used to find a version: no key.
    Column("planned_version_id", BigInteger),
    # Without an interval: when its timetable, which knows of no next run or fails, is asked again.
    moment("next_run_after"),
    moment("next_interval_start"),
    moment("next_interval_end"),
    # The next run is looked at when fewer runs of its schedule than this are unfinished; NULL:
    # fewer than `max_active_runs`.
    Column("next_run_below", Integer),
    # Why its timetable cannot be asked, when it fails.
    Column("schedule_error", Text),
    # Since when it is scheduled without a break: new, unpaused, or another schedule; and the
    # `since` of `scheduler_uptime` when a scheduler last looked at the DAG.
    moment("scheduled_since", now=True),
    moment("looked_at_since"),
    ForeignKeyConstraint(
        ["dag_id", "version_id"],
        ["dag_version.dag_id", "dag_version.id"],
        name="dag_version_fkey",
        use_alter=True,
    ),
    Index("dag_due", "next_run_after", "dag_id", postgresql_where=text("active AND NOT paused")),
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
    # When it was last asked for by a parse: what is to be pruned is judged by it.
    moment("stored_at", now=True),
    comment="Source by content.",
)

Table(
    "code_manifest",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("files", JSON, nullable=False),
    moment("stored_at", now=True),
    comment="The bundle files of a version: relative path to content hash.",
)

Table(
    "dag_version",
    METADATA,
    identity(),
    Column("dag_id", Text, ForeignKey("dag.dag_id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    # The bundle that its DAG was in when it was stored: what runs of it has this one's grants.
    Column("bundle", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("serialized", LargeBinary, nullable=False),
    Column("manifest_hash", ForeignKey("code_manifest.hash"), nullable=False),
    # The bundle's files as of its commit or scan, which tasks may read besides; they make no
    # version.  NULL for versions that an older release has stored.
    Column("bundle_hash", ForeignKey("code_manifest.hash")),
    # Whether these are all of the bundle's files; the next parse that knows them all adds them.
    Column("bundle_complete", Boolean, nullable=False, server_default=text("false")),
    Column("max_active_tasks_per_dagrun", Integer),
    Column("dagrun_timeout", Double),
    # Whether a run that starts is settled as a whole; else its first tasks are known.
    Column("settle_at_start", Boolean, nullable=False, server_default=text("true")),
    # Whether a run that is to start waits until its DAG file was parsed once more.
    Column("reparse_on_run", Boolean, nullable=False, server_default=text("false")),
    # The commit of its bundle at which it was seen first; NULL for a plain folder.
    Column("commit", Text),
    moment("created_at", now=True),
    # When another version came into force in its place, the last time; NULL if none ever has.
    moment("superseded_at"),
    UniqueConstraint("dag_id", "number"),
    # A foreign key to a version names the DAG as well: the version is of that DAG.
    UniqueConstraint("dag_id", "id"),
    Index(None, "manifest_hash"),
    Index(None, "bundle_hash"),
    Index("dag_version_incomplete", "id", postgresql_where=text("NOT bundle_complete")),
    comment="What a DAG was, for ever: serialized structure and code.",
)

Table(
    "task_definition",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("definition", JSON, nullable=False),
    moment("stored_at", now=True),
    comment="Task definitions by content, each stored once.",
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
    # The events that it has functions for, with commas between.
    Column("callbacks", Text, nullable=False, server_default=text("''")),
    # The ends of its attempts of which notifiers tell, likewise.
    Column("notifies", Text, nullable=False, server_default=text("''")),
    # NULL for versions that an older release has stored.
    Column("definition_hash", Text, ForeignKey("task_definition.hash")),
    PrimaryKeyConstraint("version_id", "task_id"),
    Index(None, "definition_hash"),
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
    "dag_bundle",
    METADATA,
    Column("name", Text, primary_key=True),
    # The commit that every parser is to have checked out.
    Column("commit", Text),
    # The parser that claimed the last fetch of its remote, and when.
    Column("parser_id", BigInteger),
    moment("fetch_claimed_at"),
    comment="Bundles that are moved from commit to commit.",
)

Table(
    "dag_file",
    METADATA,
    Column("bundle", Text),
    Column("relative_path", Text),
    # The content of all that the last parse has read, as one hash, and which files these were.
    Column("signature", Text, nullable=False, server_default=text("''")),
    Column("paths", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("seconds", Double, nullable=False, server_default=text("0")),
    moment("parsed_at"),
    # When it is to be parsed again though nothing has changed, and how often it failed in a row.
    moment("due_at"),
    Column("failures", Integer, nullable=False, server_default=text("0")),
    # Whether a user has requested a parse.
    Column("parse_requested", Boolean, nullable=False, server_default=text("false")),
    # Who parses it; when nobody does, who did so last.
    Column("parser_id", BigInteger),
    Column("claimed", Boolean, nullable=False, server_default=text("false")),
    # What an author should know of it though it was taken over.
    Column("warning", Text),
    PrimaryKeyConstraint("bundle", "relative_path"),
    comment="Every DAG file: its last parse, and who has it.",
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
