"""What is told of the last run that succeeded: to tasks, and to callbacks."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from headway.domain.interval import DataInterval, PriorRun
from headway.testing.time.clock import FakeClock
from headway_worker.attempts.questions import Questions
from headway_worker.database.callback_database import CallbackWork
from headway_worker.database.worker_database import AttemptWork
from headway_worker.protocol.order import prior_from_frame

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)
PRIOR = PriorRun(
    DataInterval(NOON, NOON.replace(day=2)), NOON.replace(day=3), NOON.replace(day=3, hour=13)
)


@dataclass
class Records:
    """Stands in for the worker database, which is away at first."""

    prior: PriorRun | None
    away: int = 1
    asked: list[object] = field(default_factory=list)

    def last_success(self, claimed: object) -> PriorRun | None:
        self.asked.append(claimed)
        if self.away:
            self.away -= 1
            raise OperationalError("SELECT 1", {}, Exception("connection refused"))
        return self.prior


@pytest.mark.parametrize("prior", [PRIOR, None])
@pytest.mark.parametrize("kind", [AttemptWork, CallbackWork])
def test_who_asks_is_told(kind: type, prior: PriorRun | None, clock: FakeClock) -> None:
    claimed: Any = SimpleNamespace(dag_run_id=1)
    work: Any = object.__new__(kind)
    object.__setattr__(work, "claimed", claimed)
    database: Any = Records(prior)
    nobody: Any = None

    answer = Questions(database, nobody, nobody, clock, Event()).answer(
        work, {"ask": "last_success"}
    )

    assert prior_from_frame(answer.frame) == prior
    assert database.asked == [claimed, claimed]
