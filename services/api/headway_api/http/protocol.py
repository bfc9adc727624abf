"""uvicorn's HTTP protocol, with limits for a request that has not come as a whole."""

from asyncio import TimerHandle, Transport
from http import HTTPStatus
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_OF_HEAD: Final = 65_536
"""Bytes of a request's first line and headers."""

SLOW_REQUEST: Final = 60.0
"""Seconds in which a request must have come, the first one of a connection since that was made."""


class LimitedProtocol(HttpToolsProtocol):
    """A connection whose client is told to go if its request is too long or too slow.

    The parser limits neither.  Bodies are limited by the application.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head: int | None = 0  # bytes of it so far; None after its end
        self._late: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Parse what has come; refuse a head that is too long."""
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        if self._head is not None and self._head > MOST_OF_HEAD:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a request."""
        super().on_message_begin()
        self._expect()

    def on_headers_complete(self) -> None:
        """Stop counting: the body follows."""
        self._head = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop waiting: the request is there."""
        super().on_message_complete()
        self._head = 0
        self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting: nothing comes any more."""
        self._forget()
        super().connection_lost(exc)

    def _expect(self) -> None:
        self._forget()
        self._late = self.loop.call_later(SLOW_REQUEST, self._refuse, HTTPStatus.REQUEST_TIMEOUT)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer with the status alone, unless an answer has begun, and close the connection."""
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            line = f"HTTP/1.1 {status.value} {status.phrase}\r\n"
            self.transport.write(f"{line}content-length: 0\r\nconnection: close\r\n\r\n".encode())
        self.transport.close()
