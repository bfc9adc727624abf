"""What keeps one DAG or run that makes each pass fail from stopping the others.

A pass takes many at once.  When its transaction fails, and not for a passing reason, each
is taken again in a transaction of its own; what fails alone is set aside, and told.
"""

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Generic, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine

from headway.db.core import events, processes
from headway.db.core.engine import is_transient
from headway.db.core.events import Event
from headway.db.core.processes import Identity
from headway.db.scheduling import runs
from headway.db.scheduling.requests import requested
from headway.db.scheduling.scope import KeyFilter
from headway.domain.errors import FencedError

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
Work: TypeAlias = Callable[[KeyFilter[K], list[K]], T]

ASIDE: Final = timedelta(minutes=10)
"""For how long what fails alone is left alone by this replica."""

SILENCE: Final = timedelta(hours=1)
"""For how long it is not told of again."""

_LONGEST: Final = 1000


@dataclass(slots=True)
class Quarantine(Generic[K]):
    """Of one pass of one replica: the DAGs, or runs, that it has set aside."""

    kind: str
    names: Callable[[Connection, K], tuple[str, str | None]]
    _aside: dict[K, datetime] = field(default_factory=dict)
    _told: dict[K, datetime] = field(default_factory=dict)

    def each(self, engine: Engine, me: Identity, now: datetime, work: Work[K, T]) -> list[T]:
        """Do the work of a pass on all that it finds, or else on each by itself.

        `work` is one transaction, on what its choice allows; it enters in the list what it
        has locked.  An error that concerns all is raised: one that may pass when the
        whole is tried again, one before anything was locked, or that this process is dead.
        """
        locked_keys: list[K] = []
        try:
            return [work(KeyFilter(aside=self._aside_by(now)), locked_keys)]
        except Exception as error:
            if not locked_keys or _concerns_all(error):
                raise
            log.warning(
                "action=isolate %ss=%d error=%s", self.kind, len(locked_keys), _message(error)
            )
        done = []
        for key in locked_keys:
            try:
                done.append(work(KeyFilter(only=[key]), []))
            except Exception as error:
                if _concerns_all(error):
                    raise
                self._aside[key] = now
                self._tell(engine, me, now, key, error)
        return done

    def _aside_by(self, now: datetime) -> list[K]:
        self._aside = {key: since for key, since in self._aside.items() if now < since + ASIDE}
        return list(self._aside)

    def _tell(self, engine: Engine, me: Identity, now: datetime, key: K, error: Exception) -> None:
        self._told = {other: at for other, at in self._told.items() if now < at + SILENCE}
        if key in self._told:
            return
        self._told[key] = now
        log.error("action=quarantine %s=%s", self.kind, key, exc_info=error)
        with engine.begin() as conn:
            processes.confirm(conn, me)
            dag_id, run_id = self.names(conn, key)
            event = Event(
                actor=f"scheduler:{me.id}",
                action=f"{self.kind}.quarantine",
                dag_id=dag_id,
                run_id=run_id,
                details={"error": _message(error)},
            )
            events.add(conn, event)


def of_dags() -> Quarantine[str]:
    """Isolate DAGs."""
    return Quarantine("dag", lambda _conn, dag_id: (dag_id, None))


def of_runs() -> Quarantine[int]:
    """Isolate runs."""
    return Quarantine("run", runs.names)


def of_requests() -> Quarantine[int]:
    """Isolate requests of tasks for runs."""
    return Quarantine("request", requested.names)


def _concerns_all(error: Exception) -> bool:
    return is_transient(error) or isinstance(error, FencedError)


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {str(getattr(error, 'orig', error)).strip()[:_LONGEST]}"
