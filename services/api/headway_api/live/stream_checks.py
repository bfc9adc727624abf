"""Whether the accounts of open streams may still see what their streams tell.

A thread of its own checks all streams, however long the looks of the hub and the makings of pages
take.  Whoever tells something asks here first.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from threading import Thread
from typing import Final

from starlette.concurrency import run_in_threadpool

from headway.actions.accounts import authenticate
from headway.db.core.engine import is_transient, reader
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import cause_of
from headway_api.auth.database import ApiDatabase
from headway_api.live.messages import EndReason
from headway_api.live.streams import ClientStream, StreamHolder

log = logging.getLogger(__name__)

CHECK_EVERY: Final = 1.0
"""Seconds between two checks of the timer, while streams are open."""

HOLDS: Final = 2.0
"""Seconds after the begin of a check until which events are told without another one."""


class StreamChecks:
    """Checks the streams that are watching, and has `end` called for those that are to end.

    `watching` returns the streams of each holder.  `begin` and `close` are called by who begins
    and closes the hub; everything else anywhere.
    """

    def __init__(
        self,
        database: ApiDatabase,
        clock: Clock,
        watching: Callable[[], Mapping[StreamHolder, Sequence[ClientStream]]],
        end: Callable[[ClientStream, EndReason], None],
    ) -> None:
        self._database, self._clock, self._watching, self._end = database, clock, watching, end
        self._holds_until = 0.0
        self._bell = Bell()
        self._thread: Thread | None = None

    def begin(self) -> None:
        """Begin to check every second."""
        self._bell = Bell()
        self._thread = Thread(target=self._run, args=(self._bell,), name="checks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._bell.stop()
        if self._thread is not None:
            self._thread.join()

    def renew(self) -> None:
        """Check all streams, unless a check has begun just before."""
        if self._clock.monotonic() >= self._holds_until:
            self.check()

    def check(self) -> None:
        """End the streams whose account may no longer see what it sees, or sees other things."""
        began, streams = self._clock.monotonic(), self._watching()
        if streams:
            for holder, reason in self.ended(streams).items():
                for stream in streams[holder]:
                    self._end(stream, reason)
        self._holds_until = max(self._holds_until, began + HOLDS)

    def ended(self, holders: Collection[StreamHolder]) -> Mapping[StreamHolder, EndReason]:
        """Return why streams of these holders are to end, without those that go on."""
        tokens = {it.secret.hash for it in holders if it.secret.by_token}
        sessions = {it.secret.hash for it in holders if not it.secret.by_token}
        with reader(self._database.writes).connect() as conn:
            accounts = authenticate.still(conn, tokens, sessions)
        now = {it: accounts.get(it.secret.hash) for it in holders}
        return {
            it: EndReason.SIGNED_OUT if account is None else EndReason.ACCOUNT_CHANGED
            for it, account in now.items()
            if account != it.account
        }

    async def ended_by_now(
        self, holders: Collection[StreamHolder]
    ) -> Mapping[StreamHolder, EndReason]:
        """Return the same on the event loop, by a thread of requests."""
        return await run_in_threadpool(self.ended, holders)

    def _run(self, bell: Bell) -> None:
        while not bell.stopped.is_set():
            try:
                self.check()
            except Exception as error:
                if is_transient(error):
                    log.warning("action=check of the accounts of streams: %s", cause_of(error))
                else:
                    log.exception("action=check of the accounts of streams has failed")
            bell.wait(self._clock, CHECK_EVERY)
