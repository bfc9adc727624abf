"""A worker that lets its attempts finish before it ends."""

from typing import Any

from headway.runtime.daemon.bell import Bell
from headway.runtime.health import Health
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.time.clock import FakeClock
from headway_worker.command import _drain


class Finishing:
    """A worker that has finished after some steps, each of which takes a minute."""

    def __init__(self, steps: int, health: Health, clock: FakeClock) -> None:
        self.left, self.health, self.clock = steps, health, clock
        self.alive: list[bool] = []
        self.handed_back_at: list[float] = []

    def drain(self) -> bool:
        return self.left == 0

    def step(self) -> None:
        self.left -= 1
        self.clock.advance(60)
        self.alive.append(self.health.alive()[0].ok)

    def hand_back(self) -> None:
        self.handed_back_at.append(self.clock.monotonic())


def test_it_is_alive_for_as_long_as_it_drains(
    worker_settings: WorkerSettings, clock: FakeClock
) -> None:
    health = Health(Bell(), clock)
    worker: Any = Finishing(10, health, clock)

    _drain(worker, worker_settings.model_copy(update={"drain_grace": 3600.0}), health)

    assert worker.alive == [True] * 10


def test_it_hands_back_what_has_not_finished_as_soon_as_the_grace_is_over(
    worker_settings: WorkerSettings, clock: FakeClock
) -> None:
    health = Health(Bell(), clock)
    worker: Any = Finishing(3, health, clock)

    _drain(worker, worker_settings.model_copy(update={"drain_grace": 120.0}), health)

    assert worker.handed_back_at == [120.0]
