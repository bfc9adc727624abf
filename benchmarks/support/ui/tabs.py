"""Tabs without a browser: each opens the stream of its page, as static/live.js does."""

import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from urllib.parse import urlencode

from benchmarks.support.api.client import PATIENCE
from benchmarks.support.api.service import ApiService
from benchmarks.support.api.watchers import open_path

_PAGE = b"event: page\n"


@dataclass(slots=True)
class BenchTab:
    """A tab: the stream of what it shows, and how often that has come."""

    stream: socket.socket
    pages: int = 0

    def read(self) -> None:
        """Take what has come."""
        self.pages += self.stream.recv(262_144).count(_PAGE)


@dataclass(slots=True)
class BenchTabs:
    """Tabs that are open."""

    tabs: Sequence[BenchTab]
    stop: Event = field(default_factory=Event)

    @property
    def pages(self) -> int:
        """How often pages have come."""
        return sum(tab.pages for tab in self.tabs)

    def run(self) -> None:
        """Follow all streams until it is stopped."""
        with selectors.DefaultSelector() as selector:
            for tab in self.tabs:
                selector.register(tab.stream, selectors.EVENT_READ, tab)
            while not self.stop.is_set():
                for key, _ in selector.select(0.02):
                    key.data.read()


@contextmanager
def bench_tabs(api: ApiService, shown: Sequence[tuple[str, str]]) -> Iterator[BenchTabs]:
    """Open a tab for each topic and path, and wait until each has its page."""
    with ExitStack() as stack:
        paths = [f"/live?{urlencode({'topic': topic, 'page': path})}" for topic, path in shown]
        tabs = [BenchTab(stack.enter_context(open_path(api, path))) for path in paths]
        found = BenchTabs(tabs)
        thread = Thread(target=found.run, daemon=True)
        thread.start()
        deadline = time.monotonic() + PATIENCE
        try:
            while any(tab.pages == 0 for tab in tabs):
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{found.pages} of {len(tabs)} pages have come")
                time.sleep(0.05)
            yield found
        finally:
            found.stop.set()
            thread.join()
