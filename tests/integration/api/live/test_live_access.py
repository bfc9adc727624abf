"""Who sees what in live events, and that a stream ends when that changes."""

from collections.abc import Iterator
from http.client import HTTPConnection
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import TimeoutError as NoConnectionLeft
from tests.integration.api.conftest import PASSWORD, Api
from tests.integration.api.live.conftest import LiveApi, on_a_port
from tests.integration.api.live.test_live_topics import RUN

from headway.actions.accounts import authenticate
from headway.db.core.engine import reader
from headway.db.reads.live.live_entries import LiveEntries
from headway.domain.accounts import Account, AccountRole
from headway.testing.data import seed
from headway_api.live import feeds, stream_checks
from headway_api.live.feeds import Bundles
from headway_api.live.topics import Topic

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


@pytest.fixture
def checking(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveApi]:
    """The API on a port, whose timer checks accounts often."""
    monkeypatch.setattr(feeds, "EVERY", 3600.0)
    monkeypatch.setattr(stream_checks, "CHECK_EVERY", 0.05)
    with on_a_port(api) as served:
        yield served


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

    counts = (seen.has["home"] or {})["counts"]
    assert (counts["running"], counts["queued"], counts["import_errors"]) == (1, 0, 1)
    assert set(seen.has["pools"] or {}) == {"pool/small"}
    assert hidden.has == {
        "home": {
            "counts": {
                "running": 0,
                "queued": 0,
                "import_errors": 0,
                "latest_import_error_at": None,
            },
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
    monkeypatch.setattr(stream_checks, "HOLDS", 0.0)
    seed.store(live.api.engine, seed.dag())
    client = live.open(live.api.token("ann"), "dag:etl")
    client.next()
    live.hub.checks._holds_until = 0.0

    with live.api.engine.begin() as conn:
        conn.execute(text(CHANGES[change]))
        conn.execute(PAUSE)
    live.hub.ring()
    last = client.next()

    assert (last.name, last.data) == ("bye", {"reason": REASONS.get(change, "signed_out")})
    with pytest.raises(EOFError):
        client.next()


def test_a_stream_ends_by_itself_some_time_after_its_session(checking: LiveApi) -> None:
    live = checking
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


@pytest.mark.parametrize("change", CHANGES)
def test_a_stream_ends_while_a_look_hangs_after_a_change_of_its_account(
    checking: LiveApi, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    seed.store(checking.api.engine, seed.dag())
    client = checking.open(checking.api.token("ann"), "dag:etl")
    client.next()
    hangs, goes_on = Event(), Event()

    def hang(conn: Connection, topic: Topic, bundles: Bundles) -> LiveEntries | None:
        hangs.set()
        goes_on.wait(60)
        return read(conn, topic, bundles)

    read = feeds.read
    monkeypatch.setattr(feeds, "read", hang)
    checking.closing.callback(goes_on.set)
    checking.hub.ring()
    assert hangs.wait(60)

    with checking.api.engine.begin() as conn:
        conn.execute(text(CHANGES[change]))
    last = client.next()

    assert not goes_on.is_set()
    assert (last.name, last.data) == ("bye", {"reason": REASONS.get(change, "signed_out")})


def test_all_streams_are_checked_by_one_statement(live: LiveApi) -> None:
    live.api.account("ann")
    browser = live.api.client()
    browser.post("/auth/session", json={"username": "ann", "password": PASSWORD})
    cookie = {"Cookie": f"headway={browser.cookies['headway']}"}
    tokens = [live.api.token(name) for name in ("bert", "carl")]
    clients = [live.open(token, "home") for token in (*tokens, *tokens)]
    clients.append(live.open("", "home", **cookie))
    for client in clients:
        client.next()
    live.count(reader(live.api.app.state.database.writes))

    live.hub.checks.check()

    assert sum(live.statements.values()) == 1
    assert len(live.hub.streams) == len(clients)


def test_what_was_found_is_told_after_a_check_that_has_failed(
    live: LiveApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_checks, "HOLDS", 0.0)
    seed.store(live.api.engine, seed.dag())
    client = live.open(live.api.token("ann"), "dag:etl")
    client.next()
    live.hub.checks._holds_until = 0.0
    failed: list[str] = []

    def fails_once(*given: Any) -> dict[bytes, Account]:
        if not failed:
            failed.append("once")
            raise NoConnectionLeft("none is left")
        return still(*given)

    still = authenticate.still
    monkeypatch.setattr(authenticate, "still", fails_once)
    with live.api.engine.begin() as conn:
        conn.execute(PAUSE)
    live.hub.ring()

    assert client.next().data["changed"]["dag"]["paused"] is True
    assert failed


def test_an_account_that_has_not_changed_keeps_its_stream_and_is_not_noted_as_used(
    live: LiveApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_checks, "HOLDS", 0.0)
    seed.store(live.api.engine, seed.dag())
    client = live.open(live.api.token("ann", AccountRole.VIEWER, ("main",)), "dag:etl")
    client.next()
    live.hub.checks._holds_until = 0.0
    used = text("SELECT last_used_at FROM api_token")
    with live.api.engine.begin() as conn:
        conn.execute(text("UPDATE api_token SET last_used_at = now() - interval '1 hour'"))
        conn.execute(PAUSE)
        before = conn.scalar(used)
    live.hub.ring()

    assert client.next().name == "change"
    with live.api.engine.connect() as conn:
        assert conn.scalar(used) == before
