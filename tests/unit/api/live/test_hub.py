"""The hub's pace: how long it rests after it has looked."""

import asyncio
from datetime import UTC, datetime
from threading import Event, Thread
from typing import Any, cast

import pytest

from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import read
from headway_api.live.hub import GAP, SHARE, LiveHub
from headway_api.live.stream_checks import CHECK_EVERY


class ToldClock:
    """A clock that goes on when it is told to, and keeps how long it was to wait."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.waits: list[float] = []

    def now(self) -> datetime:
        """Return some instant."""
        return datetime(2024, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        """Return the seconds that it was told."""
        return self.seconds

    def wait(self, event: Event, seconds: float) -> bool:
        """Wait for nothing, but for the end where there is a check every second."""
        if seconds == CHECK_EVERY:
            return event.wait(30)
        self.waits.append(seconds)
        return event.is_set()


class OneLook(LiveHub):
    """A hub whose only look takes so many seconds."""

    def __init__(self, clock: ToldClock, took: float) -> None:
        super().__init__(cast(Any, None), read(ApiSettings), clock)
        self._told, self._took = clock, took
        self.ended = Event()

    def step(self, *, noticed: bool) -> float:
        """Take that long, and be the last one."""
        self._told.seconds += self._took
        self._bell.stop()
        self.ended.set()
        return 0.0


@pytest.mark.parametrize(("took", "rest"), [(0.0, GAP), (0.001, GAP), (0.5, 0.5 * SHARE)])
def test_the_hub_rests_by_how_long_a_look_took_and_a_moment_at_least(
    took: float, rest: float
) -> None:
    clock = ToldClock()
    hub = OneLook(clock, took)

    async def look() -> None:
        hub.begin()
        await asyncio.to_thread(hub.ended.wait, 30)
        hub.close()

    asyncio.run(look())

    assert clock.waits[-1] == rest


def test_a_hub_may_be_closed_while_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = LiveHub(cast(Any, None), read(ApiSettings))
    start = Thread.start

    def closed_before(thread: Thread) -> None:
        if thread.name == "live":
            hub.close()
        start(thread)

    monkeypatch.setattr(Thread, "start", closed_before)

    async def begin() -> None:
        hub.begin()

    asyncio.run(begin())
    hub.close()
