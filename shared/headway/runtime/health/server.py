"""The HTTP port of a service: /healthz, /readyz and /metrics.

Import this only where a port is set: what it needs stays in memory.
"""

import json
import logging
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from threading import Lock, Thread
from typing import Any, Final

from headway.domain.errors import SettingsError
from headway.metrics.exposition import CONTENT_TYPE, Exposition
from headway.metrics.metric import ServiceKind
from headway.runtime.daemon.clock import Clock
from headway.runtime.health.answers import Health
from headway.runtime.health.check import HealthCheck, as_data
from headway.runtime.health.page import Page

log = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 16
"""Requests that are answered at a time; what comes beside them is closed."""

LONGEST: Final = 10.0
"""Seconds after which a request is closed, however far it has come."""

LOOK_EVERY: Final = 0.5
"""Seconds between two looks for requests that take too long, and for the end."""

_JSON: Final = "application/json"


def page_of(health: Health, exposition: Exposition, path: str, headers: Mapping[str, str]) -> Page:
    """Return the page at that path, for a request with these headers."""
    match path:
        case "/healthz":
            return _checks(health.alive())
        case "/readyz":
            return _checks(health.ready())
        case "/metrics":
            return Page(HTTPStatus.OK, CONTENT_TYPE, exposition.page())
    more = None if health.more is None else health.more(path, headers)
    if more is not None:
        return more
    return _json(HTTPStatus.NOT_FOUND, {"error": "There are /healthz, /readyz and /metrics."})


class HealthServer(ThreadingMixIn, TCPServer):
    """A server at a port of all addresses of this machine; 0 is any port."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = MOST_AT_ONCE

    def __init__(
        self, port: int, answer: Callable[[str, Mapping[str, str]], Page], clock: Clock
    ) -> None:
        self.answer = answer
        self._clock = clock
        self._lock = Lock()
        self._until: dict[Any, float] = {}
        dual = socket.has_dualstack_ipv6()
        self.address_family = socket.AF_INET6 if dual else socket.AF_INET
        super().__init__(("", port), _Handler)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Listen to IPv4 beside IPv6."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, unless as many as may be are at it."""
        with self._lock:
            is_full = len(self._until) >= MOST_AT_ONCE
            if not is_full:
                self._until[request] = self._clock.monotonic() + LONGEST
        if is_full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and forget it."""
        with self._lock:
            self._until.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Close what takes too long: a client may send a byte now and then."""
        now = self._clock.monotonic()
        with self._lock:
            late = [request for request, until in self._until.items() if now >= until]
        for request in late:
            with suppress(OSError):  # it has just ended
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Log what was a mistake of this process; clients may leave when they like."""
        if not isinstance(sys.exception(), OSError):
            log.exception("action=http A request has failed.")

    def close(self) -> None:
        """Listen no more."""
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers one request of one client."""

    server: HealthServer
    server_version = "headway"
    sys_version = ""
    timeout = 5.0

    def do_GET(self) -> None:
        self._send(self._page())

    def do_HEAD(self) -> None:
        self._send(self._page(), head=True)

    def _page(self) -> Page:
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self.server.answer(self.path.partition("?")[0], headers)

    def send_error(self, code: int, message: object = None, explain: object = None) -> None:  # noqa: ARG002
        """Refuse what is no GET or HEAD, and what is no HTTP."""
        status = HTTPStatus(code)
        if status is HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        self.close_connection = True
        self._send(_json(status, {"error": status.phrase}), {"Allow": "GET, HEAD"})

    def _send(
        self, page: Page, headers: Mapping[str, str] | None = None, *, head: bool = False
    ) -> None:
        self.send_response(page.status)
        own = {"Content-Type": page.content_type, "Content-Length": str(len(page.body))}
        own |= {"Cache-Control": "no-store", **page.headers, **(headers or {})}
        for name, value in own.items():
            self.send_header(name, value)
        self.end_headers()
        if not head:
            self.wfile.write(page.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log no request: probes come every few seconds."""


def start(service: ServiceKind, port: int, health: Health) -> HealthServer:
    """Serve at that port, which a setting of the service names, until the server is closed."""
    try:
        answer = partial(page_of, health, Exposition(service))
        server = HealthServer(port, answer, health.clock)
    except OSError as error:
        raise SettingsError(
            f"HEADWAY_{service.upper()}_HTTP_PORT: this process cannot listen at port {port}: "
            f"{error.strerror}. Choose a port that no other process has, or 0 for none."
        ) from error
    health.is_shown = True
    Thread(target=server.serve_forever, args=[LOOK_EVERY], name="http", daemon=True).start()
    return server


def _checks(checks: list[HealthCheck]) -> Page:
    data = as_data(checks)
    return _json(HTTPStatus.OK if data["ok"] else HTTPStatus.SERVICE_UNAVAILABLE, data)


def _json(status: HTTPStatus, data: Mapping[str, object]) -> Page:
    return Page(status, _JSON, json.dumps(data).encode() + b"\n")
