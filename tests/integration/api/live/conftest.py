"""The API on a port, whose live events clients read."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import Engine, event
from tests.integration.api.conftest import Api
from tests.integration.api.live.live_client import LiveClient, connect

from headway_api.app import guarded
from headway_api.http.server import serving
from headway_api.live import feeds, stream_checks
from headway_api.live.hub import LiveHub


@dataclass(slots=True)
class LiveApi:
    """The API on a port, and the statements that its two engines have executed."""

    api: Api
    port: int
    hub: LiveHub
    closing: ExitStack
    statements: Counter[str] = field(default_factory=Counter)

    def open(self, token: str, *topics: str, **headers: str) -> LiveClient:
        """Open a stream; without a token, by what the headers say."""
        client = LiveClient.opened(connect(self.port, token or None, *topics, **headers))
        self.closing.callback(client.close)
        return client

    def refused(self, token: str | None, *topics: str) -> tuple[int, str]:
        """Ask for a stream that is refused; return the status and the body."""
        with closing(connect(self.port, token, *topics)) as connection:
            response = connection.getresponse()
            return response.status, response.read().decode()

    def count(self, engine: Engine) -> None:
        """Count the statements of an engine by what they are about."""

        def counted(_conn: object, _cursor: object, statement: str, *_: Any) -> None:
            self.statements[statement] += 1

        event.listen(engine, "before_cursor_execute", counted)
        self.closing.callback(event.remove, engine, "before_cursor_execute", counted)


@contextmanager
def on_a_port(api: Api) -> Iterator[LiveApi]:
    """Serve that API as its service does, for as long as the block lasts."""
    hub: LiveHub = api.app.state.live
    with ExitStack() as ending:
        port = ending.enter_context(serving(lambda: guarded(api.app, api.settings), api.settings))
        ending.enter_context(closing(hub))
        yield LiveApi(api, port, hub, ending)


@pytest.fixture
def live(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveApi]:
    """The API on a port; what is finished is looked at when something rings, and not before.

    Accounts are checked before something is told, and not by the timer.
    """
    monkeypatch.setattr(feeds, "EVERY", 3600.0)
    monkeypatch.setattr(stream_checks, "CHECK_EVERY", 3600.0)
    with on_a_port(api) as served:
        yield served
