"""share the parsing, keep what was."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    _versions()
    _files()
    _runs()


def _versions() -> None:
    for table in ("code_file", "code_manifest"):
        op.add_column(table, _stored_at())
    op.create_table(
        "task_definition",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        _stored_at(),
        sa.PrimaryKeyConstraint("hash", name=op.f("task_definition_pkey")),
        comment="Task definitions by content, each stored once.",
    )
    op.add_column("dag_task", sa.Column("definition_hash", sa.Text(), nullable=True))
    op.create_foreign_key(
        op.f("dag_task_definition_hash_fkey"),
        "dag_task",
        "task_definition",
        ["definition_hash"],
        ["hash"],
    )
    op.create_index(op.f("dag_task_definition_hash_idx"), "dag_task", ["definition_hash"])
    op.add_column(
        "dag_version",
        sa.Column("reparse_on_run", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column("dag_version", sa.Column("commit", sa.Text(), nullable=True))
    op.create_index(op.f("dag_version_manifest_hash_idx"), "dag_version", ["manifest_hash"])


def _files() -> None:
    op.add_column(
        "process",
        sa.Column("bundles", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
    )
    op.create_table(
        "dag_bundle",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("commit", sa.Text(), nullable=True),
        sa.Column("parser_id", sa.BigInteger(), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("dag_bundle_pkey")),
        comment="Bundles that are moved from commit to commit.",
    )
    op.alter_column("dag_file", "signature", server_default=sa.text("''"))
    op.alter_column("dag_file", "seconds", server_default=sa.text("0"))
    op.alter_column("dag_file", "parsed_at", server_default=None, nullable=True)
    for column in (
        sa.Column("paths", sa.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failures", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("asked", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("parser_id", sa.BigInteger(), nullable=True),
        sa.Column("claimed", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("warning", sa.Text(), nullable=True),
    ):
        op.add_column("dag_file", column)
    op.create_table_comment(
        "dag_file",
        "Every DAG file: its last parse, and who has it.",
        existing_comment="The last parse of every DAG file.",
        schema=None,
    )


def _runs() -> None:
    op.add_column(
        "dag_run",
        sa.Column("pinned", sa.Boolean(), server_default=sa.text("true"), nullable=False),
    )
    op.add_column("dag_run", sa.Column("parse_asked_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "dag_run_to_pin",
        "dag_run",
        ["dag_id"],
        unique=False,
        postgresql_where=sa.text("state = 'queued' AND NOT pinned AND parse_asked_at IS NOT NULL"),
    )
    op.create_index("dag_run_version", "dag_run", ["version_id"], unique=False)


def _stored_at() -> sa.Column[object]:
    return sa.Column(
        "stored_at",
        sa.DateTime(timezone=True),
        server_default=sa.text("now()"),
        nullable=False,
    )
