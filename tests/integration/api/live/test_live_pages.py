"""Pages that streams send: to whom, how often they are made, and what they have in them."""

import gzip
import math
from base64 import b64decode
from collections import Counter
from http.client import HTTPConnection
from unittest.mock import MagicMock
from urllib.parse import urlencode

import pytest
from sqlalchemy import text
from tests.integration.api.conftest import PASSWORD
from tests.integration.api.live.conftest import LiveApi
from tests.integration.api.live.live_client import PATIENCE, LiveClient, LiveEvent

from headway.db.reads import dag_views
from headway.domain.accounts import AccountRole
from headway.metrics.api import MAKINGS, OTHER_PAGES, PAGE_MAKINGS, PAGE_SECONDS
from headway.testing.data import seed
from headway.testing.time.clock import until
from headway_api.auth.shared_asks import Secret
from headway_api.live import hub, shared_pages, stream_checks
from headway_api.live.page_asks import MadePage, PageAsker, PageName

VIEWER, OPERATOR, ADMIN = AccountRole.VIEWER, AccountRole.OPERATOR, AccountRole.ADMIN
PAUSE = text("UPDATE dag SET paused = NOT paused")
REVOKE = text("UPDATE api_token SET revoked_at = now() WHERE account = :name")
CELLS = "/headway/v1/dags/etl/grid?limit=25"


def connect(
    live: LiveApi, token: str | None, page: str, last_event_id: str = "", **more: str
) -> HTTPConnection:
    """Ask for the stream of a tab."""
    connection = HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    if last_event_id:
        headers["Last-Event-ID"] = last_event_id
    query = urlencode({"topic": "dag:etl", "page": page, **more})
    connection.request("GET", f"/live?{query}", headers=headers)
    return connection


def tab(live: LiveApi, token: str | None, page: str = "/dags/etl", **more: str) -> LiveClient:
    """Open the stream of a tab."""
    client = LiveClient.opened(connect(live, token, page, **more))
    live.closing.callback(client.close)
    return client


def body(event: LiveEvent) -> bytes:
    """What an event has."""
    found = b64decode(event.data["body"])
    return gzip.decompress(found) if event.data["coding"] == "gzip" else found


def page(event: LiveEvent) -> str:
    """The page that an event has."""
    assert event.name == "page"
    return body(event).decode()


def pause(live: LiveApi) -> None:
    with live.api.engine.begin() as conn:
        conn.execute(PAUSE)
    live.hub.ring()


@pytest.fixture
def made(live: LiveApi, monkeypatch: pytest.MonkeyPatch) -> list[PageName]:
    """The pages that are asked for."""
    asked: list[PageName] = []
    ask = PageAsker.ask

    async def noted(
        asker: PageAsker, name: PageName, secret: Secret, known: str
    ) -> MadePage | None:
        asked.append(name)
        return await ask(asker, name, secret, known)

    monkeypatch.setattr(PageAsker, "ask", noted)
    seed.store(live.api.engine, seed.dag())
    return asked


def test_accounts_with_the_same_rights_share_a_page_that_names_none_of_them(
    live: LiveApi, made: list[PageName]
) -> None:
    tokens = [live.api.token(name, OPERATOR, ("main",)) for name in ("anna", "bert", "carl")]
    tabs = [tab(live, token) for token in tokens]
    first = [page(each.next()) for each in tabs]
    made.clear()

    pause(live)
    second = [page(each.next()) for each in tabs]

    assert len(set(first)) == len(set(second)) == 1
    assert first != second
    assert len(made) == 1
    assert not any(name in second[0] for name in ("anna", "bert", "carl"))


def test_a_page_is_the_content_that_a_browser_gets(live: LiveApi, made: list[PageName]) -> None:
    token = live.api.token("anna")
    whole = live.api.client(token).get("/dags/etl", headers={"Accept": "text/html"}).text

    title, content = page(tab(live, token).next()).split("\n", 1)

    assert title in whole
    assert content.strip() in whole
    assert content.startswith('<main id="content"')
    assert made


def test_a_page_that_names_who_asks_names_nobody_when_it_is_shared(
    live: LiveApi, made: list[PageName]
) -> None:
    token = live.api.token("anna", VIEWER)
    alone = live.api.client(token).get("/tokens", headers={"Accept": "text/html"}).text

    shared = page(tab(live, token, "/tokens").next())

    assert "New token of anna" in alone
    assert "New token of" in shared
    assert "anna" not in shared
    assert made


@pytest.mark.parametrize(("role", "shown"), [(VIEWER, False), (OPERATOR, True), (ADMIN, True)])
def test_accounts_with_other_rights_get_what_is_theirs(
    live: LiveApi, made: list[PageName], role: AccountRole, shown: bool
) -> None:
    other = tab(live, live.api.token("other", VIEWER, ("main",)))
    its = tab(live, live.api.token("anna", role))
    found = page(other.next()), page(its.next())
    pause(live)
    later = page(other.next()), page(its.next())

    assert ["Backfill</a>" in each for each in (*found, *later)] == [False, shown] * 2
    assert len({name.rights for name in made}) == 2


