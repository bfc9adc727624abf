"""Connections and variables for attempts: granted first, then looked for where they may be."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import Engine

from headway.db.execution import secret_requests
from headway.db.execution.attempts import Claimed
from headway.db.execution.callback_claims import ClaimedCallback
from headway.db.execution.notification_claims import ClaimedNotification
from headway.domain.connection import Connection
from headway.domain.dag.names import check_key
from headway.domain.errors import ConflictError, SecretRefusedError
from headway.domain.variable import Secret, SecretKind, from_text
from headway.runtime.secrets.keyring import KeyRing
from headway.runtime.settings import secret_keys
from headway.runtime.settings.secret_keys import Provided
from headway_worker.database.worker_database import GIVEN_AWAY

Reader: TypeAlias = Claimed | ClaimedCallback | ClaimedNotification
"""Who may ask: what this worker has claimed."""


@dataclass(frozen=True, slots=True)
class SecretResolver:
    """What the worker's environment has comes first, then what is mounted, then the database.

    Whatever has it, a grant in the database decides whether an attempt gets it.
    """

    engine: Engine
    provided: Provided
    keys: Callable[[], KeyRing] = secret_keys.keys

    def read(self, claimed: Reader, kind: SecretKind, name: str) -> Secret | None:
        """Return what the attempt, or callback, asks for; None if there is nothing of that name.

        SecretError when its DAG is not granted it, or when it cannot be decrypted or read.
        """
        with self.engine.begin() as conn:
            found = secret_requests.ask(conn, claimed.key, kind, name)
        if found is None:
            raise ConflictError(GIVEN_AWAY)
        if not found.granted:
            if not (found.present or self.provided.has(kind, name)):
                return None
            raise SecretRefusedError(
                f"DAG {claimed.dag_id!r} may not read the {kind} {name!r}; `headway {kind}s grant "
                f"{name} {claimed.dag_id}` lets it."
            )
        provided = self.provided.find(kind, name)
        if provided is not None or found.sealed is None:
            return provided
        return from_text(kind, name, self.keys().open(kind, name, found.sealed))

    def connection(self, claimed: Claimed, conn_id: str) -> Connection | None:
        """Return a connection that the worker itself uses for the attempt; errors as above."""
        found = self.read(claimed, SecretKind.CONNECTION, check_key("connection", conn_id))
        return found if isinstance(found, Connection) else None
