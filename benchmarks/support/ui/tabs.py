"""Tabs without a browser: each watches a topic, and asks for its page again when that changes.

They rest as static/live.js does: at least REST seconds, and SHARE times as long as a load took.
"""

import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Final

from benchmarks.support.api.service import ApiService
from benchmarks.support.api.watchers import open_stream

REST: Final = 0.25
SHARE: Final = 4.0
_AT_ONCE: Final = 16


@dataclass(slots=True)
class BenchTab:
    """A tab: what it watches and shows, and whether it is to load."""

    path: str
    stream: socket.socket
    wanted: bool = False
    loading: bool = False
    rests_until: float = 0.0
    loads: int = 0

    def load(self, api: ApiService) -> None:
        """Ask for the page, and rest."""
        began = time.monotonic()
        api.get(self.path)
        now = time.monotonic()
        self.loads += 1
        self.rests_until = now + max(REST, SHARE * (now - began))
        self.loading = False


@dataclass(slots=True)
class BenchTabs:
    """Tabs that are open."""

    api: ApiService
    tabs: Sequence[BenchTab]
    stop: Event = field(default_factory=Event)

    @property
    def loads(self) -> int:
        """How often pages were loaded."""
        return sum(tab.loads for tab in self.tabs)

    def run(self) -> None:
        """Follow all streams until it is stopped."""
        with selectors.DefaultSelector() as selector, ThreadPoolExecutor(_AT_ONCE) as pool:
            for tab in self.tabs:
                selector.register(tab.stream, selectors.EVENT_READ, tab)
            while not self.stop.is_set():
                for key, _ in selector.select(0.02):
                    told: BenchTab = key.data
                    told.wanted |= b"event: " in told.stream.recv(262_144)
                for tab in self.tabs:
                    if tab.wanted and not tab.loading and time.monotonic() >= tab.rests_until:
                        tab.wanted, tab.loading = False, True
                        pool.submit(tab.load, self.api)


@contextmanager
def bench_tabs(api: ApiService, shown: Sequence[tuple[str, str]]) -> Iterator[BenchTabs]:
    """Open a tab for each topic and path, and wait until each has loaded."""
    with ExitStack() as stack:
        tabs = [BenchTab(path, stack.enter_context(open_stream(api, [it]))) for it, path in shown]
        found = BenchTabs(api, tabs)
        thread = Thread(target=found.run, daemon=True)
        thread.start()
        try:
            while any(tab.loads == 0 for tab in tabs):
                time.sleep(0.05)
            yield found
        finally:
            found.stop.set()
            thread.join()
