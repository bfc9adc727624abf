"""A worker that runs nothing: it claims attempts, holds them a moment, and says how they ended."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from sqlalchemy import Engine

from headway.db.core import processes
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.db.execution import attempts, leases
from headway.db.execution.attempts import Claimed, Report
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_QUEUE
from headway.domain.states import Outcome, TaskState

ENDING = 0.5
"""How likely it is that what is held ends in a step."""

SUCCESS = (Outcome.SUCCESS, Next(TaskState.SUCCESS))

Verdict = Callable[[Claimed], tuple[Outcome, Next]]
"""How an attempt ends, and what follows for its task."""


def well(_claimed: Claimed) -> tuple[Outcome, Next]:
    """Let every attempt succeed."""
    return SUCCESS


@dataclass(slots=True)
class StandIn:
    """Call `step` again and again: each claims what is queued and ends some of what it holds."""

    engine: Engine
    me: Identity
    random: Random
    verdict: Verdict = well
    slots: int = 32
    lease: float = 30.0
    held: dict[AttemptKey, Claimed] = field(default_factory=dict)
    ended: list[AttemptKey] = field(default_factory=list)

    def step(self) -> bool:
        """Claim, renew, report; return whether there was anything to do."""
        self._claim()
        with self.engine.begin() as conn:
            processes.beat(conn, self.me)
            renewed = leases.renew(conn, list(self.held), self.lease)
        for key in list(self.held):
            if key not in renewed:
                del self.held[key]
        self._report([key for key in self.held if self.random.random() < ENDING])
        return bool(renewed)

    def _claim(self) -> None:
        free = self.slots - len(self.held)
        if free > 0:
            with self.engine.begin() as conn:
                processes.confirm(conn, self.me)
                claimed = attempts.claim(conn, self.me, [DEFAULT_QUEUE], free, self.lease)
            self.held |= {each.key: each for each in claimed}

    def _report(self, keys: list[AttemptKey]) -> None:
        reports = []
        for key in keys:
            outcome, following = self.verdict(self.held[key])
            reports.append(Report(key=key, outcome=outcome, following=following))
        if reports:
            with self.engine.begin() as conn:
                processes.confirm(conn, self.me)
                self.ended += attempts.report(conn, reports)
            for key in keys:
                del self.held[key]
