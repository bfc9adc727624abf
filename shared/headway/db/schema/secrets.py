"""Connections and variables, encrypted, and which DAGs are granted them."""

from sqlalchemy import CheckConstraint, Column, LargeBinary, PrimaryKeyConstraint, Table, Text, text

from headway.db.schema.columns import METADATA, moment
from headway.domain.variable import SecretKind

_KINDS = f"kind IN ({', '.join(repr(str(kind)) for kind in SecretKind)})"

Table(
    "secret",
    METADATA,
    Column("kind", Text),
    Column("name", Text),
    # Of a connection its conn_type; of a variable whether it is secret or plain.  For lists.
    Column("type", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=text("''")),
    Column("key_id", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    moment("changed_at", now=True),
    PrimaryKeyConstraint("kind", "name"),
    CheckConstraint(_KINDS, name="kind_check"),
    comment="Connections and variables, encrypted; key_id names the key.",
)

Table(
    "secret_grant",
    METADATA,
    Column("kind", Text),
    Column("name", Text),
    # A DAG, which need not be there, * for every DAG, or bundle:NAME for the files of a bundle.
    Column("dag_id", Text),
    PrimaryKeyConstraint("kind", "name", "dag_id"),
    CheckConstraint(_KINDS, name="kind_check"),
    comment="Which DAGs may read which connections and variables, wherever these are kept.",
)
