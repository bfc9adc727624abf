"""Connections and variables as a list shows them: nothing that is secret.  Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

from headway.domain.variable import SecretKind

# A grant may be of what is not stored: workers are provided with things in other ways, too.
SECRETS = text("""
    SELECT coalesce(secret.name, its.name) AS name, type, description, key_id, changed_at,
           coalesce(its.dags, '{}') AS dags, coalesce(its.bundles, '{}') AS bundles
      FROM (SELECT name, type, description, key_id, changed_at
              FROM secret WHERE kind = :kind) AS secret
      FULL JOIN (SELECT name,
                        array_agg(dag_id ORDER BY dag_id)
                            FILTER (WHERE NOT starts_with(dag_id, 'bundle:')) AS dags,
                        array_agg(substr(dag_id, 8) ORDER BY dag_id)
                            FILTER (WHERE starts_with(dag_id, 'bundle:')) AS bundles
                   FROM secret_grant
                  WHERE kind = :kind
                  GROUP BY name) AS its
        ON its.name = secret.name
     ORDER BY 1
""")


@dataclass(frozen=True, slots=True)
class SecretView:
    """A connection or a variable, with the DAGs that may read it; EVERY_DAG stands for all.

    The DAG files of `bundles` may read it while they are parsed.  Where only grants are stored, all
    else is None.  `type` is the type of a connection, or "plain" or "secret".  `key_id` names the
    key that encrypts it.
    """

    name: str
    type: str | None
    description: str | None
    key_id: str | None
    changed_at: datetime | None
    dags: Sequence[str]
    bundles: Sequence[str] = ()


def secrets(conn: Connection, kind: SecretKind) -> list[SecretView]:
    """Return what is stored or granted of that kind, by name."""
    return [SecretView(**row) for row in conn.execute(SECRETS, {"kind": kind}).mappings()]
