"""Move a bundle of git from commit to commit, in a thread of its own: remotes are slow."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Thread

from sqlalchemy import Engine

from headway.db import bundles, processes
from headway.db.engine import is_transient, reader
from headway.db.processes import Identity
from headway.runtime.bell import Bell
from headway.runtime.clock import Clock
from headway_parser.bundles import GitBundle, GitError
from headway_parser.shelf import Place

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Refresher:
    """Keep a bundle at the commit that all parsers are to be at; `moved` is called when it moves.

    One parser at a time asks the remote; what it says is stored for all.  While the remote
    is away everything stays as it is.
    """

    engine: Engine
    me: Identity
    bundle: GitBundle
    clock: Clock
    moved: Callable[[], None]
    place: Place | None = None
    bell: Bell = field(default_factory=Bell)
    _failing: str | None = None
    _thread: Thread | None = None

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
                self._move(self.bundle.newest())
        finally:  # that commit may be checked out here already, wherever the remote is
            self._follow()

    def _is_to_ask(self) -> bool:
        name, interval = self.bundle.name, self.bundle.source.refresh_interval
        with self.engine.begin() as conn:
            processes.confirm(conn, self.me)
            return bundles.take_question(conn, name, self.me.id, interval)

    def _move(self, newest: str) -> None:
        with self.engine.begin() as conn:
            processes.confirm(conn, self.me)
            bundles.move(conn, self.bundle.name, newest)

    def _follow(self) -> None:
        name = self.bundle.name
        with reader(self.engine).connect() as conn:
            commit = bundles.commits(conn, [name]).get(name)
        if commit is not None and (self.place is None or self.place.commit != commit):
            self.place = Place(self.bundle.check_out(commit), commit)
            log.info("action=check_out bundle=%s commit=%s", name, commit)
            self.moved()

    def _run(self) -> None:
        while not self.bell.stopped.is_set():
            self.bell.answer()
            self._try()
            self.bell.wait(self.clock, self.bundle.source.refresh_interval)

    def _try(self) -> None:
        try:
            self.tick()
        except (GitError, OSError) as error:  # a disk that is full is no reason to end, either
            if str(error) != self._failing:
                log.warning("action=keep bundle=%s reason=%r", self.bundle.name, str(error))
            self._failing = str(error)
        except Exception as error:
            if not is_transient(error):
                raise
            log.warning("action=keep bundle=%s: the database is away", self.bundle.name)
        else:
            self._failing = None
