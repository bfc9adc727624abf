"""A variable that is granted to DAGs, and what a worker's login gets of it."""

from typing import Final

from sqlalchemy import Engine

from headway.actions.installation import secrets
from headway.db.core import identity
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.db.execution import secret_requests
from headway.db.execution.callback_claims import CallbackKey
from headway.db.execution.secret_requests import Delivered
from headway.domain.variable import SecretKind, StoredVariable
from headway.runtime.secrets.keyring import KeyRing, new_key

VALUE: Final = StoredVariable(key="v", value="canary-8f1e")
KEYS: Final = KeyRing((new_key(),))
"""By which `VALUE` is sealed."""


def store(engine: Engine) -> None:
    """Store `VALUE`."""
    with engine.begin() as conn:
        secrets.store(conn, VALUE, KEYS, "user:ann")


def grant(
    engine: Engine, *dags: str, name: str = VALUE.key, kind: SecretKind = SecretKind.VARIABLE
) -> None:
    """Grant a variable or a connection to these DAGs."""
    with engine.begin() as conn:
        secrets.grant(conn, kind, name, dags, "user:ann")


def ask(
    worker: Engine,
    me: Identity,
    key: AttemptKey | CallbackKey,
    name: str = VALUE.key,
    kind: SecretKind = SecretKind.VARIABLE,
) -> Delivered | None:
    """Ask by a worker's login for what `key` may read, and prove to be `me`."""
    with worker.begin() as conn:
        identity.say(conn, me)
        return secret_requests.ask(conn, key, kind, name)
