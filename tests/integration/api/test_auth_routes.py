"""Sign in and out, and who a request is taken for."""

import base64
import hashlib
import re

import pytest
from tests.integration.api.conftest import PASSWORD, Api

from headway.domain.accounts import AccountRole


def test_a_password_gives_a_token_and_the_token_is_the_account(api: Api) -> None:
    api.account("ann", AccountRole.OPERATOR, ("sales",))
    client = api.client()

    given = client.post("/auth/token", json={"username": "ann", "password": PASSWORD})
    token = given.json()["access_token"]
    me = client.get("/auth/me", headers={"Authorization": f"Bearer {token}"})

    assert given.status_code == 201
    assert me.json() == {"name": "ann", "role": "operator", "bundles": ["sales"]}


@pytest.mark.parametrize("token", [None, "hw_none", ""])
def test_without_a_token_in_force_nothing_is_shown(api: Api, token: str | None) -> None:
    answer = api.client(token).get("/auth/me")

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "not_signed_in"


def test_a_wrong_password_is_refused_and_not_quoted(api: Api) -> None:
    api.account("ann")
    shown = {"username": "ann", "password": "not the password"}

    answer = api.client().post("/auth/token", json=shown)

    assert answer.status_code == 401
    assert "not the password" not in answer.text


def test_a_malformed_sign_in_does_not_quote_the_password(api: Api) -> None:
    answer = api.client().post("/auth/token", json={"username": "ann", "password": ["secret99"]})

    assert answer.status_code == 422
    assert "secret99" not in answer.text
    assert answer.json()["detail"][0]["loc"] == ["body", "password"]


def test_a_session_is_a_cookie_that_ends_with_the_sign_out(api: Api) -> None:
    api.account("ann")
    shown = {"username": "ann", "password": PASSWORD}
    same = {"Sec-Fetch-Site": "same-origin"}
    with api.client() as browser:
        begun = browser.post("/auth/session", json=shown)
        cookie = begun.headers["set-cookie"]
        inside = browser.get("/auth/me")
        ended = browser.delete("/auth/session", headers=same)
        browser.cookies.set("headway", cookie.split("=", 1)[1].split(";")[0])
        outside = browser.get("/auth/me")

    assert (begun.status_code, inside.status_code, ended.status_code) == (200, 200, 204)
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    assert outside.status_code == 401


def test_a_sign_in_begins_a_new_session_and_ends_the_one_that_the_browser_had(api: Api) -> None:
    api.account("ann")
    shown = {"username": "ann", "password": PASSWORD}
    with api.client() as browser:
        browser.post("/auth/session", json=shown)
        first = browser.cookies["headway"]
        browser.post("/auth/session", json=shown, headers={"Sec-Fetch-Site": "same-origin"})
        second = browser.cookies["headway"]
        browser.cookies.set("headway", first)
        stolen = browser.get("/auth/me")

    assert first != second
    assert stolen.status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 204),
        ({"Origin": "http://localhost"}, 204),
    ],
)
def test_another_site_changes_nothing_by_a_browsers_cookie(
    api: Api, headers: dict[str, str], status: int
) -> None:
    api.account("ann")
    with api.client() as browser:
        browser.post("/auth/session", json={"username": "ann", "password": PASSWORD})

        assert browser.delete("/auth/session", headers=headers).status_code == status


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}]
)
def test_another_site_signs_no_browser_in(api: Api, headers: dict[str, str]) -> None:
    api.account("ann")
    shown = {"username": "ann", "password": PASSWORD}

    answer = api.client().post("/auth/session", json=shown, headers=headers)

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "169.254.169.254"])
def test_a_strange_host_is_refused(api: Api, host: str) -> None:
    answer = api.client().get("/auth/me", headers={"Host": host})

    assert answer.status_code == 421


def test_too_many_tries_are_refused_with_the_time_to_wait(api: Api) -> None:
    api.account("ann")
    client = api.client()
    shown = {"username": "ann", "password": "wrong password"}

    answers = [client.post("/auth/token", json=shown) for _ in range(12)]

    assert [answer.status_code for answer in answers[:10]] == [401] * 10
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0


def test_the_page_of_a_link_may_run_its_own_script_alone_and_talk_to_the_api_alone(
    api: Api,
) -> None:
    answer = api.client().get("/auth/link")
    [script] = re.findall(r"<script[^>]*>(.*?)</script>", answer.text, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = set(answer.headers["content-security-policy"].split("; "))

    assert answer.status_code == 200
    assert {"default-src 'none'", f"script-src 'sha256-{digest}'", "connect-src 'self'"} <= policy
    assert answer.headers["cache-control"] == "no-store"
