"""Clients that watch live events, and open their stream again at another api when it ends."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from threading import Event, Thread
from typing import Any, Final
from urllib.parse import urlencode

from tests.chaos.clients.client import Client
from tests.chaos.clients.exchange import ASKED, Exchange, WishKind

TOPICS: Final = (("home", f"dag:{ASKED}"), (f"dag:{ASKED}", "pools"))
"""What each of the streams watches."""

SILENT: Final = 20.0
"""Seconds after which a stream is given up that says nothing: the API says something in 15."""

Entries = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One event of a stream."""

    name: str
    number: str
    data: Mapping[str, Any]


@dataclass(slots=True)
class LiveState:
    """What a client knows of its topics, by the events that it got."""

    topics: dict[str, Entries] = field(default_factory=dict)
    last_event_id: str = ""

    def apply(self, event: SentEvent) -> None:
        """Learn what an event tells."""
        if event.number:
            self.last_event_id = event.number
        topic = event.data.get("topic", "")
        match event.name:
            case "snapshot":
                self.topics[topic] = event.data["entries"]
            case "change":
                gone = set(event.data.get("gone", ()))
                kept = {
                    name: value for name, value in self.topics[topic].items() if name not in gone
                }
                self.topics[topic] = {**kept, **event.data.get("changed", {})}
            case "gone":
                self.topics[topic] = {}


@dataclass(slots=True)
class Watcher:
    """One client that watches, in a thread of its own, until `stop`."""

    client: Client
    topics: Sequence[str]
    state: LiveState = field(default_factory=LiveState)
    opened: int = 0
    """How often its stream was opened."""

    broken: list[str] = field(default_factory=list)
    _stopped: Event = field(default_factory=Event)

    def begin(self) -> None:
        """Begin to watch."""
        Thread(target=self._run, name="watch", daemon=True).start()

    def stop(self) -> None:
        """Open the stream no more."""
        self._stopped.set()

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                self._watch(self.client.next_api())
                self.client.clock.wait(self._stopped, 1.0)
        except Exception as error:
            self.broken.append(f"the client that watches {self.topics} ended by {error!r}")
            raise

    def _watch(self, api: str) -> None:
        began, status, said = self.client.clock.monotonic(), None, ""
        try:
            with closing(HTTPConnection("127.0.0.1", self.client.ports[api], timeout=SILENT)) as it:
                response = self._open(it)
                status = response.status
                if status == 200:
                    self.opened += 1
                    for event in events(response):
                        self.state.apply(event)
        except (OSError, HTTPException) as error:
            said = repr(error)
        ended = self.client.clock.monotonic()
        path = f"live {' '.join(self.topics)}"
        self.client.file.write(
            Exchange(WishKind.WATCH, path, "", api, path, began, ended, status, said)
        )

    def _open(self, connection: HTTPConnection) -> HTTPResponse:
        headers = self.client.headers()
        if self.state.last_event_id:
            headers["Last-Event-ID"] = self.state.last_event_id
        asked = urlencode([("topic", topic) for topic in self.topics])
        connection.request("GET", f"/headway/v1/live?{asked}", headers=headers)
        return connection.getresponse()


def events(lines: Iterator[bytes] | HTTPResponse) -> Iterator[SentEvent]:
    """Yield the events of a stream's lines; one that breaks off is none."""
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif "data" in fields:
            yield SentEvent(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
        if not line.strip():
            fields = {}
