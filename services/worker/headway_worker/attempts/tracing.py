"""Traces of the attempts of a worker: begun here, told once the database has their end."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import Engine

from headway.db.core import traces as stored
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.engine import reader
from headway.db.execution.attempts import Claimed
from headway.domain.traces import Parent, RunTrace, Span, of_attempt
from headway.runtime.daemon.database_clock import DatabaseClock
from headway.runtime.traces.traces import Traces

MOST_BEGUN: Final = 10_000
"""Attempts whose beginning is remembered; one that was given away is never told."""


@dataclass(slots=True)
class AttemptTraces:
    """Notes when attempts begin, and has the end of each told."""

    traces: Traces
    engine: Engine
    clock: DatabaseClock
    _begun: dict[AttemptKey, datetime] = field(default_factory=dict)

    def begin(self, claimed: Claimed) -> str:
        """Note that an attempt begins now; return what its TRACEPARENT is."""
        while len(self._begun) >= MOST_BEGUN:
            del self._begun[next(iter(self._begun))]
        self._begun[claimed.key] = self.clock.now()
        run = RunTrace(claimed.dag_id, claimed.run_id, claimed.dag_run_id, claimed.run_started_at)
        return str(Parent(run, claimed.key.token, self.traces.is_sampled(run.trace_id)))

    def end(self, ended: Collection[AttemptKey]) -> None:
        """Have the ends of these attempts told, which the database has; wait for nothing."""
        if ended:
            begun = {key: self._begun.pop(key, None) for key in ended}
            self.traces.tell(lambda: self._spans(begun))

    def _spans(self, begun: dict[AttemptKey, datetime | None]) -> Sequence[Span]:
        with reader(self.engine).connect() as conn:
            found = stored.attempts(conn, list(begun))
        return [span for key, it in found.items() for span in of_attempt(it, begun[key])]
