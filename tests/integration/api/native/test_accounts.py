"""Accounts and tokens: who may manage which, and that no secret is kept or shown twice."""

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import PASSWORD, Api
from tests.integration.api.native.conftest import V1, Clients

from headway.domain.accounts import AccountRole

ACCOUNTS, TOKENS = f"{V1}/accounts", f"{V1}/tokens"
ANN = {"name": "ann", "role": "operator", "bundles": ["sales"], "password": PASSWORD}


def stored(api: Api) -> str:
    """Everything that the tables of the API hold, as text."""
    tables = ("api_idempotency", "api_token", "api_account", "event")
    with api.engine.connect() as conn:
        return "".join(str(conn.execute(text(f"SELECT * FROM {table}")).all()) for table in tables)


def sign_in(api: Api, name: str, password: str = PASSWORD) -> int:
    given = {"username": name, "password": password}
    return int(api.client().post("/auth/token", json=given).status_code)


def test_an_account_is_created_shown_and_signs_in(api: Api, admin: TestClient) -> None:
    made = admin.post(ACCOUNTS, json={**ANN, "reason": "new here"})
    shown = admin.get(f"{ACCOUNTS}/ann")
    again = admin.post(ACCOUNTS, json=ANN)

    assert made.status_code == 201
    assert made.json() == shown.json()
    assert shown.json()["account"]["bundles"] == ["sales"]
    assert PASSWORD not in made.text + shown.text + admin.get(ACCOUNTS).text
    assert (again.status_code, again.json()["code"]) == (409, "already_exists")
    assert sign_in(api, "ann") == 201


def test_accounts_are_listed_page_by_page(api: Api, admin: TestClient) -> None:
    for name in ("cid", "bob"):
        api.account(name)

    first = admin.get(ACCOUNTS, params={"limit": 2}).json()
    rest = admin.get(ACCOUNTS, params={"limit": 2, "cursor": first["next_cursor"]}).json()

    names = [row["name"] for page in (first, rest) for row in page["rows"]]
    assert names == ["admin", "bob", "cid"]
    assert "password" not in str(first)


def test_an_account_is_changed_disabled_and_deleted(api: Api, admin: TestClient) -> None:
    api.account("ann", AccountRole.VIEWER, ("sales",))

    role = admin.patch(f"{ACCOUNTS}/ann", json={"role": "operator"}).json()["account"]
    bundles = admin.patch(f"{ACCOUNTS}/ann", json={"bundles": ["*"]}).json()["account"]
    admin.patch(f"{ACCOUNTS}/ann", json={"password": "another horse battery"})
    signed_in = sign_in(api, "ann", "another horse battery")
    disabled = admin.patch(f"{ACCOUNTS}/ann", json={"disabled": True}).json()["account"]
    refused = sign_in(api, "ann", "another horse battery")
    enabled = admin.patch(f"{ACCOUNTS}/ann", json={"disabled": False}).json()["account"]
    gone = admin.delete(f"{ACCOUNTS}/ann")

    assert (role["role"], role["bundles"]) == ("operator", ["sales"])
    assert bundles["bundles"] is None
    assert (signed_in, refused) == (201, 401)
    assert (disabled["disabled_at"] is None, enabled["disabled_at"]) == (False, None)
    assert (gone.status_code, gone.content) == (204, b"")
    assert admin.get(f"{ACCOUNTS}/ann").json()["code"] == "account_not_found"


@pytest.mark.parametrize("change", [{"role": "viewer"}, {"disabled": True}, None])
def test_the_last_admin_stays(
    api: Api, admin: TestClient, change: dict[str, object] | None
) -> None:
    path = f"{ACCOUNTS}/admin"

    answer = admin.delete(path) if change is None else admin.patch(path, json=change)

    assert answer.status_code == 409
    assert admin.get(path).json()["account"]["role"] == "admin"


def test_several_changes_of_an_account_are_made_together_or_not_at_all(
    api: Api, admin: TestClient
) -> None:
    api.account("ann", AccountRole.VIEWER)

    answer = admin.patch(f"{ACCOUNTS}/ann", json={"role": "operator", "password": "short"})

    assert answer.status_code == 422
    assert "short" not in answer.text
    assert admin.get(f"{ACCOUNTS}/ann").json()["account"]["role"] == "viewer"


def test_a_rehearsed_account_is_not_there(api: Api, admin: TestClient) -> None:
    would = admin.post(ACCOUNTS, json=ANN, params={"dry_run": True})

    assert (would.status_code, would.json()["account"]["name"]) == (200, "ann")
    assert admin.get(f"{ACCOUNTS}/ann").status_code == 404
    assert admin.delete(f"{ACCOUNTS}/admin", params={"dry_run": True}).status_code == 409


def test_the_password_is_no_part_of_what_is_kept_of_a_request(api: Api, admin: TestClient) -> None:
    key = {"Idempotency-Key": "one"}

    first = admin.post(ACCOUNTS, json=ANN, headers=key)
    again = admin.post(ACCOUNTS, json={**ANN, "password": "another password"}, headers=key)

    assert first.json() == again.json()  # what is kept cannot tell the two passwords apart
    assert PASSWORD not in stored(api)


