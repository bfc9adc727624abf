"""What waits for one client, and what a client gets that is behind or comes back."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from datetime import UTC, datetime

import pytest

from headway.domain.accounts import Account, AccountRole
from headway_api.auth.shared_asks import Secret
from headway_api.live import differences, messages, streams
from headway_api.live.feeds import Feed, Shown, Update
from headway_api.live.messages import EndReason
from headway_api.live.streams import MOST_WAITING, LiveStream, StreamHolder
from headway_api.live.topics import Topic, TopicKind

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
HOLDER = StreamHolder(Account("ann", AccountRole.VIEWER), Secret(b"hash", by_token=True))


def feed(dag_id: str = "etl") -> Feed:
    return Feed(Topic(TopicKind.DAG, (dag_id,)), None)


def shown(of: Feed, value: int | None) -> Shown:
    snapshot = None if value is None else {"dag": str(value)}
    size = differences.size(snapshot)
    return Shown(of.topic, NOON, snapshot, differences.digest(snapshot), size)


def show(of: Feed, stream: LiveStream, value: int) -> None:
    """Deliver that the feed has this value now."""
    before, after = of.shown, shown(of, value)
    of.shown = after
    if before is None or before.snapshot is None or after.snapshot is None:
        event = after.event
    else:
        event = messages.change(of.topic, NOON, differences.diff(before.snapshot, after.snapshot))
    stream.offer(Update(of, after, event))


def told(event: bytes) -> tuple[str, str, object]:
    """The name, the id and the value of an event about the entry `dag`."""
    lines = dict(line.split(": ", 1) for line in event.decode().strip().split("\n"))
    data = json.loads(lines["data"])
    entries = data.get("entries") or data.get("changed") or {}
    return lines["event"], lines.get("id", ""), entries.get("dag", data.get("reason"))


def in_loop(test: Callable[[], Coroutine[object, object, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 30))


async def begun(stream: LiveStream) -> AsyncGenerator[bytes, None]:
    events = stream.events()
    assert await anext(events) == messages.BEGIN
    return events


def test_a_stream_begins_with_all_of_a_topic_and_goes_on_with_changes() -> None:
    async def test() -> None:
        its = feed()
        stream = LiveStream(HOLDER, [its])
        events = await begun(stream)
        for value in (1, 2, 3):
            show(its, stream, value)
            its_event = await anext(events)
            kind, number, found = told(its_event)

            assert (kind, found) == ("snapshot" if value == 1 else "change", value)
            assert number == shown(its, value).digest

    in_loop(test)


def test_a_client_that_comes_back_with_the_last_id_gets_only_what_has_changed() -> None:
    async def test() -> None:
        same, other = feed("a"), feed("b")
        same.shown, other.shown = shown(same, 1), shown(other, 2)
        had = f"{shown(same, 1).digest}.{shown(other, 1).digest}"
        events = await begun(LiveStream(HOLDER, [same, other], had))

        kind, number, found = told(await anext(events))

        assert (kind, found) == ("snapshot", 2)
        assert number == f"{shown(same, 1).digest}.{shown(other, 2).digest}"

    in_loop(test)


@pytest.mark.parametrize("had", ["", "x", "x.y.z", None])
def test_an_id_of_other_topics_is_not_believed(had: str | None) -> None:
    async def test() -> None:
        its = feed()
        its.shown = shown(its, 1)
        events = await begun(LiveStream(HOLDER, [its], had))

        assert told(await anext(events))[0] == "snapshot"

    in_loop(test)


def test_a_client_that_joins_between_a_look_and_its_delivery_gets_the_newest_once() -> None:
    async def test() -> None:
        its = feed()
        its.shown = shown(its, 1)
        stream = LiveStream(HOLDER, [its])  # a look has found 2, which is not yet delivered
        show(its, stream, 2)
        events = await begun(stream)
        first = told(await anext(events))
        show(its, stream, 3)
        second = told(await anext(events))

        assert (first[0], first[2]) == ("snapshot", 2)
        assert (second[0], second[2]) == ("change", 3)

    in_loop(test)


def test_a_client_that_is_behind_gets_its_topics_anew_and_no_more_than_that_waits() -> None:
    async def test() -> None:
        its, other = feed("a"), feed("b")
        stream = LiveStream(HOLDER, [its, other])
        events = await begun(stream)
        for each in (its, other):
            show(each, stream, 0)
            await anext(events)
        for value in range(1, MOST_WAITING * 3):
            show(its, stream, value)

            assert len(stream._waiting) <= MOST_WAITING

        kind, _, found = told(await anext(events))
        show(its, stream, -1)
        after = told(await anext(events))

        assert (kind, found) == ("snapshot", MOST_WAITING * 3 - 1)
        assert (after[0], after[2]) == ("change", -1)

    in_loop(test)


def test_a_stream_that_ends_sends_nothing_but_why() -> None:
    async def test() -> None:
        its = feed()
        stream = LiveStream(HOLDER, [its])
        events = await begun(stream)
        show(its, stream, 1)
        stream.end(EndReason.SIGNED_OUT)
        stream.end(EndReason.STOPPING)

        assert [told(event) async for event in events] == [("bye", "", "signed_out")]

    in_loop(test)


def test_something_is_sent_now_and_then_though_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "COMMENT_EVERY", 0.01)

    async def test() -> None:
        events = await begun(LiveStream(HOLDER, [feed()]))

        assert [await anext(events) for _ in range(2)] == [messages.COMMENT] * 2

    in_loop(test)
