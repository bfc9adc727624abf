"""Who sees what in live events, and that a stream ends when that changes."""

from http.client import HTTPConnection

import pytest
from sqlalchemy import text
from tests.integration.api.conftest import PASSWORD, Api
from tests.integration.api.live.conftest import LiveApi
from tests.integration.api.live.test_live_topics import RUN

from headway.domain.accounts import AccountRole
from headway.testing.data import seed
from headway_api.live import hub

PAUSE = text("UPDATE dag SET paused = NOT paused")
HIDDEN = ("dag:etl", f"run:etl/{RUN}", f"task:etl/{RUN}/work", "backfill:1")
CHANGES = {
    "revoked": "UPDATE api_token SET revoked_at = now()",
    "expired": "UPDATE api_token SET expires_at = now()",
    "disabled": "UPDATE api_account SET disabled_at = now()",
    "deleted": "DELETE FROM api_account",
    "role": "UPDATE api_account SET role = 'viewer'",
    "bundles": "UPDATE api_account SET role = 'viewer', bundles = '{main}'",
    "token's role": "UPDATE api_token SET role = 'viewer'",
}
REASONS = dict.fromkeys(("role", "bundles", "token's role"), "account_changed")


def backfill(api: Api) -> None:
    with api.engine.begin() as conn:
        conn.execute(
            text(
                "INSERT INTO backfill (id, dag_id, from_date, to_date, max_active_runs, planned)"
                " OVERRIDING SYSTEM VALUE VALUES (1, 'etl', now(), now(), 1, 1)"
            )
        )


def test_without_a_token_there_is_no_stream(live: LiveApi) -> None:
    status, body = live.refused(None, "home")

    assert status == 401
    assert "not_signed_in" in body


@pytest.mark.parametrize("topics", [(), ("dags",), tuple(f"dag:{n}" for n in range(21))])
def test_what_is_no_topic_is_refused(live: LiveApi, topics: tuple[str, ...]) -> None:
    assert live.refused(live.api.token("ann"), *topics)[0] == 422


def test_what_is_of_other_bundles_looks_as_if_it_were_not_there(live: LiveApi) -> None:
    seed.running(live.api.engine, seed.dag())
    backfill(live.api)
    unknown = ("dag:x", "run:etl/x", "task:etl/x/x", "backfill:9")
    seen = live.open(live.api.token("ann"), *HIDDEN)
    hidden = live.open(live.api.token("bob", AccountRole.OPERATOR, ("sales",)), *HIDDEN, *unknown)

    seen.until(lambda: len(seen.has) == len(HIDDEN))
    hidden.until(lambda: len(hidden.has) == len(HIDDEN + unknown))

    assert None not in seen.has.values()
    assert set(hidden.has.values()) == {None}


def test_nothing_of_other_bundles_is_counted_or_named(live: LiveApi) -> None:
    seed.make_pool(live.api.engine, "small", 2)
    seed.running(live.api.engine, seed.in_pool(seed.dag(), "small"))
    with live.api.engine.begin() as conn:
        conn.execute(text("INSERT INTO import_error VALUES ('main', 'x.py', 'broken')"))
    seen = live.open(live.api.token("ann", AccountRole.VIEWER, ("main",)), "home", "pools")
    hidden = live.open(live.api.token("bob", AccountRole.VIEWER, ("sales",)), "home", "pools")

    seen.until(lambda: len(seen.has) == 2)
    hidden.until(lambda: len(hidden.has) == 2)

    assert (seen.has["home"] or {})["counts"] == {"running": 1, "queued": 0, "import_errors": 1}
    assert set(seen.has["pools"] or {}) == {"pool/small"}
    assert hidden.has == {
        "home": {
            "counts": {"running": 0, "queued": 0, "import_errors": 0},
            "dags": {"dags": 0, "paused": 0, "latest_version": None, "paused_backfills": 0},
            "processes": {"processes": 0, "draining": 0, "latest": None, "silent": 0},
        },
        "pools": {},
    }


