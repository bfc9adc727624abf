"""`GET /headway/v1/live`: a stream of events about what a client watches."""

import asyncio
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headway.runtime.secrets import bearer
from headway_api.auth.caller import AnyCaller, Caller, session_of, token_of
from headway_api.auth.shared_asks import Secret
from headway_api.http.documented import USUAL, errors
from headway_api.http.routers import NATIVE, QuickRoute
from headway_api.live.hub import LiveHub
from headway_api.live.messages import EndReason
from headway_api.live.streams import ClientStream, StreamHolder
from headway_api.live.topics import FORMS, MOST_TOPICS, parse_all

MEDIA: str = "text/event-stream"

router = APIRouter(prefix=NATIVE, tags=["live"], responses=USUAL, route_class=QuickRoute)


class LiveResponse(Response):
    """The answer that lasts for as long as a stream is open."""

    media_type = MEDIA

    def __init__(self, hub: LiveHub, stream: ClientStream) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._hub, self._stream = hub, stream

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the stream ends or the client is gone."""
        watching = asyncio.create_task(self._until_gone(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with aclosing(self._stream.events()) as events:
                async for event in events:
                    await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            watching.cancel()
            self._hub.leave(self._stream)

    async def _until_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._stream.end(EndReason.DISCONNECTED)


@router.get(
    "/live",
    status_code=200,
    response_class=LiveResponse,
    responses={200: {"content": {MEDIA: {"schema": {"type": "string"}}}}, **errors(429)},
)
async def watch_live(
    caller: AnyCaller,
    request: Request,
    topic: Annotated[
        list[str],
        Query(
            min_length=1, max_length=MOST_TOPICS, description=f"What to watch. Topics are {FORMS}."
        ),
    ],
    last_event_id: Annotated[
        str | None, Header(description="The id of the last event that the client has.")
    ] = None,
) -> Response:
    """Send an event whenever something of the topics changes, after one with all of each topic.

    A `snapshot` tells all of a topic by named entries. A `change` tells which entries have another
    value, and which are gone. A `gone` says that there is no such subject, or that the account may
    not see it. A `bye` says why the stream ends. The id of an event stands for what the client has
    of all topics: whoever opens the stream again with the id gets only what has changed meanwhile,
    topic by topic.
    """
    hub: LiveHub = request.app.state.live
    holder = holder_of(caller, request)
    return LiveResponse(hub, hub.join(holder, parse_all(topic), last_event_id))


def holder_of(caller: Caller, request: Request) -> StreamHolder:
    """Return whose stream the request opens."""
    token = token_of(request)
    shown = token if token is not None else session_of(request)
    assert shown is not None  # `caller` has found whose it is
    return StreamHolder(caller.account, Secret(bearer.hash_of(shown), by_token=token is not None))
