"""One client's stream: what it has still to be sent, at most so much, and when it ends."""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final

from headway.domain.accounts import Account
from headway_api.auth.shared_asks import Secret
from headway_api.live import messages
from headway_api.live.feeds import Feed, Update
from headway_api.live.messages import EndReason

MOST_WAITING: Final = 32
"""Updates that wait for a client; one that is further behind gets its topics anew, as wholes."""

COMMENT_EVERY: Final = 15.0
"""Seconds after which something is sent though nothing has changed."""


@dataclass(frozen=True, slots=True)
class StreamHolder:
    """Whose stream it is: the account as it was, and what has shown that it is the holder."""

    account: Account
    secret: Secret


class ClientStream(ABC):
    """A stream of one client, which follows some feeds.  All of it belongs to the event loop."""

    def __init__(self, holder: StreamHolder, feeds: Sequence[Feed]) -> None:
        self.holder, self.feeds = holder, feeds
        self._reason: EndReason | None = None
        self._changed = asyncio.Event()

    @abstractmethod
    def offer(self, update: Update) -> None:
        """Take note of what a look has found."""

    @abstractmethod
    def _take(self) -> bytes | None:
        """Return the next event; None if there is none at present."""

    def left(self) -> None:  # noqa: B027 - most have nothing to do
        """Take note that the client is gone."""

    def end(self, reason: EndReason) -> None:
        """Send nothing more but why the stream ends."""
        self._reason = self._reason or reason
        self._changed.set()

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Yield what is to be sent, until the stream ends."""
        yield messages.BEGIN
        while self._reason is None:
            event = self._take()
            if event is None:
                event = await self._rest()
            if event is not None:
                yield event
        yield messages.bye(self._reason)

    async def _rest(self) -> bytes | None:
        """Wait until something changes; return a comment when nothing does for a while."""
        self._changed.clear()
        try:
            async with asyncio.timeout(COMMENT_EVERY):
                await self._changed.wait()
        except TimeoutError:
            return messages.COMMENT
        return None


class LiveStream(ClientStream):
    """What waits to be sent to a client that follows what feeds tell."""

    def __init__(
        self, holder: StreamHolder, feeds: Sequence[Feed], last_event_id: str | None = None
    ) -> None:
        super().__init__(holder, feeds)
        self._behind = dict.fromkeys(feeds)
        # Not the updates: each of them keeps a whole topic as it was.
        self._waiting: deque[tuple[Feed, str, bytes]] = deque()
        self._has: dict[Feed, str] = dict.fromkeys(feeds, "")
        known = (last_event_id or "").split(".")
        if len(known) == len(feeds):
            self._has = dict(zip(feeds, known, strict=True))

    def offer(self, update: Update) -> None:
        """Have an update sent, or the whole topic later when too much waits."""
        if update.feed not in self._behind:
            self._waiting.append((update.feed, update.shown.digest, update.event))
        if len(self._waiting) > MOST_WAITING:
            self._waiting.clear()
            self._behind = dict.fromkeys(self.feeds)
        self._changed.set()

    def _take(self) -> bytes | None:
        for feed in list(self._behind):
            if feed.shown is None:
                continue
            del self._behind[feed]
            if self._has[feed] != feed.shown.digest:
                return self._numbered(feed, feed.shown.digest, feed.shown.event)
        if self._waiting:
            return self._numbered(*self._waiting.popleft())
        return None

    def _numbered(self, feed: Feed, digest: str, event: bytes) -> bytes:
        self._has[feed] = digest
        return messages.with_id(event, ".".join(self._has.values()))
