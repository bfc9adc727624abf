"""Accounts of the API, how they prove themselves, and what limits their tries."""

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    Column,
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

from headway.db.schema.columns import METADATA, identity, moment, one_of
from headway.domain.accounts import AccountRole

_ROLES = one_of("role", AccountRole)
_EVERY_BUNDLE_OF_ADMINS = f"role <> '{AccountRole.ADMIN}' OR bundles IS NULL"


def _account() -> Column[str]:
    return Column("account", ForeignKey("api_account.name", ondelete="CASCADE"), nullable=False)


Table(
    "api_account",
    METADATA,
    Column("name", Text, primary_key=True),
    # None for an account that signs in by OIDC alone.
    Column("password_hash", Text),
    Column("role", Text, nullable=False),
    # None for every bundle.
    Column("bundles", ARRAY(Text)),
    Column("oidc_issuer", Text),
    Column("oidc_subject", Text),
    moment("created_at", now=True),
    moment("disabled_at"),
    UniqueConstraint("oidc_issuer", "oidc_subject"),
    CheckConstraint(_ROLES, name="role_check"),
    CheckConstraint(_EVERY_BUNDLE_OF_ADMINS, name="bundles_check"),
    CheckConstraint("(oidc_issuer IS NULL) = (oidc_subject IS NULL)", name="oidc_check"),
    comment="Who may use the API, and what for.",
)

Table(
    "api_session",
    METADATA,
    Column("id_hash", LargeBinary, primary_key=True),
    _account(),
    moment("created_at", now=True),
    moment("expires_at", nullable=False),
    moment("seen_at", now=True),
    Index(None, "account"),
    Index(None, "expires_at"),
    comment="Browsers that are signed in.",
)

Table(
    "api_token",
    METADATA,
    identity(),
    Column("hash", LargeBinary, nullable=False),
    # None for a short token that was given for a password.
    Column("name", Text),
    _account(),
    Column("role", Text, nullable=False),
    Column("bundles", ARRAY(Text)),
    moment("created_at", now=True),
    moment("expires_at"),
    moment("last_used_at"),
    moment("revoked_at"),
    UniqueConstraint("hash"),
    CheckConstraint(_ROLES, name="role_check"),
    CheckConstraint(_EVERY_BUNDLE_OF_ADMINS, name="bundles_check"),
    CheckConstraint("name IS NOT NULL OR expires_at IS NOT NULL", name="name_check"),
    Index(
        "api_token_in_force",
        "account",
        "name",
        unique=True,
        postgresql_where=text("revoked_at IS NULL"),
    ),
    Index(None, "expires_at"),
    comment="Tokens of programs; they have no more than their account has.",
)

Table(
    "api_login_link",
    METADATA,
    Column("hash", LargeBinary, primary_key=True),
    _account(),
    moment("created_at", now=True),
    moment("expires_at", nullable=False),
    moment("used_at"),
    Index(None, "account"),
    Index(None, "expires_at"),
    comment="Links that sign in once.",
)

Table(
    "api_login_limit",
    METADATA,
    # An account, an address, or an account from an address.
    Column("subject", Text, primary_key=True),
    # Each try moves it on; how far it is ahead of now tells how many tries are counted.
    moment("forgotten_at", nullable=False),
    Index(None, "forgotten_at"),
    comment="Tries to sign in, by what they are counted for.",
    postgresql_with={"fillfactor": "50"},
)

Table(
    "api_idempotency",
    METADATA,
    _account(),
    Column("key", Text),
    Column("request_hash", LargeBinary, nullable=False),
    # None until the request has its answer, which is in the same transaction.
    Column("status", Integer),
    Column("body", Text),
    moment("created_at", now=True),
    PrimaryKeyConstraint("account", "key"),
    Index(None, "created_at"),
    comment="Answers to requests that may be sent again, kept for a day.",
)