def test_what_is_hidden_is_not_sent(live: LiveApi, made: list[PageName]) -> None:
    hidden = tab(live, live.api.token("lena", VIEWER, ("mine",)))
    seen = tab(live, live.api.token("anna", VIEWER))
    seen.next()
    pause(live)
    seen.next()
    with live.api.engine.begin() as conn:
        conn.execute(text("INSERT INTO dag_bundle (name) VALUES ('mine') ON CONFLICT DO NOTHING"))
        conn.execute(text("UPDATE dag SET bundle = 'mine'"))
    live.hub.ring()

    assert "bundle mine" in page(hidden.next())
    assert {name.rights.bundles for name in made} == {None, ("mine",)}


def test_a_page_is_asked_for_by_somebody_who_still_may(
    live: LiveApi, made: list[PageName], monkeypatch: pytest.MonkeyPatch
) -> None:
    live.hub.checks._holds_until = math.inf
    first, second = (tab(live, live.api.token(name, VIEWER)) for name in ("anna", "bert"))
    assert page(first.next()) == page(second.next())
    made.clear()
    with live.api.engine.begin() as conn:
        conn.execute(REVOKE, {"name": "anna"})
    pause(live)

    assert page(second.next())
    assert first.next().data == {"reason": "signed_out"}
    assert len(made) == 2  # at first it was asked for by who may not


def test_who_loses_its_rights_while_a_page_is_made_does_not_get_it(
    live: LiveApi, made: list[PageName], monkeypatch: pytest.MonkeyPatch
) -> None:
    live.hub.checks._holds_until = math.inf
    tabs = [tab(live, live.api.token(name, VIEWER)) for name in ("anna", "bert")]
    for each in tabs:
        each.next()
    ask = PageAsker.ask

    async def revoked_meanwhile(
        asker: PageAsker, name: PageName, secret: Secret, known: str
    ) -> MadePage | None:
        found = await ask(asker, name, secret, known)
        with live.api.engine.begin() as conn:
            conn.execute(REVOKE, {"name": "anna"})
        return found

    monkeypatch.setattr(PageAsker, "ask", revoked_meanwhile)
    pause(live)

    assert tabs[0].next().data == {"reason": "signed_out"}
    assert page(tabs[1].next())


def test_who_has_got_other_rights_makes_no_page_for_those_that_have_not(
    live: LiveApi, made: list[PageName]
) -> None:
    live.hub.checks._holds_until = math.inf
    tabs = [tab(live, live.api.token(name, VIEWER)) for name in ("anna", "bert")]
    for each in tabs:
        each.next()
    with live.api.engine.begin() as conn:
        conn.execute(text("UPDATE api_account SET role = 'admin' WHERE name = 'anna'"))
        conn.execute(text("UPDATE api_token SET role = 'admin'"))
    pause(live)

    assert tabs[0].next().data == {"reason": "account_changed"}
    assert "Backfill</a>" not in page(tabs[1].next())
    with live.api.engine.begin() as conn:
        conn.execute(text("UPDATE api_account SET role = 'admin' WHERE name = 'bert'"))
    made.clear()
    pause(live)
    [its] = live.api.app.state.shared_pages._pages.values()
    until(lambda: made and its._task is None, "it was asked for and refused")
    live.hub.checks.check()

    assert tabs[1].next().data == {"reason": "account_changed"}


