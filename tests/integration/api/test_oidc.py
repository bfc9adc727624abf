"""Sign in by OpenID Connect: with a real provider, and with one that lies."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from oidc_provider_mock import User, run_server_in_thread  # type: ignore[import-untyped]
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api

from headway.domain.accounts import AccountRole
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.settings.configuration import read
from headway.runtime.settings.oidc import OidcSettings
from headway_api.app import build, guarded

CLIENT = "headway"
ONE, OTHER = (RSAKey.generate_key(2048, {"kid": kid}) for kid in ("one", "other"))
GROUPS = {"viewer_groups": "*", "operator_groups": "data", "admin_groups": "platform"}


@contextmanager
def browser(api: Api, issuer: str, **given: str) -> Iterator[TestClient]:
    """A browser before an api that knows this provider; it follows no redirect by itself."""
    values = {"issuer": issuer, "client_id": CLIENT, "client_secret": "secret", **GROUPS, **given}
    app = build(api.app.state.database, api.settings, read(OidcSettings, **values))
    client = TestClient(
        guarded(app, api.settings), base_url="http://localhost", follow_redirects=False
    )
    with client:
        yield client


def returned(client: TestClient, sub: str) -> str:
    """Begin to sign in, agree at the provider, and return where that sends the browser."""
    begun = client.get("/auth/oidc")
    assert begun.status_code == 302
    agreed = httpx.post(begun.headers["location"], data={"sub": sub})
    return agreed.headers["location"].removeprefix("http://localhost")


def test_who_signs_in_at_the_provider_has_the_role_of_its_groups(api: Api) -> None:
    claims = {"preferred_username": "Ann", "groups": ["data"]}
    with (
        run_server_in_thread(user_claims=[User(sub="42", claims=claims)]) as provider,
        browser(api, f"http://localhost:{provider.server_port}") as client,
    ):
        back = client.get(returned(client, "42"))
        me = client.get("/auth/me").json()
        again = client.get(returned(client, "42"))

    assert (back.status_code, again.status_code) == (302, 302)
    assert me == {"name": "ann", "role": "operator", "bundles": ["*"]}


def test_a_return_works_once_and_only_in_the_browser_that_began(api: Api) -> None:
    with (
        run_server_in_thread(user_claims=[User(sub="42", claims={})]) as provider,
        browser(api, f"http://localhost:{provider.server_port}") as client,
        browser(api, f"http://localhost:{provider.server_port}") as other,
    ):
        place = returned(client, "42")
        elsewhere = other.get(place)
        first, second = client.get(place), client.get(place)

    assert (elsewhere.status_code, first.status_code, second.status_code) == (401, 302, 401)


@dataclass(slots=True)
class Liar:
    """A provider whose ID token says what a test wants, signed by what it wants."""

    claims: dict[str, Any] = field(default_factory=dict)
    header: dict[str, str] = field(default_factory=lambda: {"alg": "RS256"})
    key: Any = field(default_factory=lambda: ONE)
    signs_by: Any = None
    token: str | None = None
    issuer: str = ""
    codes: dict[str, str] = field(default_factory=dict)
    calls_itself: str | None = None

    def id_token(self, nonce: str) -> str:
        now = round(SystemClock().now().timestamp())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "42",
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            "preferred_username": "ann",
            **self.claims,
        }
        said = {name: value for name, value in claims.items() if value is not None}
        return self.token or jwt.encode(
            {**self.header, "kid": self.key.kid}, said, self.signs_by or self.key
        )

    def answer(self, path: str, body: str) -> Any:
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.calls_itself or self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/jwks",
            }
        if path == "/jwks":
            return {"keys": [self.key.as_dict(private=False)]}
        (code,) = parse_qs(body)["code"]
        return {"access_token": "a", "token_type": "Bearer", "id_token": self.id_token(code)}


@pytest.fixture
def liar() -> Iterator[Liar]:
    it = Liar()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            said = json.dumps(it.answer(self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_POST = do_GET  # noqa: N815 - the name that the server calls

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    it.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield it
    server.shutdown()
    thread.join()
    server.server_close()


def signed_in(client: TestClient) -> httpx.Response:
    """Sign in at the liar, whose codes are the nonces that it was sent."""
    asked = parse_qs(urlsplit(client.get("/auth/oidc").headers["location"]).query)
    assert asked["code_challenge_method"] == ["S256"]
    state, nonce = asked["state"][0], asked["nonce"][0]
    answer: httpx.Response = client.get(
        "/auth/oidc/callback", params={"code": nonce, "state": state}
    )
    return answer


def accounts(api: Api) -> int:
    with api.engine.connect() as conn:
        found: int = conn.scalar(text("SELECT count(*) FROM api_account")) or 0
        return found


def test_an_honest_token_signs_in(api: Api, liar: Liar) -> None:
    with browser(api, liar.issuer) as client:
        assert signed_in(client).status_code == 302
        assert client.get("/auth/me").json()["role"] == "viewer"


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"aud": [CLIENT, "another"]},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"azp": "another"},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"iat": 99_999_999_999},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"sub": None},
    ],
    ids=str,
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(
    api: Api, liar: Liar, claims: dict[str, Any]
) -> None:
    liar.claims = claims
    with browser(api, liar.issuer) as client:
        answer = signed_in(client)

    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert accounts(api) == 0


@pytest.mark.parametrize("way", ["another key", "by the client's secret", "unsigned", "garbage"])
def test_a_forged_token_is_refused(api: Api, liar: Liar, way: str) -> None:
    if way == "another key":
        liar.signs_by = OTHER
    elif way == "by the client's secret":
        liar.header, liar.signs_by = {"alg": "HS256"}, OctKey.import_key("secret" * 8)
    elif way == "unsigned":
        liar.token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiI0MiJ9."
    else:
        liar.token = "garbage"
    with browser(api, liar.issuer) as client:
        answer = signed_in(client)

    assert answer.status_code == 401
    assert accounts(api) == 0


def test_a_provider_may_change_its_keys(api: Api, liar: Liar) -> None:
    """The keys are read again for a token that the known ones have not signed."""
    with browser(api, liar.issuer) as client:
        assert signed_in(client).status_code == 302
        liar.key = OTHER
        app: Any = client.app
        while not hasattr(app, "state"):  # layers stand around it
            app = app.app
        provider = app.state.oidc
        read_at, *rest = provider._known
        provider._known = (read_at - 11, *rest)

        assert signed_in(client).status_code == 302


def test_who_is_in_no_group_has_no_account(api: Api, liar: Liar) -> None:
    with browser(api, liar.issuer, viewer_groups="readers") as client:
        answer = signed_in(client)

    assert answer.status_code == 401
    assert accounts(api) == 0


def test_an_account_of_that_name_is_not_taken_over(api: Api, liar: Liar) -> None:
    api.account("ann", AccountRole.ADMIN)
    with browser(api, liar.issuer) as client:
        answer = signed_in(client)

    assert answer.status_code == 409
    assert "set-cookie" not in answer.headers


def test_a_disabled_account_does_not_sign_in(api: Api, liar: Liar) -> None:
    with browser(api, liar.issuer) as client:
        signed_in(client)
        with api.engine.begin() as conn:
            conn.execute(text("UPDATE api_account SET disabled_at = now()"))

        assert signed_in(client).status_code == 401


def test_the_role_follows_the_groups(api: Api, liar: Liar) -> None:
    with browser(api, liar.issuer) as client:
        signed_in(client)
        liar.claims = {"groups": ["data"]}
        signed_in(client)

        assert client.get("/auth/me").json()["role"] == "operator"


def test_a_provider_of_another_name_is_an_error_that_says_so(api: Api, liar: Liar) -> None:
    liar.calls_itself = "https://login.example.com"
    with browser(api, liar.issuer) as client:
        answer = client.get("/auth/oidc")

    assert answer.status_code == 502
    assert "HEADWAY_OIDC_ISSUER" in answer.json()["detail"]


def test_a_provider_that_is_away_is_an_error_that_says_so(api: Api) -> None:
    with browser(api, "http://127.0.0.1:9") as client:
        answer = client.get("/auth/oidc")

    assert answer.status_code == 502
    assert "cannot be reached" in answer.json()["detail"]


@pytest.mark.parametrize("error", ["access_denied", "<script>"])
def test_what_the_provider_refuses_is_told(api: Api, liar: Liar, error: str) -> None:
    with browser(api, liar.issuer) as client:
        state = parse_qs(urlsplit(client.get("/auth/oidc").headers["location"]).query)["state"][0]
        answer = client.get("/auth/oidc/callback", params={"error": error, "state": state})

    assert answer.status_code == 401
    assert answer.headers["content-type"].startswith("application/")
