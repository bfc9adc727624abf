"""Traces of runs that end, and of attempts that were lost; told once the database has their end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Engine

from headway.db.core import traces as stored
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.engine import reader
from headway.domain.traces import Span, of_attempt, of_run

if TYPE_CHECKING:
    from headway.runtime.traces.traces import Traces


class Tracing(Protocol):
    """Who has ends told."""

    def runs_ended(self, ids: Sequence[int]) -> None:
        """Have the ends of these runs told."""

    def attempts_lost(self, keys: Sequence[AttemptKey]) -> None:
        """Have the ends of these attempts told, which their workers never reported."""


class Untraced:
    """Tell nobody."""

    def runs_ended(self, ids: Sequence[int]) -> None:
        """Tell nobody of runs."""

    def attempts_lost(self, keys: Sequence[AttemptKey]) -> None:
        """Tell nobody of attempts."""


@dataclass(frozen=True, slots=True)
class Traced:
    """Have ends told by the thread that sends traces, which asks the database for them."""

    traces: "Traces"
    engine: Engine

    def runs_ended(self, ids: Sequence[int]) -> None:
        """Have the ends of these runs told."""
        if ids:
            self.traces.tell(lambda: self._runs(ids))

    def attempts_lost(self, keys: Sequence[AttemptKey]) -> None:
        """Have the ends of these attempts told, which their workers never reported."""
        if keys:
            self.traces.tell(lambda: self._attempts(keys))

    def _runs(self, ids: Sequence[int]) -> Sequence[Span]:
        with reader(self.engine).connect() as conn:
            return [span for run in stored.runs(conn, ids) for span in of_run(run)]

    def _attempts(self, keys: Sequence[AttemptKey]) -> Sequence[Span]:
        with reader(self.engine).connect() as conn:
            found = stored.attempts(conn, keys)
        return [span for attempt in found.values() for span in of_attempt(attempt, None)]