@pytest.mark.parametrize("change", ["revoked_at = now()", "expires_at = now()"])
def test_a_stream_ends_with_its_token(
    live: LiveApi, made: list[PageName], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(stream_checks, "HOLDS", 0.0)
    client = tab(live, live.api.token("anna"))
    client.next()
    live.hub.checks._holds_until = 0.0
    with live.api.engine.begin() as conn:
        conn.execute(text(f"UPDATE api_token SET {change}"))
    made.clear()
    pause(live)

    assert client.next().data == {"reason": "signed_out"}
    assert made == []


def test_an_open_tab_does_not_count_as_a_use_of_its_session(
    live: LiveApi, made: list[PageName]
) -> None:
    live.api.account("anna")
    browser = live.api.client()
    browser.post("/auth/session", json={"username": "anna", "password": PASSWORD})
    connection = HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
    query = urlencode({"topic": "dag:etl", "page": "/dags/etl"})
    cookie = {"Cookie": f"headway={browser.cookies['headway']}"}
    connection.request("GET", f"/live?{query}", headers=cookie)
    client = LiveClient.opened(connection)
    live.closing.callback(client.close)
    client.next()
    used = text("SELECT seen_at FROM api_session")
    with live.api.engine.begin() as conn:
        conn.execute(text("UPDATE api_session SET seen_at = now() - interval '1 hour'"))
        before = conn.scalar(used)
    pause(live)

    assert page(client.next())
    with live.api.engine.connect() as conn:
        assert conn.scalar(used) == before


def test_who_has_a_page_already_gets_it_when_it_is_another(
    live: LiveApi, made: list[PageName]
) -> None:
    token = live.api.token("anna")
    client = tab(live, token)
    number = client.next().number
    connection = HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
    query = urlencode({"topic": "dag:etl", "page": "/dags/etl"})
    headers = {"Authorization": f"Bearer {token}", "Last-Event-ID": number}
    connection.request("GET", f"/live?{query}", headers=headers)
    back = LiveClient.opened(connection)
    live.closing.callback(back.close)
    until(lambda: len(made) == 2, "it was asked for")
    pause(live)

    found = back.next()

    assert found.number != number
    assert "paused" in page(found)


def test_a_storm_of_changes_makes_a_page_a_few_times(
    live: LiveApi, made: list[PageName], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "GAP", 0.0)
    monkeypatch.setattr(hub, "SHARE", 0.0)
    monkeypatch.setattr(shared_pages, "REST", 1.0)
    token = live.api.token("anna")
    tabs = [tab(live, token) for _ in range(10)]
    topics = live.open(token, "dag:etl")
    topics.next()
    for _ in range(20):
        pause(live)
        topics.next()

    assert len(made) <= 5
    last = [page(each.next()) for each in tabs]
    assert len(last) == 10


def test_cells_that_change_are_sent_without_the_page(live: LiveApi, made: list[PageName]) -> None:
    spec = seed.wide(60)
    seed.running(live.api.engine, spec)
    client = tab(live, live.api.token("anna"), cells=CELLS)
    first = {event.name: body(event) for event in (client.next(), client.next())}
    with live.api.engine.begin() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        conn.execute(text("UPDATE task_instance SET state = 'failed' WHERE id % 2 = 0"))
    live.hub.ring()
    second = client.next()

    assert b'class="cells"' not in first["page"]
    assert b"<tbody" in first["page"]
    assert second.name == "cells"
    assert len(body(second)) == len(first["cells"])
    assert body(second) != first["cells"]
    assert second.number.split(".")[0] != second.number.split(".")[1]


def test_a_page_that_is_not_there_is_not_sent_until_it_is(
    live: LiveApi, made: list[PageName]
) -> None:
    client = tab(live, live.api.token("anna"), "/dags/later")
    until(lambda: len(made) == 1, "it was asked for")
    seed.store(live.api.engine, seed.dag(dag_id="later"))
    pause(live)

    assert "later" in page(client.next())


@pytest.mark.parametrize("wrong", ["/live?topic=home&page=/", "/runs.csv", "/api/v2/dags"])
def test_what_is_no_page_is_given_up(live: LiveApi, made: list[PageName], wrong: str) -> None:
    token = live.api.token("anna")
    client = tab(live, token, wrong)
    other = tab(live, token)
    other.next()
    until(lambda: len(made) == 2, "it was asked for")
    with live.api.engine.begin() as conn:
        conn.execute(REVOKE, {"name": "anna"})
    until(lambda: len(live.hub.streams) == 2, "it has opened none")
    live.hub.checks.check()

    assert client.next().name == "bye"
    assert other.next().name == "bye"


def makings() -> Counter[tuple[str, ...]]:
    """How many makings the metrics count, by kind of page and by what came of them."""
    return Counter({labels: int(value) for labels, value in PAGE_MAKINGS.series()})


def test_makings_are_counted_and_measured_by_the_kind_of_page(
    live: LiveApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.hub.checks._holds_until = math.inf
    seed.store(live.api.engine, seed.dag())
    token, kind, before = live.api.token("anna"), "dag", makings()
    measured = {its.labels: its.counts[-1][1] for its in PAGE_SECONDS.spreads()}
    client = tab(live, token)
    number = client.next().number

    def expect(wanted: int, *labels: str) -> None:
        until(lambda: (makings() - before)[labels] >= wanted, f"{wanted} of {labels}")

    expect(1, kind, "made")
    back = connect(live, token, "/dags/etl", last_event_id=number)
    live.closing.callback(back.close)
    expect(1, kind, "unchanged")
    tab(live, token, "/dags/later")
    expect(1, kind, "missing")
    tab(live, token, "/nowhere")
    expect(1, OTHER_PAGES, "missing")
    with monkeypatch.context() as patched:
        patched.setattr(dag_views, "dag", MagicMock(side_effect=RuntimeError("a fault")))
        tab(live, token, "/dags/etl?runs=100")
        expect(1, kind, "failed")
    with live.api.engine.begin() as conn:
        conn.execute(REVOKE, {"name": "anna"})
    pause(live)
    expect(1, kind, "refused")

    counted = sum((makings() - before)[kind, outcome] for outcome in MAKINGS)
    now = {its.labels: its.counts[-1][1] for its in PAGE_SECONDS.spreads()}
    assert now[kind,] - measured.get((kind,), 0) >= counted - 1  # one may be counted just now


@pytest.mark.parametrize("wrong", ["dags", "//example.com/", "/\n", "/ä", "/" + "x" * 32_001])
def test_what_is_no_address_is_refused(live: LiveApi, wrong: str) -> None:
    response = connect(live, live.api.token("anna"), wrong).getresponse()

    assert response.status == 422
    assert "address" in response.read().decode()


def test_without_a_token_there_is_no_stream(live: LiveApi) -> None:
    assert connect(live, None, "/").getresponse().status == 401
