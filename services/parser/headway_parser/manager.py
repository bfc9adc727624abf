"""The manager: which files are to be parsed, how many at a time, and what becomes of them."""

import logging
import selectors
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy import Engine

from headway.db import files, processes
from headway.db.engine import reader
from headway.db.notices import SCHEDULER, Notice, nobody
from headway.db.processes import Identity
from headway.runtime.clock import Clock
from headway.runtime.forker import Forker
from headway.runtime.settings import ParserSettings
from headway_parser import storing
from headway_parser.answer import ParsedFile
from headway_parser.listing import Listing, list_files, signature
from headway_parser.processor import DagFileProcessor
from headway_parser.storing import FileKey, Parse

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 10.0
"""After how long a file that could not be taken over is parsed again."""


@dataclass(slots=True)
class Known:
    """What a file looked like when its parse began, with all the files that it read.

    After an error it is parsed `again` at that time, even if nothing has changed: what it
    failed for may lie elsewhere, such as in a DAG id that another file had.
    """

    signature: str
    paths: frozenset[str]
    again: float | None = None


@dataclass(slots=True)
class DagFileProcessorManager:
    """Keep the database true to a folder of DAG files.

    A file is parsed when it, or a file that it took in, has changed.  One that is
    being parsed is not started again, and a slow one holds up only its own place.
    """

    engine: Engine
    me: Identity
    settings: ParserSettings
    clock: Clock
    start_forker: Callable[[], Forker]
    notify: Callable[[Notice], None] = nobody
    known: dict[str, Known] = field(default_factory=dict)
    _root: Path = field(init=False)
    _forker: Forker | None = None
    _waiting: deque[str] = field(default_factory=deque)
    _running: dict[str, tuple[DagFileProcessor, str]] = field(default_factory=dict)
    _next_listing: float = 0.0
    _next_beat: float = 0.0

    def __post_init__(self) -> None:
        self._root = self.settings.dags.resolve()

    def step(self) -> bool:
        """List, start, wait a moment for children, store; return whether children still run."""
        self._beat()
        self._list()
        self._start()
        self._await(0.2)
        for path, (processor, before) in list(self._running.items()):
            result = processor.poll()
            if result is not None:
                del self._running[path]
                processor.close()
                self._store(processor, before, result)
        return bool(self._running or self._waiting)

    def close(self) -> None:
        """Stop the children."""
        for processor, _ in self._running.values():
            processor.close()
        if self._forker is not None:
            self._forker.close()

    def _list(self) -> None:
        if self.clock.monotonic() < self._next_listing:
            return
        self._next_listing = self.clock.monotonic() + self.settings.dag_dir_list_interval
        listing = list_files(self._root)
        for path in listing.paths:
            if path not in self._running and path not in self._waiting and self._changed(path):
                self._waiting.append(path)
        self._forget(listing)

    def _changed(self, path: str) -> bool:
        known = self.known.get(path)
        if known is None or known.signature != signature(self._root, known.paths):
            return True
        return known.again is not None and self.clock.monotonic() >= known.again

    def _forget(self, listing: Listing) -> None:
        """Forget files only on positive evidence: a complete listing that holds some others."""
        with reader(self.engine).connect() as conn:
            stored = files.signatures(conn, self.settings.bundle)
        gone = sorted(set(stored) - set(listing.paths))
        if not gone:
            return
        if not listing.complete or not listing.paths:
            log.warning(
                "action=keep files=%d: %s is empty, missing or unreadable; its DAGs stay in "
                "force. Pause those that shall not run.",
                len(gone),
                self._root,
            )
            self._next_listing = self.clock.monotonic() + 30 * self.settings.dag_dir_list_interval
            return
        storing.forget(self.engine, self.me, self.settings.bundle, gone)
        for path in gone:
            self.known.pop(path, None)

    def _start(self) -> None:
        while self._waiting and len(self._running) < self.settings.parsing_processes:
            path = self._waiting.popleft()
            known = self.known.get(path)
            before = signature(self._root, known.paths if known else [path])
            timeout = self.settings.dag_file_processor_timeout
            processor = DagFileProcessor.start(
                self._live_forker(), self._root, path, timeout, self.clock
            )
            self._running[path] = processor, before

    def _live_forker(self) -> Forker:
        if self._forker is None or not self._forker.alive():
            if self._forker is not None:
                self._forker.close()
            self._forker = self.start_forker()
        return self._forker

    def _await(self, seconds: float) -> None:
        if not self._running:
            return
        with selectors.DefaultSelector() as selector:
            for processor, _ in self._running.values():
                processor.watch(selector)
            selector.select(seconds)

    def _store(self, processor: DagFileProcessor, before: str, result: ParsedFile) -> None:
        path = processor.path
        known = self.known.get(path)
        seen = frozenset(known.paths if known else [path])
        paths = result.read | {path}
        # Both before the commit: whoever waits for that may change the file right after it.
        after, whole = signature(self._root, seen), signature(self._root, paths)
        error = storing.store(
            self.engine,
            self.me,
            Parse(FileKey(self.settings.bundle, path), result, after, processor.seconds),
            new_ones_paused=self.settings.dags_are_paused_at_creation,
        )
        self.notify(SCHEDULER)
        if after == before:
            again = None if error is None else self.clock.monotonic() + RETRY_SECONDS
            self.known[path] = Known(whole, paths, again)
        else:  # it changed while it was parsed: once more
            self._waiting.append(path)

    def _beat(self) -> None:
        if self.clock.monotonic() >= self._next_beat:
            with self.engine.begin() as conn:
                processes.beat(conn, self.me)
            self._next_beat = self.clock.monotonic() + self.settings.heartbeat_interval
