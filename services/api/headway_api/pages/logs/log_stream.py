"""The lines that come to an attempt's log while a page shows its end, as a stream of events."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Header, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from headway.db.core.engine import is_transient
from headway.db.reads.pages.attempt_pages import InstanceName
from headway.domain.errors import LogsError
from headway_api.airflow.results.log_pieces import StoredLog
from headway_api.airflow.results.stored_logs import attempt_of, log_of
from headway_api.auth.caller import AnyCaller
from headway_api.http.refusals import TooManyStreamsError
from headway_api.live.hub import LiveHub
from headway_api.live.routes import holder_of
from headway_api.live.streams import StreamHolder
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import part
from headway_api.pages.frame.routing import page_router
from headway_api.pages.logs import log_window

router = page_router()

EVERY: Final = 0.3
"""Seconds between two looks at how long the log is."""

LASTS: Final = 60.0
"""Seconds of a stream; then the browser opens it anew, and its account is looked at again."""

MOST_STREAMS: Final = 20
"""Streams of an account in one process."""

_LARGEST: Final = 2**62
_BEGIN: Final = b"retry: 500\n\n"


@dataclass(frozen=True, slots=True)
class LogStreams:
    """Counts the streams of each account.  It belongs to the event loop."""

    open: Counter[str] = field(default_factory=Counter)

    def check_room(self, account: str) -> None:
        """Refuse one more stream where there are too many; TooManyStreamsError."""
        if self.open[account] >= MOST_STREAMS:
            raise TooManyStreamsError(
                f"Account {account!r} follows {MOST_STREAMS} logs already; close some pages."
            )


@router.get(
    addresses.DAGS + "/{dag_id}/runs/{run_id}/tasks/{task_id}/attempts/{attempt}/log/stream"
)
def follow_log(  # noqa: PLR0913, PLR0917 - what names the log, and from where on
    request: Request,
    caller: AnyCaller,
    dag_id: str,
    run_id: str,
    task_id: str,
    attempt: Annotated[int, Path(ge=1, le=2**31 - 1)],
    map_index: Annotated[int, Query(ge=-1, le=2**31 - 1)] = -1,
    start: Annotated[int, Query(alias="from", ge=0, le=_LARGEST)] = 0,
    last_event_id: Annotated[int | None, Header(ge=0, le=_LARGEST)] = None,
) -> Response:
    """Send lines as they come; 204 when the attempt has ended, so that nobody asks again."""
    name = InstanceName(dag_id, run_id, task_id, map_index)
    found = caller.read(lambda conn: attempt_of(caller, conn, name, attempt))
    if found.attempt.ended_at is not None:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    streams: LogStreams = request.app.state.log_streams
    streams.check_room(caller.account.name)
    at = start if last_event_id is None else last_event_id
    place = addresses.log(dag_id, run_id, task_id, map_index, attempt)
    holder, live = holder_of(caller, request), request.app.state.live
    following = FollowedLog(log_of(name, found), at, place, holder, live)
    return StreamingResponse(
        following.events(streams),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


@dataclass(slots=True)
class FollowedLog:
    """A log whose page is at `place`, and which has been sent up to before the byte `at`."""

    log: StoredLog
    at: int
    place: str
    holder: StreamHolder
    hub: LiveHub
    """Tells whether this process goes on, and whether the holder may still see the log."""

    _is_over: bool = False

    async def events(self, streams: LogStreams) -> AsyncGenerator[bytes]:
        """Yield lines as they come, for a while."""
        loop, account = asyncio.get_running_loop(), self.holder.account.name
        until = loop.time() + LASTS
        streams.open[account] += 1
        try:
            yield _BEGIN
            while loop.time() < until and self.hub.is_open and not self._is_over:
                event = await run_in_threadpool(self._next)
                if event is None:
                    await asyncio.sleep(EVERY)
                else:
                    yield event
        finally:
            streams.open[account] -= 1

    def _next(self) -> bytes | None:
        """Return the event of the lines that have come, None without any."""
        try:
            if (self.log.place.size(self.log.relative) or 0) <= self.at:
                return None
            window = log_window.after(self.log, self.at)
        except LogsError:  # the worker may be away for a moment
            return None
        if not window.lines or not self._is_seen():
            return None
        self.at = window.end
        lines = part("lines.html", {"lines": window.lines, "place": self.place})
        data = "".join(f"data: {line}\n" for line in lines.splitlines())
        return f"id: {window.end}\n{data}\n".encode()

    def _is_seen(self) -> bool:
        """Tell whether the holder may still see the log; not so, for now, without a database."""
        try:
            self._is_over = bool(self.hub.checks.ended({self.holder}))
        except Exception as error:
            if not is_transient(error):
                raise
            return False
        return not self._is_over
