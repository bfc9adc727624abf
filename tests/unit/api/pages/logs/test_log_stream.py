"""Lines go to who follows a log, once they are whole, and each once."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy.exc import TimeoutError as NoConnectionLeft
from tests.unit.api.airflow.test_log_pieces import InMemory

from headway.domain.accounts import Account, AccountRole
from headway.domain.errors import LogsError
from headway_api.airflow.results.log_pieces import StoredLog
from headway_api.auth.shared_asks import Secret
from headway_api.http.refusals import TooManyStreamsError
from headway_api.live.hub import LiveHub
from headway_api.live.messages import EndReason
from headway_api.live.streams import StreamHolder
from headway_api.pages.logs import log_stream
from headway_api.pages.logs.log_stream import FollowedLog, LogStreams


@dataclass
class Hub:
    """A process that goes on until it is told otherwise, and checks of whoever follows."""

    is_open: bool = True
    fault: Exception | None = None
    why: EndReason | None = None

    @property
    def checks(self) -> "Hub":
        """What checks: this."""
        return self

    def ended(self, holders: Collection[StreamHolder]) -> Mapping[StreamHolder, EndReason]:
        """Return why all these are to end, or fail once."""
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault
        return {} if self.why is None else dict.fromkeys(holders, self.why)


class Away(InMemory):
    """A log that cannot be asked for at the first time."""

    asked = 0

    def size(self, relative: Path) -> int | None:
        self.asked += 1
        if self.asked == 1:
            raise LogsError("away")
        return super().size(relative)


def run(
    place: InMemory, steps: Callable[[Callable[[], Awaitable[bytes]], Hub], Awaitable[None]]
) -> LogStreams:
    """Follow a log from its beginning on, and do what `steps` does with the events."""
    streams, hub = LogStreams(), Hub()
    log = StoredLog(place, Path("log"), ended=False)
    vera = StreamHolder(Account("vera", AccountRole.VIEWER), Secret(b"hash", by_token=True))
    followed = FollowedLog(log, 0, "/log", vera, cast(LiveHub, hub))

    async def following() -> None:
        async with aclosing(followed.events(streams)) as events:
            await steps(events.__anext__, hub)

    asyncio.run(following())
    return streams


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_stream, "EVERY", 0.0)


def test_lines_are_sent_when_they_are_whole() -> None:
    place = InMemory(b"one\ntw")

    async def steps(event: Callable[[], Awaitable[bytes]], hub: Hub) -> None:
        assert await event() == b"retry: 500\n\n"
        first = await event()
        assert first.startswith(b"id: 4\ndata: ")
        assert b">one<" in first
        place.data += b"o\n<b>\n"
        second = await event()
        assert second.startswith(b"id: 12\ndata: ")
        assert b">two<" in second
        assert b"&lt;b&gt;" in second
        assert b">one<" not in second
        hub.is_open = False
        with pytest.raises(StopAsyncIteration):
            await event()

    assert not +run(place, steps).open


def test_a_worker_that_is_away_for_a_moment_is_asked_again() -> None:
    async def steps(event: Callable[[], Awaitable[bytes]], hub: Hub) -> None:
        await event()
        assert b">one<" in await event()

    run(Away(b"one\n"), steps)


def test_no_line_comes_to_who_may_not_see_the_log_any_more() -> None:
    async def steps(event: Callable[[], Awaitable[bytes]], hub: Hub) -> None:
        await event()
        hub.why = EndReason.SIGNED_OUT
        with pytest.raises(StopAsyncIteration):
            await event()

    run(InMemory(b"one\n"), steps)


def test_lines_come_when_the_database_can_tell_again_who_may_see_them() -> None:
    async def steps(event: Callable[[], Awaitable[bytes]], hub: Hub) -> None:
        await event()
        hub.fault = NoConnectionLeft("none is left")
        assert b">one<" in await event()
        assert hub.fault is None

    run(InMemory(b"one\n"), steps)


def test_a_stream_ends_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_stream, "LASTS", 0.0)

    async def steps(event: Callable[[], Awaitable[bytes]], hub: Hub) -> None:
        await event()
        with pytest.raises(StopAsyncIteration):
            await event()

    run(InMemory(b"one\n"), steps)


def test_an_account_has_so_many_streams() -> None:
    streams = LogStreams()
    streams.open["vera"] = log_stream.MOST_STREAMS - 1
    streams.check_room("vera")
    streams.open["vera"] += 1
    with pytest.raises(TooManyStreamsError, match="close some pages"):
        streams.check_room("vera")
    streams.check_room("another")
