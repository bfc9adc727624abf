"""SQL on connections and variables, as they are stored, and on who is granted them."""

from dataclasses import dataclass, field

from sqlalchemy import Connection, text

from headway.domain.variable import SecretKind
from headway.runtime.secrets.keyring import Sealed

LOCK = text("""
    SELECT FROM secret WHERE kind = :kind AND name = :name FOR NO KEY UPDATE
""")

STORE = text("""
    INSERT INTO secret (kind, name, type, description, key_id, sealed)
    VALUES (:kind, :name, :type, coalesce(:description, ''), :key_id, :sealed)
        ON CONFLICT (kind, name) DO UPDATE
       SET type = excluded.type, description = coalesce(:description, secret.description),
           key_id = excluded.key_id, sealed = excluded.sealed, changed_at = now()
""")

ADD = text("""
    INSERT INTO secret (kind, name, type, description, key_id, sealed)
    VALUES (:kind, :name, :type, coalesce(:description, ''), :key_id, :sealed)
        ON CONFLICT (kind, name) DO NOTHING
""")

LOAD = text("""
    SELECT name, type, description, key_id, sealed
      FROM secret
     WHERE kind = :kind AND (CAST(:name AS text) IS NULL OR name = :name)
     ORDER BY name
""")

DELETE = text("DELETE FROM secret WHERE kind = :kind AND name = :name")

DELETE_GRANTS = text("DELETE FROM secret_grant WHERE kind = :kind AND name = :name")

GRANT = text("""
    INSERT INTO secret_grant (kind, name, dag_id) VALUES (:kind, :name, :dag_id)
        ON CONFLICT DO NOTHING
""")

REVOKE = text("""
    DELETE FROM secret_grant WHERE kind = :kind AND name = :name AND dag_id = :dag_id
""")

REVOKE_DAG = text("DELETE FROM secret_grant WHERE dag_id = :dag_id")

# Whoever changes one of them at the same time is waited for, and its new key looked at.
LOCK_OUTDATED = text("""
    SELECT kind, name, key_id, sealed
      FROM secret
     WHERE key_id <> :key_id AND (kind, name) > (:kind, :name)
     ORDER BY kind, name
     LIMIT :limit
       FOR NO KEY UPDATE
""")

RESEAL = text("""
    UPDATE secret SET key_id = :key_id, sealed = :sealed WHERE kind = :kind AND name = :name
""")


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """A connection or variable as it is stored; without a description it keeps the one it has."""

    kind: SecretKind
    name: str
    type: str
    description: str | None
    sealed: Sealed = field(repr=False)


@dataclass(frozen=True, slots=True)
class OutdatedSecret:
    """What is sealed by another key than the first one; locked."""

    kind: SecretKind
    name: str
    sealed: Sealed = field(repr=False)


def lock(conn: Connection, kind: SecretKind, name: str) -> bool:
    """Lock what is stored under that name; False when nothing is."""
    return conn.execute(LOCK, {"kind": kind, "name": name}).one_or_none() is not None


def store(conn: Connection, it: StoredSecret, *, replace: bool = True) -> bool:
    """Store it, in place of what has its name; unless to replace, False when something has."""
    done = conn.execute(
        STORE if replace else ADD,
        {
            "kind": it.kind,
            "name": it.name,
            "type": it.type,
            "description": it.description,
            "key_id": it.sealed.key_id,
            "sealed": it.sealed.data,
        },
    )
    return done.rowcount > 0


def load(conn: Connection, kind: SecretKind, name: str | None = None) -> list[StoredSecret]:
    """Return what is stored of that kind, by name; or what is stored under one name."""
    return [
        StoredSecret(
            kind, row.name, row.type, row.description, Sealed(row.key_id, bytes(row.sealed))
        )
        for row in conn.execute(LOAD, {"kind": kind, "name": name})
    ]


def delete(conn: Connection, kind: SecretKind, name: str) -> bool:
    """Delete it with its grants; False when nothing was stored under that name."""
    where = {"kind": kind, "name": name}
    if not conn.execute(DELETE, where).rowcount:
        return False
    conn.execute(DELETE_GRANTS, where)
    return True


def grant(conn: Connection, kind: SecretKind, name: str, grantee: str) -> bool:
    """Let a DAG, EVERY_DAG or the files of a bundle read it; False when they may already."""
    values = {"kind": kind, "name": name, "dag_id": grantee}
    return conn.execute(GRANT, values).rowcount > 0


def revoke(conn: Connection, kind: SecretKind, name: str, grantee: str) -> bool:
    """Take a grant back; False when there is none."""
    values = {"kind": kind, "name": name, "dag_id": grantee}
    return conn.execute(REVOKE, values).rowcount > 0


def revoke_dag(conn: Connection, dag_id: str) -> None:
    """Take back all that was granted to a DAG."""
    conn.execute(REVOKE_DAG, {"dag_id": dag_id})


def lock_outdated(
    conn: Connection, key_id: str, after: tuple[str, str], limit: int
) -> list[OutdatedSecret]:
    """Lock the next ones, by kind and name, that another key has sealed."""
    values = {"key_id": key_id, "kind": after[0], "name": after[1], "limit": limit}
    return [
        OutdatedSecret(SecretKind(row.kind), row.name, Sealed(row.key_id, bytes(row.sealed)))
        for row in conn.execute(LOCK_OUTDATED, values)
    ]


def reseal(conn: Connection, it: OutdatedSecret, sealed: Sealed) -> None:
    """Store the same under another key."""
    values = {"kind": it.kind, "name": it.name, "key_id": sealed.key_id, "sealed": sealed.data}
    conn.execute(RESEAL, values)
