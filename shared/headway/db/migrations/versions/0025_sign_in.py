"""Know accounts of the API, their sessions and their tokens."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

_ROLES = "role IN ('viewer', 'operator', 'admin')"
_ADMINS = "role <> 'admin' OR bundles IS NULL"


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "api_account",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("bundles", sa.ARRAY(sa.Text()), nullable=True),
        sa.Column("oidc_issuer", sa.Text(), nullable=True),
        sa.Column("oidc_subject", sa.Text(), nullable=True),
        _moment("created_at", now=True),
        _moment("disabled_at"),
        sa.PrimaryKeyConstraint("name", name=op.f("api_account_pkey")),
        sa.UniqueConstraint(
            "oidc_issuer", "oidc_subject", name=op.f("api_account_oidc_issuer_oidc_subject_key")
        ),
        sa.CheckConstraint(_ROLES, name=op.f("api_account_role_check")),
        sa.CheckConstraint(_ADMINS, name=op.f("api_account_bundles_check")),
        sa.CheckConstraint(
            "(oidc_issuer IS NULL) = (oidc_subject IS NULL)", name=op.f("api_account_oidc_check")
        ),
        comment="Who may use the API, and what for.",
    )
    _create_token()
    op.create_table(
        "api_session",
        sa.Column("id_hash", sa.LargeBinary(), nullable=False),
        _account(),
        _moment("created_at", now=True),
        _moment("expires_at", needed=True),
        _moment("seen_at", now=True),
        sa.PrimaryKeyConstraint("id_hash", name=op.f("api_session_pkey")),
        _of_account("api_session"),
        comment="Browsers that are signed in.",
    )
    op.create_table(
        "api_login_link",
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        _account(),
        _moment("created_at", now=True),
        _moment("expires_at", needed=True),
        _moment("used_at"),
        sa.PrimaryKeyConstraint("hash", name=op.f("api_login_link_pkey")),
        _of_account("api_login_link"),
        comment="Links that sign in once.",
    )
    op.create_table(
        "api_login_limit",
        sa.Column("subject", sa.Text(), nullable=False),
        _moment("forgotten_at", needed=True),
        sa.PrimaryKeyConstraint("subject", name=op.f("api_login_limit_pkey")),
        comment="Tries to sign in, by what they are counted for.",
        postgresql_with={"fillfactor": "50"},
    )
    op.create_table(
        "api_idempotency",
        _account(),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        _moment("created_at", now=True),
        sa.PrimaryKeyConstraint("account", "key", name=op.f("api_idempotency_pkey")),
        _of_account("api_idempotency"),
        comment="Answers to requests that may be sent again, kept for a day.",
    )
    for table, column in (
        ("api_session", "account"),
        ("api_session", "expires_at"),
        ("api_token", "expires_at"),
        ("api_login_link", "account"),
        ("api_login_link", "expires_at"),
        ("api_login_limit", "forgotten_at"),
        ("api_idempotency", "created_at"),
    ):
        op.create_index(op.f(f"{table}_{column}_idx"), table, [column], unique=False)


def _create_token() -> None:
    op.create_table(
        "api_token",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        _account(),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("bundles", sa.ARRAY(sa.Text()), nullable=True),
        _moment("created_at", now=True),
        _moment("expires_at"),
        _moment("last_used_at"),
        _moment("revoked_at"),
        sa.PrimaryKeyConstraint("id", name=op.f("api_token_pkey")),
        sa.UniqueConstraint("hash", name=op.f("api_token_hash_key")),
        sa.CheckConstraint(_ROLES, name=op.f("api_token_role_check")),
        sa.CheckConstraint(_ADMINS, name=op.f("api_token_bundles_check")),
        sa.CheckConstraint(
            "name IS NOT NULL OR expires_at IS NOT NULL", name=op.f("api_token_name_check")
        ),
        _of_account("api_token"),
        comment="Tokens of programs; they have no more than their account has.",
    )
    op.create_index(
        "api_token_in_force",
        "api_token",
        ["account", "name"],
        unique=True,
        postgresql_where=sa.text("revoked_at IS NULL"),
    )


def _account() -> sa.Column[str]:
    return sa.Column("account", sa.Text(), nullable=False)


def _of_account(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["account"],
        ["api_account.name"],
        name=op.f(f"{table}_account_fkey"),
        ondelete="CASCADE",
    )


def _moment(name: str, *, needed: bool = False, now: bool = False) -> sa.Column[object]:
    default = sa.text("now()") if now else None
    return sa.Column(
        name,
        sa.DateTime(timezone=True),
        nullable=not (needed or now),
        server_default=default,
    )
