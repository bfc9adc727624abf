"""How streams are kept and ended: limits, slow clients, faults, the end of a service."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from signal import Signals
from typing import Any

import pytest
from sqlalchemy import event, text
from tests.integration.api.conftest import Api
from tests.integration.api.live.conftest import LiveApi, on_a_port
from tests.integration.api.live.live_client import LiveClient, connect, small

from headway.db.core import notices
from headway.db.core.notices import Listener
from headway.metrics.api import LIVE_BYTES, LIVE_TOPICS
from headway.metrics.metric import Gauge
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import read
from headway.testing.data import seed
from headway.testing.processes import modes
from headway.testing.services.machine import Command, Machine
from headway.testing.time.clock import until
from headway_api.app import build
from headway_api.auth.database import ApiDatabase, reading
from headway_api.http import server
from headway_api.live import feeds
from headway_api.live.hub import LONG

LISTENS = re.compile(r"action=listen host=\S+ port=(\d+)")
PAUSE = text("UPDATE dag SET paused = NOT paused")


def pause(api: Api) -> None:
    with api.engine.begin() as conn:
        conn.execute(PAUSE)


def level(of: Gauge) -> float:
    """What the metrics say at present."""
    [only] = of.series()
    return only.value


def after_the_first_look(api: Api, change: Callable[[], None]) -> Iterator[None]:
    """Do something once, after a look has read a DAG and before it is told."""
    done: list[str] = []
    reads = api.app.state.database.reads

    def after(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        if "latest AS" in statement and not done:
            done.append(statement)
            change()

    event.listen(reads, "after_cursor_execute", after)
    yield
    event.remove(reads, "after_cursor_execute", after)


def test_the_answer_is_not_stored_or_held_back(live: LiveApi) -> None:
    headers = live.open(live.api.token("ann"), "home").response.headers

    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-store"
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers


def test_nobody_watching_no_statement_is_run(live: LiveApi) -> None:
    seed.running(live.api.engine, seed.dag())
    client = live.open(live.api.token("ann"), "home", "pools", "dag:etl")
    client.until(lambda: len(client.has) == 3)
    client.close()
    until(lambda: not live.hub.streams, "nobody watches")
    with live.hub._lock:
        assert live.hub._feeds == {}
    database: ApiDatabase = live.api.app.state.database
    live.count(database.reads)
    live.count(database.writes)

    live.hub.ring()
    rest = live.hub.step(noticed=True)

    assert rest == LONG
    assert not live.hub._noticed
    assert not live.statements


@pytest.mark.skipif(modes.pooled(), reason="a pooler in transaction mode cannot LISTEN")
def test_a_notice_of_other_services_rings(live: LiveApi) -> None:
    engine = live.api.engine
    seed.store(engine, seed.dag())
    client = live.open(live.api.token("ann"), "dag:etl")
    client.next()
    listener = Listener(engine, {notices.SCHEDULER: live.hub.ring}, SystemClock())
    listener.start()
    live.closing.callback(listener.close)

    pause(live.api)
    notices.send(engine, [notices.SCHEDULER])

    assert client.next().data["changed"]["dag"]["paused"] is True


def test_what_is_finished_is_looked_at_now_and_then_without_a_notice(
    live: LiveApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "EVERY", 0.05)
    seed.store(live.api.engine, seed.dag())
    client = live.open(live.api.token("ann"), "dag:etl")
    client.next()

    pause(live.api)

    assert client.next().data["changed"]["dag"]["paused"] is True


def test_a_topic_is_looked_at_again_for_whoever_joins(live: LiveApi) -> None:
    seed.store(live.api.engine, seed.dag())
    token = live.api.token("ann")
    live.open(token, "dag:etl").next()
    pause(live.api)

    second = live.open(token, "dag:etl")

    second.until(lambda: (second.has.get("dag:etl") or {}).get("dag", {}).get("paused") is True)


def test_what_changes_between_a_look_and_its_event_is_told_next(live: LiveApi) -> None:
    seed.store(live.api.engine, seed.dag())

    def change() -> None:
        pause(live.api)
        live.hub.ring()

    for _ in after_the_first_look(live.api, change):
        client = live.open(live.api.token("ann"), "dag:etl")
        first, second = client.next(), client.next()

    assert first.data["entries"]["dag"]["paused"] is False
    assert second.data["changed"]["dag"]["paused"] is True


def test_who_joins_between_a_look_and_its_event_gets_the_topic_as_it_is_then(
    live: LiveApi,
) -> None:
    seed.store(live.api.engine, seed.dag())
    token = live.api.token("ann")
    joined = []
    for _ in after_the_first_look(live.api, lambda: joined.append(live.open(token, "dag:etl"))):
        first = live.open(token, "dag:etl").next()

    assert joined[0].next().data["entries"] == first.data["entries"]


def test_a_lost_connection_to_the_database_loses_no_change(live: LiveApi) -> None:
    seed.store(live.api.engine, seed.dag())
    client = live.open(live.api.token("ann"), "dag:etl")
    client.next()
    kill = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'headway api reads' AND datname = current_database()"
    )
    with live.api.engine.begin() as conn:
        conn.execute(kill)
        conn.execute(PAUSE)
    live.hub.ring()

    assert client.next().data["changed"]["dag"]["paused"] is True


def test_a_topic_that_takes_too_long_is_left_alone_and_keeps_no_other_waiting(
    live: LiveApi,
) -> None:
    seed.store(live.api.engine, seed.dag())
    reads = live.api.app.state.database.reads
    slow: list[str] = []

    def sleep(_conn: object, cursor: Any, statement: str, *_: object) -> None:
        if "latest AS" in statement:
            slow.append(statement)
            cursor.execute("SET LOCAL statement_timeout = 20; SELECT pg_sleep(60)")

    event.listen(reads, "before_cursor_execute", sleep)
    client = live.open(live.api.token("ann"), "dag:etl", "home", "pools")
    client.until(lambda: len(client.has) == 2)
    for name in ("small", "large"):
        seed.make_pool(live.api.engine, name, 1)
        live.hub.ring()
        client.next()
    event.remove(reads, "before_cursor_execute", sleep)

    assert set(client.has["pools"] or {}) >= {"pool/small", "pool/large"}
    assert len(slow) == 1


def test_an_account_has_at_most_so_many_streams(live: LiveApi) -> None:
    live.hub._given = read(ApiSettings, streams_per_account=2)
    token, other = live.api.token("ann"), live.api.token("bob")
    clients = [live.open(token, "home") for _ in range(2)]

    status, body = live.refused(token, "home")
    live.open(other, "home").next()
    clients[0].close()
    until(lambda: len(live.hub.streams) == 2, "one stream is gone")

    assert (status, json.loads(body)["code"]) == (429, "too_many_streams")
    assert live.open(token, "home").next().name == "snapshot"


def test_a_process_has_at_most_so_many_streams(live: LiveApi) -> None:
    live.hub._given = read(ApiSettings, streams=1)
    client = live.open(live.api.token("ann"), "home")

    status, body = live.refused(live.api.token("bob"), "home")

    assert (status, json.loads(body)["code"]) == (429, "too_many_streams")
    assert client.next().name == "snapshot"


def test_a_process_watches_at_most_so_many_topics(live: LiveApi) -> None:
    live.hub._given = read(ApiSettings, live_topics=2)
    token = live.api.token("ann")
    client = live.open(token, "home", "pools")

    status, body = live.refused(token, "dag:etl")

    assert (status, json.loads(body)["code"]) == (503, "too_many_topics")
    assert live.open(token, "home").next().name == "snapshot"
    assert level(LIVE_TOPICS) == 2
    client.close()
    until(lambda: len(live.hub._feeds) == 1, "what nobody watches is forgotten")
    assert live.open(token, "dag:etl").next().name == "gone"


def test_a_process_keeps_at_most_so_much_of_topics(live: LiveApi) -> None:
    seed.running(live.api.engine, seed.dag())
    token = live.api.token("ann")
    client = live.open(token, "dag:etl")
    client.next()
    kept = live.hub._kept()
    assert level(LIVE_BYTES) == kept
    live.hub._given = read(ApiSettings, live_bytes=kept + 1)

    over = live.open(token, "pools").next()

    assert (over.name, over.data["reason"]) == ("bye", "full")
    live.hub._given = read(ApiSettings, live_bytes=kept)
    status, body = live.refused(token, "pools")
    assert (status, json.loads(body)["code"]) == (503, "too_many_topics")
    assert live.open(token, "dag:etl").next().name == "snapshot"
    pause(live.api)
    live.hub.ring()
    assert client.next().name == "change"


def test_streams_take_no_thread_from_requests(live: LiveApi) -> None:
    token = live.api.token("ann")
    clients = [live.open(token, "home") for _ in range(live.api.settings.threads * 2)]

    with closing(HTTPConnection("127.0.0.1", live.port)) as other:
        other.request("GET", "/auth/me", headers={"Authorization": f"Bearer {token}"})
        answer = other.getresponse()
        answer.read()

    assert answer.status == 200
    assert {client.next().name for client in clients} == {"snapshot"}


def test_a_client_that_takes_nothing_is_cut_off_and_keeps_nobody_waiting(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SLOW_CLIENT", 1.0)
    seed.store(api.engine, seed.dag())
    token = api.token("ann")
    large = text("UPDATE dag SET schedule_error = repeat(CAST(random() AS text), 20000)")
    with on_a_port(api) as live, closing(small(live.port, token, "dag:etl")):
        until(lambda: live.hub.streams, "the stream of the slow client")
        [slow] = live.hub.streams
        quick = live.open(token, "dag:etl")
        quick.next()
        while slow in live.hub.streams:
            with api.engine.begin() as conn:
                conn.execute(large)
            live.hub.ring()

            assert quick.next().name == "change"


def test_streams_end_at_once_and_in_order_when_the_service_stops(
    api: Api, database_url: str
) -> None:
    given = read(ApiSettings, port=0, drain_grace=3600.0)
    reads = reading(database_url, given)
    patient = replace(api, app=build(ApiDatabase(reads, api.engine), given), settings=given)
    token = api.token("ann")
    with on_a_port(patient) as live:
        client = LiveClient.opened(connect(live.port, token, "home"))
        client.next()
    reads.dispose()
    last = client.next()

    assert (last.name, last.data) == ("bye", {"reason": "stopping"})
    with pytest.raises(EOFError):
        client.next()


def test_no_stream_is_opened_while_the_service_stops(live: LiveApi) -> None:
    token = live.api.token("ann")
    live.hub.close()

    status, body = live.refused(token, "home")

    assert (status, json.loads(body)["code"]) == (429, "too_many_streams")


@contextmanager
def service(database_url: str, root: Path, **given: str) -> Iterator[tuple[Command, int]]:
    """Run `headway api` as a process; yield it with its port."""
    settings = {"HEADWAY_DATABASE_URL": database_url, "HEADWAY_API_PORT": "0", **given}
    with Machine.new(root / "machine", settings).running("api") as command:
        said = command.until(lambda: LISTENS.search(command.complained()), "the API listens")
        yield command, int(said[1])


def test_the_service_ends_streams_when_it_is_told_to_stop_and_waits_for_none(
    api: Api, database_url: str, tmp_path: Path
) -> None:
    token = api.token("ann")
    with service(database_url, tmp_path, HEADWAY_API_DRAIN_GRACE="3600") as (command, port):
        client = LiveClient.opened(connect(port, token, "home"))
        client.next()
        ended = command.end(Signals.SIGTERM)
        last = client.next()

    assert (last.name, ended) == ("bye", 0)


@pytest.mark.skipif(modes.pooled(), reason="a pooler in transaction mode cannot LISTEN")
def test_the_service_hears_notices(api: Api, database_url: str, tmp_path: Path) -> None:
    channels = text(
        "SELECT array_agg(query) FROM pg_stat_activity"
        " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    )

    def listens() -> object:
        with api.engine.connect() as conn:
            return conn.scalar(channels)

    with service(database_url, tmp_path, HEADWAY_DATABASE_NOTIFY="true"):
        assert until(listens, "it listens") == ['LISTEN "headway_worker"']  # its last one
