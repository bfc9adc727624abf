"""What a service answers to probes: whether it is alive, and whether it is ready."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import Clock
from headway.runtime.health.check import HealthCheck
from headway.runtime.health.looking import PATIENCE
from headway.runtime.health.page import MorePages
from headway.runtime.health.progress import LoopProgress


class ServicePhase(StrEnum):
    """What a service is at, until it is told to stop."""

    WAITING = "waiting for the database"
    STARTING = "starting"
    RUNNING = "running"
    DRAINING = "draining"


MOMENT: Final = 0.5
"""Seconds that /healthz waits for the database, where it asks at all."""


def _unknown(_patience: float) -> list[HealthCheck]:
    return []


@dataclass(slots=True)
class Health:
    """Whether a process is alive and ready; its threads tell, those of probes ask.

    `database` is asked by probes, and returns within the seconds that it is given; its first check
    tells whether the database answers.  `others` are further checks of readiness, each of which
    must answer at once.  `is_shown` tells whether there is a port to ask at.  `more` answers what
    is asked for there beside probes.
    """

    bell: Bell
    clock: Clock
    database: Callable[[float], list[HealthCheck]] = _unknown
    others: list[Callable[[], HealthCheck]] = field(default_factory=list)
    phase: ServicePhase = ServicePhase.WAITING
    is_shown: bool = False
    more: MorePages | None = None
    progress: LoopProgress = field(init=False)

    def __post_init__(self) -> None:
        self.progress = LoopProgress(self.clock)

    def begin(self) -> None:
        """Say that the process is registered, and makes ready for its loop."""
        self.phase = ServicePhase.STARTING
        self.progress.move()

    def moved(self, rest: float = 0.0) -> None:
        """Say that the loop takes a step, or rests for so many seconds at the most."""
        if self.phase is ServicePhase.STARTING:
            self.phase = ServicePhase.RUNNING
        self.progress.move(rest)

    def alive(self) -> list[HealthCheck]:
        """Tell whether the loop makes steps.

        One that makes none while the database does not answer may be waiting for it.  A new
        process would wait as well, so the old one is left alone.
        """
        loop = self.progress.check()
        if loop.ok or all(check.ok for check in self.database(MOMENT)[:1]):
            return [loop]
        return [replace(loop, ok=True, found=f"{loop.found}; the database does not answer")]

    def ready(self) -> list[HealthCheck]:
        """Tell whether the process does what it is there for."""
        looks = [look() for look in self.others]
        return [self._service(), self.progress.check(), *looks, *self.database(PATIENCE)]

    def _service(self) -> HealthCheck:
        phase = "stopping" if self.bell.stopped.is_set() else str(self.phase)
        return HealthCheck("service", phase == ServicePhase.RUNNING, phase)
