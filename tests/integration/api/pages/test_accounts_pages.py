"""Tokens and accounts by pages: a secret is shown once, and only admins see those of others."""

import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api

from headway.domain.accounts import AccountRole


@pytest.fixture
def admin(api: Api) -> Iterator[TestClient]:
    """A browser of an admin."""
    with api.client(api.token("ada", AccountRole.ADMIN)) as client:
        client.headers["Accept"] = "text/html"
        yield client


def test_the_secret_of_a_new_token_is_shown_once_and_lets_in(api: Api, admin: TestClient) -> None:
    answer = admin.post("/tokens", data={"name": "nightly", "days": "30"})

    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    found = re.search(r'readonly value="([^"]+)"', answer.text)
    assert found is not None
    with api.client(found[1]) as program:
        assert program.get("/api/v2/dags").status_code == 200
    listed = admin.get("/tokens").text
    assert "nightly" in listed
    assert found[1] not in listed


@pytest.mark.parametrize(
    ("days", "said"),
    [
        ("0", "A token lasts between 1 and 36,500 days, not 0."),
        ("99999999", "A token lasts between 1 and 36,500 days, not 99,999,999."),
        ("x", "Days until it expires is a whole number"),
        ("²", "Days until it expires is a whole number"),
    ],
)
def test_a_wrong_form_comes_back_with_what_is_wrong(
    admin: TestClient, days: str, said: str
) -> None:
    page = admin.post("/tokens", data={"name": "nightly", "days": days, "reason": "why"}).text
    assert 'role="alert"' in page
    assert 'value="nightly"' in page
    assert said in page


def test_a_name_that_is_taken_is_said(admin: TestClient) -> None:
    assert admin.post("/tokens", data={"name": "nightly"}).status_code == 201
    assert 'role="alert"' in admin.post("/tokens", data={"name": "nightly"}).text


def test_a_token_is_revoked_after_a_preview(api: Api, admin: TestClient) -> None:
    made = admin.post("/tokens", data={"name": "nightly"}).text
    [secret] = re.findall(r'readonly value="([^"]+)"', made)
    [link] = re.findall(
        r'href="(/tokens/\d+/revoke)" aria-label="Revoke nightly"', admin.get("/tokens").text
    )

    assert "is refused from now on" in admin.get(link).text
    with api.client(secret) as program:
        assert program.get("/api/v2/dags").status_code == 200
    assert "is refused from now on" in admin.post(link, data={"reason": "it leaked"}).text
    with api.client(secret) as program:
        assert program.get("/api/v2/dags").status_code == 401


def test_a_viewer_sees_the_own_tokens_and_no_account(
    api: Api, admin: TestClient, viewer: TestClient
) -> None:
    admin.post("/tokens", data={"name": "of-ada"})
    assert "of-ada" not in viewer.get("/tokens").text
    assert viewer.get("/accounts").status_code == 403
    assert viewer.get("/accounts/ada/disable").status_code == 403
    assert viewer.post("/accounts/ada/disable").status_code == 403


def test_an_account_is_disabled_and_enabled(
    api: Api, admin: TestClient, viewer: TestClient
) -> None:
    assert "may sign in no more" not in admin.get("/accounts/vera/disable").text
    assert viewer.get("/dags").status_code == 200
    assert "is disabled" in admin.post("/accounts/vera/disable", data={}).text
    assert "<h1>Sign in" in viewer.get("/dags").text
    assert "Enable vera" in admin.get("/accounts").text
    assert "may sign in again" in admin.post("/accounts/vera/enable", data={}).text
    refused = admin.get("/accounts/ada/disable")
    assert refused.status_code == 409
    assert "be there first." in refused.text


def test_an_unknown_role_makes_no_token(admin: TestClient) -> None:
    page = admin.post("/tokens", data={"name": "nightly", "role": "veiwer"}).text
    assert "There is no role" in page
    assert "nightly" not in admin.get("/tokens").text
