"""A client of several apis: it sends again to another one what was not answered."""

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from threading import Event
from typing import Any, Final

from tests.chaos.clients.exchange import CHANGES, Exchange, ExchangeFile, Wish

from headway.runtime.daemon.clock import Clock

PATIENCE: Final = 10.0
"""Seconds for which an answer is waited for."""

INSISTS: Final = 300.0
"""Seconds after which a client no more sends a change again."""

_REST: Final = 0.5
_NEVER: Final = Event()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request: its exchange, and the body of the answer."""

    exchange: Exchange
    body: Any = None


@dataclass(slots=True)
class Client:
    """Sends requests by turns to all apis, and has a file of what it has sent."""

    ports: Mapping[str, int]
    """The port of each api by its name."""

    token: str = field(repr=False)
    file: ExchangeFile
    clock: Clock
    turn: int = 0

    def next_api(self) -> str:
        """Return the api whose turn it is."""
        self.turn += 1
        return sorted(self.ports)[self.turn % len(self.ports)]

    def headers(self) -> dict[str, str]:
        """Return the headers by which the api knows who asks."""
        return {"Authorization": f"Bearer {self.token}"}

    def ask(self, wish: Wish) -> Answer:
        """Send it once."""
        api, began = self.next_api(), self.clock.monotonic()
        status, body, said = None, None, ""
        try:
            status, body = self._send(api, wish)
            said = _told(status, body)
        except (OSError, HTTPException) as error:
            said = repr(error)
        ended = self.clock.monotonic()
        exchange = Exchange(
            wish.kind, wish.key, wish.mark, api, wish.path, began, ended, status, said
        )
        self.file.write(exchange)
        return Answer(exchange, body)

    def insist(self, wish: Wish) -> Answer:
        """Send it under the same key until it is answered, each time to the next api."""
        until = self.clock.monotonic() + INSISTS
        answer = self.ask(wish)
        while answer.exchange.is_open and self.clock.monotonic() < until:
            self.clock.wait(_NEVER, _REST)
            answer = self.ask(wish)
        return answer

    def _send(self, api: str, wish: Wish) -> tuple[int, Any]:
        headers = {**self.headers(), "Content-Type": "application/json"}
        if wish.kind in CHANGES:
            headers["Idempotency-Key"] = wish.key
        content = None if wish.body is None else json.dumps(wish.body)
        with closing(HTTPConnection("127.0.0.1", self.ports[api], timeout=PATIENCE)) as connection:
            connection.request(wish.method, wish.path, content, headers)
            response = connection.getresponse()
            read = response.read()
            is_json = "json" in response.headers.get("Content-Type", "")
            return response.status, json.loads(read) if is_json and read else None


def _told(status: int, body: Any) -> str:
    if not isinstance(body, dict):
        return ""
    return str(body.get("dag_run_id", "") if status < 300 else body.get("detail", ""))
