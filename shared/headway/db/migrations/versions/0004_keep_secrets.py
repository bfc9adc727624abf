"""keep connections and variables."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

KINDS = "kind IN ('connection', 'variable')"


def upgrade() -> None:
    """Apply the change."""
    op.add_column("process", sa.Column("proof_hash", sa.LargeBinary(), nullable=True))
    op.create_table(
        "secret",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column(
            "changed_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("now()"),
            nullable=False,
        ),
        sa.CheckConstraint(KINDS, name=op.f("secret_kind_check")),
        sa.PrimaryKeyConstraint("kind", "name", name=op.f("secret_pkey")),
        comment="Connections and variables, encrypted; key_id names the key.",
    )
    op.create_table(
        "secret_grant",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("dag_id", sa.Text(), nullable=False),
        sa.CheckConstraint(KINDS, name=op.f("secret_grant_kind_check")),
        sa.PrimaryKeyConstraint("kind", "name", "dag_id", name=op.f("secret_grant_pkey")),
        comment="Which DAGs may read which connections and variables, wherever these are kept.",
    )
