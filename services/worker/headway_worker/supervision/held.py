"""One piece of work that a worker has claimed, until its report is committed."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from enum import StrEnum
from typing import Any, Generic, TypeVar

from headway_worker.supervision.execution import Execution
from headway_worker.supervision.reporter import Keyed

K = TypeVar("K", bound=Hashable)


class WorkState(StrEnum):
    """Where a piece of claimed work is.

    It holds a slot from CLAIMED to ENDING.  Its lease is renewed in each state but DROPPED.
    """

    CLAIMED = "claimed"
    WAITING = "waiting"  # for the fork server that it needs
    RUNNING = "running"  # in a child process
    ENDING = "ending"  # the child has exited; what it left outside the worker is being ended
    REPORTING = "reporting"  # until the database has committed the report
    DROPPED = "dropped"  # the lease is over: another worker may have it, so nothing is reported


class Held(ABC, Generic[K]):
    """One piece of claimed work.  The supervisor calls `step` until `state` is REPORTING.

    `execution` is there while a child runs, and until its log is closed.  `report` is there from
    REPORTING on.
    """

    def __init__(self) -> None:
        self.state = WorkState.CLAIMED
        self.execution: Execution[Any] | None = None
        self.report: Keyed[K] | None = None

    @property
    @abstractmethod
    def key(self) -> K:
        """What the lease is on."""

    @abstractmethod
    def step(self) -> None:
        """Go on as far as that is possible without waiting."""

    @abstractmethod
    def hand_back(self) -> None:
        """Stop it, so that another worker may begin it again.  A second call changes nothing."""

    @property
    def holds_slot(self) -> bool:
        """Whether it takes one of the slots."""
        return self.state not in (WorkState.REPORTING, WorkState.DROPPED)

    def send(self, report: Keyed[K]) -> None:
        """Have the supervisor report it."""
        self.report, self.state = report, WorkState.REPORTING
