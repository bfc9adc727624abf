"""The hub: it looks at what is watched, in one thread, and has changes sent to all who watch.

Notices ring it, and tell nothing.  Nobody watching, it waits, and runs no statement.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock, Thread
from typing import Final, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from headway.db.core.engine import is_transient
from headway.domain.accounts import permitted_bundles
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.runtime.daemon.loop import Pace, cause_of
from headway.runtime.settings.api import ApiSettings
from headway_api.auth.database import ApiDatabase
from headway_api.http.refusals import TooManyStreamsError, TooManyTopicsError
from headway_api.live.feeds import Bundles, Feed, Update
from headway_api.live.messages import EndReason
from headway_api.live.stream_checks import StreamChecks
from headway_api.live.streams import ClientStream, LiveStream, StreamHolder
from headway_api.live.topics import Topic

OpenedStream = TypeVar("OpenedStream", bound=ClientStream)

log = logging.getLogger(__name__)

GAP: Final = 0.1
"""Seconds of rest after a look, at least."""

SHARE: Final = 12.0
"""How many times as long as a look took the hub rests after it, at least.

So looks take at most a thirteenth of the time, however much changes, and schedulers keep theirs.
"""

LONG: Final = 3600.0
_TOO_SLOW: Final = "57014"
_RETRY: Final = Pace(retry_longest=5.0)


class LiveHub:
    """All streams of a process, and the thread that looks for them.

    `begin`, `join` and `leave` are called on the event loop; `ring` and `close` anywhere.
    """

    def __init__(
        self, database: ApiDatabase, given: ApiSettings, clock: Clock | None = None
    ) -> None:
        self._database, self._given = database, given
        self._clock = clock or SystemClock()
        self._bell, self._lock = Bell(), Lock()
        self._feeds: dict[tuple[Topic, Bundles], Feed] = {}
        self._streams: dict[StreamHolder, set[ClientStream]] = {}
        self._untold: list[Update] = []
        self._noticed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self.checks = StreamChecks(database, self._clock, self._watching, self._end_one)

    def begin(self) -> None:
        """Begin to look, for streams of the event loop that runs."""
        if self._thread is None:
            self._bell, self._loop = Bell(), asyncio.get_running_loop()
            thread = Thread(target=self._run, name="live", daemon=True)
            thread.start()
            self.checks.begin()
            self._thread = thread  # not before: whoever closes the hub joins it

    @property
    def is_open(self) -> bool:
        """Whether streams may be open: the process has begun, and does not end."""
        return self._thread is not None

    @property
    def streams(self) -> list[ClientStream]:
        """The streams that are open."""
        return [stream for streams in self._watching().values() for stream in streams]

    def close(self) -> None:
        """End every stream, and the thread; until it begins again no stream is opened."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._bell.stop()
            self._on_loop(self._end_all, EndReason.STOPPING)
            self.checks.close()
            thread.join()

    def ring(self) -> None:
        """Have what is watched looked at soon."""
        if self._feeds:
            self._noticed = True
            self._bell.ring()

    def join(
        self, holder: StreamHolder, topics: Sequence[Topic], last_event_id: str | None
    ) -> LiveStream:
        """Open a stream of what topics tell; TooManyStreamsError when there are too many."""
        return self.open(holder, topics, partial(LiveStream, last_event_id=last_event_id))

    def open(
        self,
        holder: StreamHolder,
        topics: Sequence[Topic],
        make: Callable[[StreamHolder, Sequence[Feed]], OpenedStream],
    ) -> OpenedStream:
        """Open the stream that `make` returns; TooManyStreamsError when there are too many."""
        self._check_room(holder.account.name)
        bundles = permitted_bundles(holder.account)
        keys = [(topic, None if bundles is None else tuple(sorted(bundles))) for topic in topics]
        self._check_memory(keys)
        with self._lock:
            feeds = [self._feeds.setdefault(key, Feed(*key)) for key in keys]
            stream = make(holder, feeds)
            self._streams.setdefault(holder, set()).add(stream)
            for feed in feeds:
                feed.streams.add(stream)
                feed.due = 0.0
        self._bell.ring()
        return stream

    def leave(self, stream: ClientStream) -> None:
        """Forget a stream, and what nobody else watches."""
        stream.left()
        with self._lock:
            theirs = self._streams.get(stream.holder, set())
            theirs.discard(stream)
            if not theirs:
                self._streams.pop(stream.holder, None)
            for feed in stream.feeds:
                feed.streams.discard(stream)
                if not feed.streams:
                    self._feeds.pop((feed.topic, feed.bundles), None)

    def topics(self) -> Mapping[tuple[str, ...], float]:
        """Return how many topics are kept, for the metrics."""
        return {(): float(len(self._feeds))}

    def bytes_kept(self) -> Mapping[tuple[str, ...], float]:
        """Return about how many bytes are kept of topics, for the metrics."""
        return {(): float(self._kept())}

    def step(self, *, noticed: bool) -> float:
        """Look at what is due, or at everything after a notice; return the seconds to wait then.

        What a look has found is told after a check of the accounts that has not failed.
        """
        with self._lock:
            feeds, watched = list(self._feeds.values()), bool(self._streams)
        if not watched:
            self._untold = []
            return LONG
        now = self._clock.monotonic()
        self._tell()
        self._look([feed for feed in feeds if feed.is_due(now, noticed=noticed)])
        due = min(max(feed.due, feed.left_until) for feed in feeds)
        return max(due - self._clock.monotonic(), 0.0)

    def _run(self) -> None:
        seconds, failures = LONG, 0
        while not self._bell.stopped.is_set():
            self._bell.wait(self._clock, seconds)
            self._bell.answer()
            noticed, self._noticed = self._noticed, False
            began = self._clock.monotonic()
            try:
                seconds, failures = self.step(noticed=noticed), 0
            except Exception as error:
                if not is_transient(error):
                    log.exception("action=look for live events has failed")
                    self._on_loop(self._end_all, EndReason.FAULT)
                seconds, failures = 0.0, failures + 1
                self._wait_after(error, failures)
            took = self._clock.monotonic() - began
            self._clock.wait(self._bell.stopped, max(GAP, SHARE * took))

    def _wait_after(self, error: Exception, failures: int) -> None:
        """Wait, and then look at everything: what a notice told of may not have been seen."""
        seconds = _RETRY.retry_after(failures)
        log.warning("action=look next_try=%.1fs: %s", seconds, cause_of(error))
        self._noticed = True
        self._clock.wait(self._bell.stopped, seconds)

    def _tell(self) -> None:
        """Have what was found sent to the streams that may still see it; it is kept until then."""
        if self._untold:
            self.checks.renew()
            self._on_loop(_deliver, self._untold)
            self._untold = []

    def _look(self, feeds: Sequence[Feed]) -> None:
        waiting, room = list(reversed(feeds)), LiveRoom(self._given.live_bytes - self._kept())
        while waiting:
            self._look_on_one_connection(waiting, room)
            self._tell()

    def _look_on_one_connection(self, waiting: list[Feed], room: "LiveRoom") -> None:
        """Look at feeds from the end of the list, until none is left or one takes too long.

        The streams of one end for which there is no room.
        """
        reads: Engine = self._database.reads
        with reads.connect() as conn:
            while waiting:
                feed, now = waiting.pop(), self._clock.monotonic()
                before = feed.size
                try:
                    update = feed.look(conn, self._clock.now(), now)
                except DBAPIError as error:
                    if getattr(error.orig, "pgcode", None) != _TOO_SLOW:
                        raise
                    log.warning("action=look topic=%s took too long", feed.topic)
                    feed.leave_alone(now)
                    break
                if update is None:
                    continue
                if room.take(feed.size - before):
                    self._untold.append(update)
                else:
                    log.warning("action=look topic=%s there is no memory left for it", feed.topic)
                    room.take(-feed.size)
                    feed.last = None
                    self._on_loop(_end, feed, EndReason.FULL)

    def _kept(self) -> int:
        with self._lock:
            return sum(feed.size for feed in self._feeds.values())

    def _check_memory(self, keys: Sequence[tuple[Topic, Bundles]]) -> None:
        new = sum(key not in self._feeds for key in keys)
        if new and len(self._feeds) + new > self._given.live_topics:
            raise TooManyTopicsError(
                "This process has as many topics as HEADWAY_API_LIVE_TOPICS. Watch what others "
                "watch, or try again."
            )
        if new and self._kept() >= self._given.live_bytes:
            raise TooManyTopicsError(
                "What this process keeps of topics takes HEADWAY_API_LIVE_BYTES. Watch what others "
                "watch, or try again."
            )

    def _check_room(self, name: str) -> None:
        own = sum(len(it) for holder, it in self._streams.items() if holder.account.name == name)
        if self._thread is None:
            raise TooManyStreamsError("This process is stopping, or has not begun; try again.")
        if own >= self._given.streams_per_account:
            raise TooManyStreamsError(
                f"{name} has {own} streams open; HEADWAY_API_STREAMS_PER_ACCOUNT is the most."
            )
        if sum(map(len, self._streams.values())) >= self._given.streams:
            raise TooManyStreamsError("This process has as many streams as HEADWAY_API_STREAMS.")

    def _watching(self) -> Mapping[StreamHolder, Sequence[ClientStream]]:
        with self._lock:
            return {holder: list(streams) for holder, streams in self._streams.items()}

    def _end_one(self, stream: ClientStream, reason: EndReason) -> None:
        self._on_loop(stream.end, reason)

    def _end_all(self, reason: EndReason) -> None:
        for stream in self.streams:
            stream.end(reason)

    def _on_loop(self, call: Callable[..., None], *arguments: object) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *arguments)


@dataclass(slots=True)
class LiveRoom:
    """How many bytes may be kept besides what is; less than none when too much is."""

    left: int

    def take(self, size: int) -> bool:
        """Keep so many bytes more; tell whether there was room for them."""
        self.left -= size
        return size <= 0 or self.left >= 0


def _end(feed: Feed, reason: EndReason) -> None:
    for stream in list(feed.streams):
        stream.end(reason)


def _deliver(updates: Sequence[Update]) -> None:
    """Show what was found, and have it sent to all who watch."""
    for update in updates:
        update.feed.shown = update.shown
        for stream in update.feed.streams:
            stream.offer(update)
