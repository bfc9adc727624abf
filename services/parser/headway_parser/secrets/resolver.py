"""Connections and variables for DAG files: granted to their bundle, and found where they may be."""

import hmac
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Engine

from headway.db.core.processes import FENCED
from headway.db.parsing import bundle_secrets
from headway.db.parsing.bundle_secrets import BundleSecret, SecretName
from headway.domain.errors import FencedError, HeadwayError, SecretError
from headway.domain.variable import Secret, from_text, to_text
from headway.runtime.secrets.keyring import KeyRing
from headway.runtime.settings import secret_keys
from headway.runtime.settings.secret_keys import Provided


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """What a file gets under a name: a secret, nothing, or the reason why it is refused.

    `state` is another one as soon as the file would get something else.
    """

    state: str
    secret: Secret | None = field(default=None, repr=False)
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class BundleSecretResolver:
    """What the parser's environment has comes first, then what is mounted, then the database.

    Whatever has it, a grant to the bundle in the database decides whether a file gets it.
    """

    engine: Engine
    provided: Provided
    keys: Callable[[], KeyRing] = secret_keys.keys
    _nonce: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def read(self, bundle: str, name: SecretName) -> FoundSecret:
        """Return what a file of the bundle asks for.

        FencedError when this parser was declared dead, or does not have the bundle.
        """
        stored = self._ask(bundle, [name], whole=True)[name]
        state = self._state(name, stored)
        try:
            if not stored.granted:
                return FoundSecret(state, refusal=self._refusal(bundle, name, stored))
            provided = self.provided.find(*name)
            if provided is not None or stored.sealed is None:
                return FoundSecret(state, provided)
            return FoundSecret(state, from_text(*name, self.keys().open(*name, stored.sealed)))
        except HeadwayError as error:  # there is no key, or what is stored cannot be read
            return FoundSecret(state, refusal=str(error))

    def states(self, bundle: str, names: Collection[SecretName]) -> Mapping[SecretName, str]:
        """Return the states of these names, as files of the bundle would find them now."""
        found = self._ask(bundle, names, whole=False)
        return {name: self._state(name, stored) for name, stored in found.items()}

    def _ask(
        self, bundle: str, names: Collection[SecretName], *, whole: bool
    ) -> dict[SecretName, BundleSecret]:
        with self.engine.begin() as conn:
            found = bundle_secrets.ask(conn, bundle, names, whole=whole)
        if found.keys() != set(names):
            raise FencedError(FENCED)
        return found

    def _refusal(self, bundle: str, name: SecretName, stored: BundleSecret) -> str | None:
        """Return why a name is refused that is not granted; None if nothing has it."""
        if not (stored.present or self.provided.has(*name)):
            return None
        kind = name.kind
        return (
            f"The file may not read the {kind} {name.name!r} while it is parsed, as its bundle is "
            f"not granted it: `headway {kind}s grant {name.name} --bundle {bundle}` lets it. "
            "A task reads it by the grant of its DAG."
        )

    def _state(self, name: SecretName, stored: BundleSecret) -> str:
        try:
            provided = self.provided.find(*name)
        except SecretError as error:
            return f"{self._stored_state(stored)} {error}"
        if provided is None:
            return self._stored_state(stored)
        # By a key of this process: what is stored of a state must not tell of the value.
        value = hmac.digest(self._nonce, to_text(provided).encode(), "sha256").hex()
        return f"{stored.granted} {value}"

    def _stored_state(self, stored: BundleSecret) -> str:
        return f"{stored.granted} {stored.changed_at}"
