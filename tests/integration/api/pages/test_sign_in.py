"""Signing in and out without a script."""

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import PASSWORD, Api

SAME_SITE = {"Sec-Fetch-Site": "same-origin"}


def _sign_in(browser: TestClient, **fields: str) -> str:
    given = {"name": "vera", "password": PASSWORD, "to": "/dags?q=x", **fields}
    answer = browser.post("/sign-in", data=given, headers=SAME_SITE)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def test_who_is_not_signed_in_is_asked_and_comes_back(api: Api, browser: TestClient) -> None:
    api.account("vera")

    asked = browser.get("/dags?q=x")
    assert asked.status_code == 303
    assert asked.headers["location"] == "/sign-in?to=%2Fdags%3Fq%3Dx"
    form = browser.get(asked.headers["location"])
    assert 'value="/dags?q=x"' in form.text

    assert _sign_in(browser) == "/dags?q=x"
    assert browser.get("/dags").status_code == 200


@pytest.mark.parametrize(
    "to", ["https://evil.example", "//evil.example", "/\\evil.example", "", "/a\r\nSet-Cookie: x"]
)
def test_signing_in_leads_to_no_other_site(api: Api, browser: TestClient, to: str) -> None:
    api.account("vera")

    assert _sign_in(browser, to=to) == "/"


def test_a_wrong_password_is_told_and_not_quoted(api: Api, browser: TestClient) -> None:
    api.account("vera")

    given = {"name": "vera", "password": "wrong secret", "to": "/"}
    answer = browser.post("/sign-in", data=given, headers=SAME_SITE)

    assert answer.status_code == 401
    assert "The name or the password is wrong" in answer.text
    assert "wrong secret" not in answer.text
    assert 'value="vera"' in answer.text


def test_another_site_signs_nobody_in(api: Api, browser: TestClient) -> None:
    api.account("vera")

    given = {"name": "vera", "password": PASSWORD, "to": "/"}
    answer = browser.post("/sign-in", data=given, headers={"Sec-Fetch-Site": "cross-site"})

    assert answer.status_code == 403
    assert not browser.cookies


def test_signing_in_ends_the_session_that_was_there(api: Api, browser: TestClient) -> None:
    api.account("vera")
    _sign_in(browser)
    before = dict(browser.cookies)

    _sign_in(browser)

    assert dict(browser.cookies) != before
    with api.client() as other:
        other.cookies.update(before)
        assert other.get("/auth/me").status_code == 401


def test_after_signing_out_nothing_is_shown(api: Api, browser: TestClient) -> None:
    api.account("vera")
    _sign_in(browser)
    cookies = dict(browser.cookies)

    answer = browser.post("/sign-out", headers=SAME_SITE)

    assert answer.headers["location"] == "/sign-in"
    browser.cookies.update(cookies)
    assert browser.get("/dags").status_code == 303


def test_a_form_that_is_too_large_signs_nobody_in(api: Api, browser: TestClient) -> None:
    api.account("vera")

    given = {"name": "vera", "password": PASSWORD, "filler": "x" * 100_000}
    answer = browser.post("/sign-in", data=given, headers=SAME_SITE)

    assert answer.status_code == 422
