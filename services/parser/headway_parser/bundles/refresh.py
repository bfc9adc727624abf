"""Move a bundle of git from commit to commit, in a thread of its own: remotes are slow."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Thread
from typing import Final

from sqlalchemy import Engine

from headway.db.core import processes
from headway.db.core.engine import is_transient, reader
from headway.db.core.processes import Identity
from headway.db.parsing import bundles
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock
from headway_parser.bundles import GitBundle, GitError
from headway_parser.bundles.source import BundlePlace

log = logging.getLogger(__name__)

FIRST_RETRY: Final = 2.0
"""Seconds after which a bundle without any files is tried again; twice as many each time."""


@dataclass(slots=True)
class Refresher:
    """Keep a bundle at the commit that all parsers are to be at; `moved` is called when it moves.

    One parser at a time asks the remote; what it says is stored for all.  While the remote
    is away everything stays as it is.  An error that is neither the remote's nor the
    database's being away ends the thread, and is raised by `place`.
    """

    engine: Engine
    me: Identity
    bundle: GitBundle
    clock: Clock
    moved: Callable[[], None]
    bell: Bell = field(default_factory=Bell)
    _place: BundlePlace | None = None
    _failing: str | None = None
    _failures: int = 0
    _bug: Exception | None = None
    _thread: Thread | None = None

    @property
    def place(self) -> BundlePlace | None:
        """What is checked out; None before anything is."""
        if self._bug is not None:
            raise self._bug
        return self._place

    @property
    def watched(self) -> None:
        """What is checked out never changes."""

    def start(self) -> None:
        """Begin."""
        name = f"bundle {self.bundle.name}"
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def nudge(self) -> None:
        """Look for the commit to be at now."""
        self.bell.ring()

    def close(self) -> None:
        """End, without waiting for a remote that does not answer."""
        self.bell.stop()

    def tick(self) -> None:
        """Ask the remote if it is time to, then go to the commit that is stored."""
        try:
            if self._is_to_ask():
                self._ask()
        finally:  # that commit may be checked out here already, wherever the remote is
            self._follow()

    def _is_to_ask(self) -> bool:
        name, interval = self.bundle.name, self.bundle.source.refresh_interval
        with self.engine.begin() as conn:
            processes.confirm(conn, self.me)
            return bundles.claim_fetch(conn, name, self.me.id, interval)

    def _ask(self) -> None:
        try:
            newest = self.bundle.newest()
        except (GitError, OSError):
            with self.engine.begin() as conn:
                bundles.release_fetch(conn, self.bundle.name, self.me.id)
            raise
        self._move(newest)

    def _move(self, newest: str) -> None:
        with self.engine.begin() as conn:
            processes.confirm(conn, self.me)
            bundles.move(conn, self.bundle.name, newest)

    def _follow(self) -> None:
        name = self.bundle.name
        with reader(self.engine).connect() as conn:
            commit = bundles.commits(conn, [name]).get(name)
        if commit is not None and (self._place is None or self._place.commit != commit):
            self._place = BundlePlace(self.bundle.check_out(commit), commit)
            log.info("action=check_out bundle=%s commit=%s", name, commit)
            self.moved()

    def _run(self) -> None:
        try:
            while not self.bell.stopped.is_set():
                self.bell.answer()
                self._failures = 0 if self._try() else self._failures + 1
                self.bell.wait(self.clock, self._wait())
        except Exception as error:  # noqa: BLE001 - `place` raises it where the process ends by it
            self._bug = error
            self.moved()

    def _wait(self) -> float:
        """Return the seconds until the next try: few while there are no files at all."""
        interval = self.bundle.source.refresh_interval
        if self._place is not None or not self._failures:
            return interval
        return min(FIRST_RETRY * 2.0 ** min(self._failures - 1, 30), interval)

    def _try(self) -> bool:
        """Tick; return whether that went well."""
        try:
            self.tick()
        except (GitError, OSError) as error:  # a disk that is full is no reason to end, either
            if str(error) != self._failing:
                log.warning("action=keep_stored bundle=%s reason=%r", self.bundle.name, str(error))
            self._failing = str(error)
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("action=keep_stored bundle=%s: the database is away", self.bundle.name)
        else:
            self._failing = None
            return True
        return False
