"""Store, delete, grant, show and encrypt anew: what users do to connections and variables.

Each action enters an event, which names what was changed and never what it holds.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sqlalchemy import Connection as Transaction

from headway.actions.change import Author
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.users import secrets
from headway.db.users.secrets import StoredSecret
from headway.domain.arguments import JsonValue
from headway.domain.connection import Connection
from headway.domain.dag.names import check_key
from headway.domain.errors import AlreadyExistsError, SecretError, SecretNotFoundError
from headway.domain.hints import Action, Parameter, act, hint
from headway.domain.variable import (
    EVERY_DAG,
    LARGEST_SECRET,
    Secret,
    SecretKind,
    bundle_of,
    check_grantee,
    described,
    from_text,
    kind_of,
    to_text,
)
from headway.runtime.secrets.keyring import KeyRing

PLAIN: Final = "plain"
SECRET: Final = "secret"  # noqa: S105 - a word, not a password

_LIST: Final[Mapping[SecretKind, Action]] = {
    SecretKind.CONNECTION: Action.LIST_CONNECTIONS,
    SecretKind.VARIABLE: Action.LIST_VARIABLES,
}

Keys = Callable[[], KeyRing]
"""How to come by the keys, for what may turn out to need none."""


def store(
    conn: Transaction,
    secret: Secret,
    keys: KeyRing,
    actor: str,
    description: str | None = None,
    *,
    replace: bool = True,
) -> None:
    """Encrypt and store it.  ConflictError where there is one of that name, unless to replace."""
    kind, name = kind_of(secret)
    text = to_text(secret)
    if len(text.encode()) > 2 * LARGEST_SECRET:
        raise SecretError(
            f"The {kind} {name!r} is too large; it may have {LARGEST_SECRET:,} bytes."
        )
    replaced = secrets.lock(conn, kind, name)
    if replaced and not replace:
        raise _name_in_use(kind, name)
    its_type = secret.conn_type if isinstance(secret, Connection) else _type(plain=secret.plain)
    sealed = keys.seal(kind, name, text)
    details: dict[str, JsonValue] = {
        str(kind): name,
        "type": its_type,
        "key_id": sealed.key_id,
        "replaced": replaced,
    }
    events.add(conn, Event(actor=actor, action=f"{kind}.set", details=details))
    if not secrets.store(
        conn, StoredSecret(kind, name, its_type, description, sealed), replace=replace
    ):
        raise _name_in_use(kind, name)  # somebody else has stored it meanwhile


def delete(
    conn: Transaction, kind: SecretKind, name: str, actor: str, reason: str | None = None
) -> None:
    """Delete it with all grants of it."""
    details: dict[str, JsonValue] = {str(kind): name, **_because(reason)}
    events.add(conn, Event(actor=actor, action=f"{kind}.delete", details=details))
    if not secrets.delete(conn, kind, name):
        raise _absent(kind, name)


def grant(
    conn: Transaction,
    kind: SecretKind,
    name: str,
    grantees: Sequence[str],
    actor: str,
    reason: str | None = None,
) -> int:
    """Let DAGs, EVERY_DAG, or the files of a bundle (`to_bundle`) read what has that name.

    Neither it nor they need be there.  Return how many of them could not read it before.
    """
    check_key(kind, name)
    author = Author(actor, reason)
    return sum(_change(conn, kind, name, grantee, author, granted=True) for grantee in grantees)


def revoke(
    conn: Transaction,
    kind: SecretKind,
    name: str,
    grantees: Sequence[str],
    actor: str,
    reason: str | None = None,
) -> None:
    """Take grants back; NotFoundError where there is none."""
    for grantee in grantees:
        if not _change(conn, kind, name, grantee, Author(actor, reason), granted=False):
            raise SecretNotFoundError(
                f"The {kind} {name!r} is not granted to {described(grantee)}.",
                hint=hint(act(_LIST[kind]), " shows to which it is."),
            )


def look(conn: Transaction, kind: SecretKind, name: str, keys: Keys) -> Secret:
    """Return what is stored under that name, decrypted; NotFoundError when nothing is.

    Whoever shows a secret of it uses `show`.
    """
    found = read(conn, kind, name, keys)
    if found is None:
        raise _absent(kind, name)
    return found


def show(conn: Transaction, kind: SecretKind, name: str, keys: Keys, actor: str) -> Secret:
    """Return what is stored under that name, decrypted; that it was shown is an event."""
    found = look(conn, kind, name, keys)
    events.add(conn, Event(actor=actor, action=f"{kind}.show", details={str(kind): name}))
    return found


def export(conn: Transaction, kind: SecretKind, keys: Keys, actor: str) -> list[Secret]:
    """Return all that is stored of that kind, decrypted; that it was shown is an event."""
    stored = secrets.load(conn, kind)
    details: dict[str, JsonValue] = {f"{kind}s": len(stored)}
    events.add(conn, Event(actor=actor, action=f"{kind}.export", details=details))
    return [_opened(secret, keys()) for secret in stored]


def read(conn: Transaction, kind: SecretKind, name: str, keys: Keys) -> Secret | None:
    """Return what is stored under that name, decrypted; None when nothing is."""
    stored = secrets.load(conn, kind, name)
    return _opened(stored[0], keys()) if stored else None


def rotate(
    conn: Transaction, keys: KeyRing, after: tuple[str, str], limit: int, actor: str
) -> tuple[int, tuple[str, str]]:
    """Encrypt the next ones, by kind and name, with the first key; return how many, and the last.

    SecretError for one that no key here opens; nothing of this transaction is changed then.
    """
    outdated = secrets.lock_outdated(conn, keys.first, after, limit)
    if outdated:
        details: dict[str, JsonValue] = {"key_id": keys.first, "encrypted": len(outdated)}
        events.add(conn, Event(actor=actor, action="secrets.rotate", details=details))
    for secret in outdated:
        text = keys.open(secret.kind, secret.name, secret.sealed)
        secrets.reseal(conn, secret, keys.seal(secret.kind, secret.name, text))
        after = (secret.kind, secret.name)
    return len(outdated), after


def _change(
    conn: Transaction, kind: SecretKind, name: str, grantee: str, author: Author, *, granted: bool
) -> bool:
    bundle = bundle_of(check_grantee(grantee))
    change, action = (secrets.grant, "grant") if granted else (secrets.revoke, "revoke")
    changed = change(conn, kind, name, grantee)
    if changed:
        every = grantee == EVERY_DAG
        details: dict[str, JsonValue] = {str(kind): name, **({"every_dag": True} if every else {})}
        details |= ({} if bundle is None else {"bundle": bundle}) | _because(author.reason)
        its_dag = grantee if bundle is None and not every else None
        action = f"{kind}.{action}"
        events.add(conn, Event(actor=author.actor, action=action, dag_id=its_dag, details=details))
    return changed


def _because(reason: str | None) -> dict[str, JsonValue]:
    return {} if reason is None else {"reason": reason}


def _opened(stored: StoredSecret, keys: KeyRing) -> Secret:
    text = keys.open(stored.kind, stored.name, stored.sealed)
    return from_text(stored.kind, stored.name, text)


def _type(*, plain: bool) -> str:
    return PLAIN if plain else SECRET


def _absent(kind: SecretKind, name: str) -> SecretNotFoundError:
    shown = hint(act(_LIST[kind]), " shows them all.")
    return SecretNotFoundError(f"There is no {kind} {name!r}.", hint=shown)


def _name_in_use(kind: SecretKind, name: str) -> AlreadyExistsError:
    return AlreadyExistsError(
        f"There is a {kind} {name!r} already.",
        hint=hint("Add ", Parameter("replace"), ", or choose another name."),
    )
