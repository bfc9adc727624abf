"""What a request shows of itself, or brings to be kept secret, is in no log and no answer."""

import logging
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import AUTHOR, PASSWORD, Api

from headway.actions.accounts import links
from headway.db.reads.pages import pool_pages
from headway.runtime.settings.configuration import home, make_home
from headway.runtime.settings.secret_keys import make_keys_file

SAME = {"Sec-Fetch-Site": "same-origin"}
CANARY = "canary-4711"
ACCIDENT = "accident-0815"


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """All that every part of the process logs, however little it matters."""
    with caplog.at_level(logging.DEBUG):
        yield caplog


def signs_in(api: Api) -> Iterator[str]:
    """Sign in by each way, rightly and wrongly; yield each secret that was shown or given."""
    given = {"username": "ann", "password": PASSWORD}
    with api.engine.begin() as conn:
        link = links.create_link(conn, "ann", AUTHOR).partition("#")[2]
    with api.client() as browser:
        token = browser.post("/auth/token", json=given).json()["access_token"]
        browser.post("/auth/token", json={**given, "password": CANARY})
        browser.post("/auth/session/link", json={"link": link}, headers=SAME)
        yield browser.cookies["headway"]
        browser.post("/auth/session/link", json={"link": link}, headers=SAME)
        browser.get("/auth/me")
    yield from (PASSWORD, CANARY, link, token)


def changes(admin: TestClient) -> None:
    """Store secrets, one of them malformed, and make a token."""
    admin.post("/api/v2/variables", json={"key": "v", "value": CANARY})
    admin.post("/api/v2/variables", json={"key": "v", "value": CANARY})
    admin.post("/api/v2/variables", json={"key": "v", "value": {CANARY: None}, "no": CANARY})
    admin.post(
        "/api/v2/connections",
        json={"connection_id": "c", "conn_type": "http", "password": CANARY, "extra": CANARY},
    )
    admin.post("/headway/v1/tokens", json={"name": "ci", "bundles": [CANARY]})


def test_no_log_has_a_secret(
    api: Api, logged: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_keys_file(make_home(home()))
    api.account("ann")
    token = api.token("admin")

    secrets = {token, *signs_in(api)}
    with api.client(token) as admin:
        changes(admin)
        made = admin.post("/headway/v1/tokens", json={"name": "own", "account": "ann"}).json()

        def fail(*_given: object) -> None:
            raise RuntimeError(ACCIDENT)

        monkeypatch.setattr(pool_pages, "page", fail)
        quiet = TestClient(admin.app, "http://localhost", raise_server_exceptions=False)
        fault = quiet.get("/api/v2/pools", headers={"Authorization": f"Bearer {token}"})

    assert fault.status_code == 500
    assert ACCIDENT in logged.text
    assert ACCIDENT not in fault.text
    secrets.add(made["secret"])
    assert len(secrets) == 7
    assert [secret for secret in secrets if secret in logged.text] == []
