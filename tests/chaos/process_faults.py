"""Faults of processes: killed, or stopped for longer than a lease and continued."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Final, TypeAlias

import psutil
from sqlalchemy import text
from tests.chaos.fault_series import Steps, Timer
from tests.chaos.scene import LEASE, LEASE_GRACE, THRESHOLD, Scene
from tests.chaos.services import Service

from headway.testing.services.machine import stands_still, thread_state

SomeService: TypeAlias = Generator[None, None, Service | None]

PROCESS: Final = text("""
    SELECT id FROM process WHERE kind = :kind AND pid = :pid ORDER BY id DESC LIMIT 1
""")
DECLARED_DEAD: Final = text("SELECT ended_at IS NOT NULL FROM process WHERE id = :id")
LOST: Final = text("SELECT count(*) FROM task_attempt WHERE process_id = :id AND outcome = 'lost'")
HELD: Final = text("SELECT count(*) FROM task_attempt WHERE process_id = :id AND ended_at IS NULL")

STALL: Final = LEASE + LEASE_GRACE + 8.0
"""Seconds that a stopped process stays stopped: its leases run out, and others take over."""

_GONE_WITHIN: Final = 10.0
_FOUND_WITHIN: Final = 10.0


@dataclass(frozen=True, slots=True)
class ProcessFaults:
    """Kill and stop processes of the scene."""

    scene: Scene
    timer: Timer
    random: Random

    def kill(self, kind: str) -> Steps:
        """Kill a service."""
        service = yield from self._some(kind)
        if service is None:
            return False
        service.harmed = True
        return (yield from self._kill(service.pid))

    def kill_below(self, find: Callable[[Service], Sequence[psutil.Process]]) -> Steps:
        """Kill a process below a worker."""
        found: list[psutil.Process] = []

        def look() -> bool:
            workers = self.scene.fleet.of("worker")
            self.random.shuffle(workers)
            found[:] = [process for worker in workers for process in find(worker)]
            return bool(found)

        if not (yield from self.timer.until(look, _FOUND_WITHIN)):
            return False
        return (yield from self._kill(self.random.choice(found).pid))

    def stall(self, kind: str) -> Steps:
        """Stop a service until a scheduler declares it dead, and continue it."""
        service = yield from self._some(kind)
        if service is None:
            return False
        number = self.scene.scalar(PROCESS, kind=service.kind, pid=service.pid)
        if number is None:
            return False
        with _stopped(service.pid) as stopped:
            dead = yield from self.timer.until(
                lambda: bool(self.scene.scalar(DECLARED_DEAD, id=number)), 4 * THRESHOLD
            )
            yield from self.timer.wait(self.random.uniform(0, 4))
            return dead and stopped()

    def stall_supervisor(self) -> Steps:
        """Stop a worker's supervisor alone until its leases are taken, and continue it."""
        worker = yield from self._busy_worker()
        if worker is None:
            return False
        number = self.scene.scalar(PROCESS, kind=worker.kind, pid=worker.pid)
        lost = self.scene.scalar(LOST, id=number)
        if lost is None:
            return False
        with _stopped(worker.pid) as stopped:
            yield from self.timer.wait(STALL)
            taken = yield from self.timer.until(
                lambda: (self.scene.scalar(LOST, id=number) or 0) > lost, STALL
            )
            return taken and stopped()

    def stall_below(self, find: Callable[[Service], Sequence[psutil.Process]]) -> Steps:
        """Stop a process below a busy worker for longer than a lease, and continue it.

        The effect is seen if the process stood still to the end, or was killed for that.
        """
        worker = yield from self._busy_worker()
        if worker is None:
            return False
        found = list(find(worker))
        if not found:
            return False
        pid = self.random.choice(found).pid
        with _stopped(pid) as stopped:
            hit = yield from self.timer.until(lambda: stopped() or not _lives(pid), _FOUND_WITHIN)
            yield from self.timer.wait(STALL)
            return hit and (stopped() or not _lives(pid))

    def _some(self, kind: str) -> SomeService:
        found: list[Service] = []

        def look() -> bool:
            found[:] = self.scene.fleet.of(kind)
            return bool(found)

        seen = yield from self.timer.until(look, _FOUND_WITHIN)
        return self.random.choice(found) if seen else None

    def _busy_worker(self) -> SomeService:
        """Return a worker that holds attempts."""
        found: list[Service] = []

        def look() -> bool:
            found[:] = [service for service in self.scene.fleet.of("worker") if self._held(service)]
            return bool(found)

        seen = yield from self.timer.until(look, _FOUND_WITHIN)
        return self.random.choice(found) if seen else None

    def _held(self, worker: Service) -> int:
        number = self.scene.scalar(PROCESS, kind="worker", pid=worker.pid)
        return (self.scene.scalar(HELD, id=number) or 0) if number is not None else 0

    def _kill(self, pid: int) -> Steps:
        try:
            os.kill(pid, SIGKILL)
        except ProcessLookupError:
            return False
        return (yield from self.timer.until(lambda: not _lives(pid), _GONE_WITHIN))


def forkers(worker: Service) -> list[psutil.Process]:
    """Return the fork servers of a worker."""
    return [process for process in worker.forkers() if _parent(process) == worker.pid]


def nannies(worker: Service) -> list[psutil.Process]:
    """Return the nannies of a worker that have a child."""
    return [
        nanny for process in forkers(worker) for nanny in _children(process) if _children(nanny)
    ]


def attempts(worker: Service) -> list[psutil.Process]:
    """Return the processes in which the tasks of a worker run."""
    return [child for nanny in nannies(worker) for child in _children(nanny)]


def spark_servers(worker: Service) -> list[psutil.Process]:
    """Return the Java virtual machines of a worker's Spark servers."""
    return [process for process in worker.below() if _name(process) == "java"]


def _children(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return process.children()
    return []


def _parent(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess):
        return process.ppid()
    return 0


def _name(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess):
        return process.name()
    return ""


@contextmanager
def _stopped(pid: int) -> Iterator[Callable[[], bool]]:
    """Stop a process; give a function that tells whether it stands still; continue it."""
    with suppress(ProcessLookupError):
        os.kill(pid, SIGSTOP)
    try:
        yield lambda: stands_still(pid)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, SIGCONT)


def _lives(pid: int) -> bool:
    return thread_state(Path(f"/proc/{pid}/stat")) not in ("", "Z", "X")