@pytest.mark.parametrize(
    "given",
    [
        {**ANN, "role": "owner"},
        {**ANN, "password": None},
        {**ANN, "password": "short"},
        {**ANN, "name": "no such name"},
        {**ANN, "role": "admin"},
        {**ANN, "more": 1},
    ],
)
def test_accounts_that_cannot_be_are_refused(
    api: Api, admin: TestClient, given: dict[str, object]
) -> None:
    answer = admin.post(ACCOUNTS, json=given)

    assert answer.status_code == 422
    assert str(given["password"]) not in answer.text or given["password"] is None


def test_only_admins_see_or_change_accounts(clients: Clients) -> None:
    for client in (clients.viewer, clients.operator, clients.limited):
        answers = [
            client.get(ACCOUNTS),
            client.get(f"{ACCOUNTS}/admin"),
            client.post(ACCOUNTS, json=ANN),
            client.patch(f"{ACCOUNTS}/vera", json={"role": "admin"}),
            client.delete(f"{ACCOUNTS}/vera"),
        ]
        assert [answer.status_code for answer in answers] == [403] * 5


def test_a_token_has_no_more_than_its_account_and_works(api: Api, clients: Clients) -> None:
    made = clients.limited.post(TOKENS, json={"name": "ci", "role": "viewer", "lifetime": 3600})
    more = clients.limited.post(TOKENS, json={"name": "more", "role": "admin"})
    wider = clients.limited.post(TOKENS, json={"name": "wider", "bundles": ["*"]})

    assert made.status_code == 201
    assert (made.json()["role"], made.json()["bundles"]) == ("viewer", ["mine"])
    assert (more.status_code, wider.status_code) == (422, 422)
    me = api.client(made.json()["secret"]).get("/auth/me").json()
    assert me == {"name": "lena", "role": "viewer", "bundles": ["mine"]}


def test_a_token_makes_no_token_that_has_more_than_it_has(api: Api, clients: Clients) -> None:
    weak = clients.operator.post(TOKENS, json={"name": "weak", "role": "viewer"}).json()["secret"]

    answer = api.client(weak).post(TOKENS, json={"name": "strong", "role": "operator"})

    assert answer.status_code == 422


def test_the_secret_of_a_token_is_shown_once_and_kept_nowhere(api: Api, clients: Clients) -> None:
    made = clients.operator.post(TOKENS, json={"name": "ci"})
    listed = clients.operator.get(TOKENS)

    secret = made.json()["secret"]
    assert [row["name"] for row in listed.json()["rows"]] == ["test", "ci"]
    assert secret not in listed.text
    assert secret not in stored(api)


def test_a_token_is_not_made_with_an_idempotency_key(api: Api, clients: Clients) -> None:
    key = {"Idempotency-Key": "one"}

    answer = clients.operator.post(TOKENS, json={"name": "ci"}, headers=key)

    assert answer.status_code == 422
    assert len(clients.operator.get(TOKENS).json()["rows"]) == 1


def test_a_rehearsed_token_has_no_secret(api: Api, clients: Clients) -> None:
    would = clients.operator.post(TOKENS, json={"name": "ci"}, params={"dry_run": True})

    assert (would.status_code, would.json()["secret"]) == (200, None)
    assert len(clients.operator.get(TOKENS).json()["rows"]) == 1


def test_tokens_of_others_are_for_admins(api: Api, clients: Clients) -> None:
    every = {row["account"] for row in clients.admin.get(TOKENS).json()["rows"]}
    vera = clients.admin.get(TOKENS, params={"account": "vera"}).json()["rows"]
    own = clients.viewer.get(TOKENS).json()["rows"]
    of_admin = clients.viewer.get(TOKENS, params={"account": "admin"})
    for_admin = clients.operator.post(TOKENS, json={"name": "x", "account": "admin"})
    for_vera = clients.admin.post(TOKENS, json={"name": "x", "account": "vera"})

    assert every == {"admin", "olga", "vera", "lena"}
    assert [row["id"] for row in vera] == [row["id"] for row in own]
    assert {row["account"] for row in own} == {"vera"}
    assert (of_admin.status_code, for_admin.status_code) == (403, 403)
    assert (for_vera.status_code, for_vera.json()["role"]) == (201, "viewer")


def test_tokens_are_revoked_by_their_owner_and_by_admins(api: Api, clients: Clients) -> None:
    made = clients.operator.post(TOKENS, json={"name": "ci"}).json()
    path = f"{TOKENS}/{made['id']}"

    foreign = clients.viewer.delete(path)
    rehearsed = clients.operator.delete(path, params={"dry_run": True})
    before = api.client(made["secret"]).get("/auth/me").status_code
    revoked = clients.operator.delete(path)
    after = api.client(made["secret"]).get("/auth/me").status_code

    assert (foreign.status_code, foreign.json()["code"]) == (404, "token_not_found")
    assert (rehearsed.status_code, before) == (204, 200)
    assert (revoked.status_code, after) == (204, 401)
    assert clients.operator.delete(path).status_code == 404
    other = clients.operator.post(TOKENS, json={"name": "other"}).json()
    assert clients.admin.delete(f"{TOKENS}/{other['id']}").status_code == 204


def test_tokens_are_listed_page_by_page(api: Api, clients: Clients) -> None:
    for number in range(3):
        clients.operator.post(TOKENS, json={"name": f"t{number}"})

    first = clients.operator.get(TOKENS, params={"limit": 3}).json()
    rest = clients.operator.get(TOKENS, params={"limit": 3, "cursor": first["next_cursor"]}).json()

    names = [row["name"] for page in (first, rest) for row in page["rows"]]
    assert names == ["test", "t0", "t1", "t2"]
