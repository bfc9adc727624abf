"""The layer that counts requests, and measures how long they take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headway.metrics.api import REQUEST_SECONDS, REQUESTS, RUNNING
from headway.runtime.daemon.clock import Clock

NOWHERE: Final = "none"
"""The route of a request for what the API does not have."""

_STREAM: Final = "text/event-stream"


@dataclass(slots=True)
class _Answer:
    """What an application has answered so far."""

    status: int = 500
    kind: str = "requests"


@dataclass(frozen=True, slots=True)
class RequestMeter:
    """An ASGI application around another one, which runs in one thread."""

    app: ASGIApp
    clock: Clock
    _running: dict[str, int] = field(default_factory=lambda: {"requests": 0, "streams": 0})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the application answer, and count the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer, begun = _Answer(), self.clock.monotonic()

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                if (
                    Headers(raw=message.get("headers", []))
                    .get("content-type", "")
                    .startswith(_STREAM)
                ):
                    self._running["requests"] -= 1
                    answer.kind = "streams"
                    self._running["streams"] += 1
            await send(message)

        self._running["requests"] += 1
        try:
            await self.app(scope, receive, send_counted)
        finally:
            self._running[answer.kind] -= 1
            route = getattr(scope.get("route"), "path_format", NOWHERE)
            REQUESTS.inc(route, f"{answer.status // 100}xx")
            if answer.kind == "requests":
                REQUEST_SECONDS.observe(self.clock.monotonic() - begun, route)

    def running(self) -> Mapping[tuple[str, ...], float]:
        """Return how many requests are being answered, and how many streams are open."""
        return {(kind,): float(number) for kind, number in self._running.items()}


def measured(app: ASGIApp, clock: Clock) -> RequestMeter:
    """Return the application behind the layer that measures, which the metrics tell of."""
    meter = RequestMeter(app, clock)
    RUNNING.read_by(meter.running)
    return meter