def test_a_change_of_what_is_hidden_sends_nothing(live: LiveApi) -> None:
    seed.store(live.api.engine, seed.dag())
    seen = live.open(live.api.token("ann"), "dag:etl")
    hidden = live.open(live.api.token("bob", AccountRole.VIEWER, ("sales",)), "dag:etl")
    first = hidden.next(), seen.next()
    with live.api.engine.begin() as conn:
        conn.execute(PAUSE)
    live.hub.ring()
    seen.next()

    with live.api.engine.begin() as conn:
        conn.execute(text("UPDATE dag SET bundle = 'sales'"))
    live.hub.ring()

    assert first[0].name == "gone"
    assert hidden.next().name == "snapshot"


def test_each_topic_is_asked_for_once_for_each_set_of_bundles(live: LiveApi) -> None:
    seed.store(live.api.engine, seed.dag())
    everything = live.api.token("ann")
    some = live.api.token("bob", AccountRole.VIEWER, ("main", "sales"))
    same = live.api.token("carl", AccountRole.OPERATOR, ("sales", "main"))
    clients = [live.open(token, "dag:etl") for token in (everything, some, same) for _ in range(3)]
    for client in clients:
        client.next()
    marker = live.open(everything, "dag:marker")
    marker.next()  # what was asked for before is answered
    with live.api.engine.begin() as conn:
        conn.execute(PAUSE)
    live.count(live.api.app.state.database.reads)
    live.hub.ring()
    for client in clients:
        assert client.next().name == "change"

    asked = sum(number for each, number in live.statements.items() if "latest AS" in each)
    assert asked == 3  # two of them about this DAG


@pytest.mark.parametrize("change", CHANGES)
def test_a_stream_ends_before_it_tells_anything_that_follows_a_change_of_its_account(
    live: LiveApi, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(hub, "CHECK_EVERY", 0.0)
    seed.store(live.api.engine, seed.dag())
    client = live.open(live.api.token("ann"), "dag:etl")
    client.next()

    with live.api.engine.begin() as conn:
        conn.execute(text(CHANGES[change]))
        conn.execute(PAUSE)
    live.hub.ring()
    last = client.next()

    assert (last.name, last.data) == ("bye", {"reason": REASONS.get(change, "signed_out")})
    with pytest.raises(EOFError):
        client.next()


def test_a_stream_ends_by_itself_some_time_after_its_session(
    live: LiveApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "CHECK_EVERY", 0.05)
    live.api.account("ann")
    browser = live.api.client()
    browser.post("/auth/session", json={"username": "ann", "password": PASSWORD})
    session = browser.cookies["headway"]
    cookie = {"Cookie": f"headway={session}"}
    client = live.open("", "home", **cookie)
    client.next()

    ended = HTTPConnection("127.0.0.1", live.port)
    ended.request("DELETE", "/auth/session", headers={**cookie, "Sec-Fetch-Site": "same-origin"})

    assert ended.getresponse().status == 204
    assert client.next().data == {"reason": "signed_out"}
    ended.close()


def test_an_account_that_has_not_changed_keeps_its_stream_and_is_not_noted_as_used(
    live: LiveApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "CHECK_EVERY", 0.0)
    seed.store(live.api.engine, seed.dag())
    client = live.open(live.api.token("ann", AccountRole.VIEWER, ("main",)), "dag:etl")
    client.next()
    used = text("SELECT last_used_at FROM api_token")
    with live.api.engine.begin() as conn:
        conn.execute(text("UPDATE api_token SET last_used_at = now() - interval '1 hour'"))
        conn.execute(PAUSE)
        before = conn.scalar(used)
    live.hub.ring()

    assert client.next().name == "change"
    with live.api.engine.connect() as conn:
        assert conn.scalar(used) == before
