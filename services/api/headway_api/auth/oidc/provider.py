"""An OpenID Connect provider: where it is, what it says of a person, and by which keys."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import httpx
from authlib.integrations.httpx_client import OAuth2Client, OAuthError
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from headway.actions.accounts.oidc import OidcSubject
from headway.runtime.daemon.clock import Clock
from headway.runtime.settings.oidc import OidcSettings
from headway_api.http.refusals import ProviderError, WrongPasswordError

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures by a key that the provider alone has: never `none`, never by the client's secret."""

FRESH: Final = 3600.0
"""Seconds for which the provider's addresses and keys are kept."""

TIMEOUT: Final = 10.0
LEEWAY: Final = 60
"""Seconds by which the provider's clock may differ from this one."""


@dataclass(frozen=True, slots=True)
class Authorization:
    """A sign-in that has begun: where the browser is sent, and what must come back with it."""

    url: str
    state: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)


@dataclass(slots=True)
class OidcProvider:
    """The provider of the settings.  Any thread may ask it."""

    given: OidcSettings
    clock: Clock
    _lock: Lock = field(default_factory=Lock)
    _known: tuple[float, Mapping[str, Any], KeySet] | None = None

    def begin(self, callback: str) -> Authorization:
        """Return a new sign-in; its address is that of the provider's page."""
        addresses, _ = self._found()
        state, nonce, verifier = (secrets.token_urlsafe(48) for _ in range(3))
        with self._client(callback) as client:
            url, _ = client.create_authorization_url(
                addresses["authorization_endpoint"],
                state=state,
                nonce=nonce,
                code_verifier=verifier,
            )
        return Authorization(url, state, nonce, verifier)

    def person(self, code: str, begun: Authorization, callback: str) -> OidcSubject:
        """Return of whom the provider tells for a code.

        WrongPasswordError if what it tells is not for this sign-in; ProviderError if it cannot be
        reached, or breaks the protocol.
        """
        addresses, _ = self._found()
        try:
            with self._client(callback) as client:
                answer = client.fetch_token(
                    addresses["token_endpoint"], code=code, code_verifier=begun.verifier
                )
        except OAuthError as error:
            raise WrongPasswordError(
                f"The provider refuses this sign-in: {error.error}."
            ) from error
        except httpx.HTTPError as error:
            raise _away(error) from error
        claims = self._claims(answer.get("id_token", ""), begun.nonce)
        groups = claims.get(self.given.groups_claim)
        listed = [groups] if isinstance(groups, str) else groups
        named = frozenset(map(str, listed)) if isinstance(listed, list) else frozenset()
        name = claims.get(self.given.name_claim) or claims.get("email") or claims["sub"]
        issuer, subject = str(claims["iss"]), str(claims["sub"])
        return OidcSubject(issuer, subject, str(name), self.given.role_of(named))

    def _claims(self, token: str, nonce: str) -> Mapping[str, Any]:
        """Return the claims of an ID token that is for this client and this sign-in."""
        try:
            found = self._decoded(token)
            its = jwt.JWTClaimsRegistry(
                now=round(self.clock.now().timestamp()),
                leeway=LEEWAY,
                iss={"essential": True, "value": str(self.given.issuer)},
                aud={"essential": True, "value": str(self.given.client_id)},
                exp={"essential": True},
                iat={"essential": True},
                sub={"essential": True},
                nonce={"essential": True, "value": nonce},
            )
            its.validate(found)
        except (JoseError, ValueError) as error:
            raise WrongPasswordError("The provider's ID token is not valid.") from error
        audiences = found["aud"]
        several = isinstance(audiences, list) and len(audiences) > 1
        if (several or "azp" in found) and found.get("azp") != self.given.client_id:
            raise WrongPasswordError("The provider's ID token is for another client.")
        return found

    def _decoded(self, token: str) -> dict[str, Any]:
        _, keys = self._found()
        try:
            return jwt.decode(token, keys, algorithms=ALGORITHMS).claims
        except (JoseError, ValueError):
            # The provider may have changed its keys since they were read.
            _, keys = self._found(anew=True)
            return jwt.decode(token, keys, algorithms=ALGORITHMS).claims

    def _found(self, *, anew: bool = False) -> tuple[Mapping[str, Any], KeySet]:
        """Return the provider's addresses and keys, which are kept for an hour."""
        with self._lock:
            now = self.clock.monotonic()
            known = self._known
            # However many false tokens come, the keys are read again once in ten seconds.
            for_how_long = 10.0 if anew else FRESH
            if known is None or now >= known[0] + for_how_long:
                known = self._known = (now, *self._read())
            return known[1], known[2]

    def _read(self) -> tuple[Mapping[str, Any], KeySet]:
        issuer = str(self.given.issuer)
        try:
            with httpx.Client(timeout=TIMEOUT) as client:
                place = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
                addresses = client.get(place).raise_for_status().json()
                if addresses["issuer"] != issuer:
                    raise ProviderError(
                        f"HEADWAY_OIDC_ISSUER is {issuer}, and the provider calls itself "
                        f"{str(addresses['issuer'])[:200]}. Set it to that."
                    )
                keys = client.get(addresses["jwks_uri"]).raise_for_status().json()
                return addresses, KeySet.import_key_set(keys)
        except httpx.HTTPError as error:
            raise _away(error) from error
        except (KeyError, TypeError, ValueError, JoseError) as error:
            raise ProviderError("The OpenID Connect provider describes itself wrongly.") from error

    def _client(self, callback: str) -> OAuth2Client:
        secret = self.given.client_secret
        return OAuth2Client(
            client_id=self.given.client_id,
            client_secret=None if secret is None else secret.get_secret_value(),
            token_endpoint_auth_method="none" if secret is None else "client_secret_basic",
            scope=" ".join(self.given.scopes),
            redirect_uri=callback,
            code_challenge_method="S256",
            timeout=TIMEOUT,
        )


def _away(error: httpx.HTTPError) -> ProviderError:
    return ProviderError(f"The OpenID Connect provider cannot be reached: {error}")
