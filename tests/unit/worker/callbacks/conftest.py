"""A supervisor of callbacks; its database, its processes and its time are the test's."""

import os
import selectors
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.exc import OperationalError

from headway.db.execution.callback_claims import CallbackKey, CallbackReport, ClaimedCallback
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.spec import DagSpec, TimetableSpec
from headway.domain.interval import DataInterval
from headway.domain.states import CallbackState, RunType
from headway.runtime.daemon.loop import Pace
from headway.runtime.forker import Exit
from headway.runtime.logs.lines import LogSource
from headway.runtime.settings.worker import WorkerSettings
from headway.sdk.harness.execution import Result
from headway.testing.processes.at_once import AtOnce
from headway.testing.time.clock import FakeClock
from headway_worker.callbacks.callback import CallbackKind
from headway_worker.database.callback_database import CallbackWork
from headway_worker.logs.file import LogFile, LogLimits
from headway_worker.protocol.supply import Code
from headway_worker.supervision.execution import Execution
from headway_worker.supervision.lease_keeper import LeaseKeeper, Renewal
from headway_worker.supervision.scratch import ScratchFolders
from headway_worker.supervision.supervisor import Supervisor
from headway_worker.supervision.worker_host import WorkerHost

NIGHT = datetime(2013, 1, 1, tzinfo=UTC)
SLOTS = 2


def work(number: int) -> CallbackWork:
    claimed = ClaimedCallback(
        key=CallbackKey(number, UUID(int=number)),
        tries=1,
        event=CallbackEvent.FAILURE,
        reason="failed",
        cause=None,
        task_id="t",
        map_index=-1,
        attempt=1,
        dag_run_id=1,
        dag_id="d",
        run_id="r",
        run_type=RunType.MANUAL,
        conf={},
        version_id=1,
        manifest_hash="",
        interval=DataInterval.exact(NIGHT),
        run_after=NIGHT,
        run_started_at=NIGHT,
    )
    timetable = TimetableSpec(name="null")
    dag = DagSpec(dag_id="d", relative_path="d.py", timetable=timetable, timezone="UTC", tasks=())
    return CallbackWork(claimed, dag, Code(Path(), {}))


@dataclass
class Desk:
    """A database that has callbacks, and whose every answer is the test's."""

    waiting: list[CallbackWork] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    renewed: list[CallbackKey] = field(default_factory=list)
    lost: set[CallbackKey] = field(default_factory=set)
    told: list[CallbackReport] = field(default_factory=list)
    looks: int = 0
    renewals: int = 0
    away: bool = False
    returns: bool = False
    takes: Callable[[], object] = lambda: None
    slots: int = SLOTS

    def any_queued(self) -> bool:
        self.looks += 1
        return bool(self.waiting)

    def claim(self, free_slots: int) -> list[CallbackWork]:
        self.asked.append(free_slots)
        self.takes()
        claimed, self.waiting = self.waiting[:free_slots], self.waiting[free_slots:]
        return claimed

    def renew(self, keys: list[CallbackKey]) -> Renewal[CallbackKey]:
        self.renewals += 1
        self.renewed += keys
        return Renewal({key: False for key in keys if key not in self.lost})

    def report(self, reports: list[CallbackReport]) -> None:
        if self.away:
            raise OperationalError("UPDATE", {}, Exception("connection refused"))
        self.told += reports
        if self.returns:
            self.waiting += [
                work(report.key.id) for report in reports if report.state is CallbackState.QUEUED
            ]


class Child:
    """A child process that ends when the test says so, and tells what was done to it."""

    def __init__(self) -> None:
        self.channel, self.far_end = socket.socketpair()
        self.channel.setblocking(False)
        self.exit: Exit | None = None
        self.orders: list[str] = []
        self.until = 0.0

    def fileno(self) -> int:
        return self.far_end.fileno()

    @property
    def is_gone(self) -> bool:
        return self.exit is not None and self.exit.lost is None

    def poll(self) -> Exit | None:
        return self.exit

    def stop(self, _grace: float) -> None:
        self.orders.append("stop")

    def kill(self) -> None:
        self.orders.append("kill")

    def hold_until(self, moment: float) -> None:
        self.until = moment

    def close(self) -> None:
        self.channel.close()
        self.far_end.close()


class Town:
    """A supervisor with all that it works with, without threads and in a time of its own.

    A callback is named by its number, which is its token as well.
    """

    def __init__(self, folder: Path, settings: WorkerSettings) -> None:
        self.folder, self.settings = folder, settings
        self.clock, self.desk = FakeClock(), Desk()
        self.children: dict[int, Child] = {}
        self.refusal: Exception | None = None
        self.is_ready = True
        host = WorkerHost(
            settings,
            self.clock,
            Pace(idle=1),
            selectors.DefaultSelector(),
            lambda: None,
            lambda _name: AtOnce(),
        )
        desk: Any = self.desk
        launcher: Any = self
        leases: LeaseKeeper[CallbackKey] = LeaseKeeper(
            desk, settings, self.clock, host.background("renew callbacks")
        )
        self.kind = CallbackKind(desk, leases, launcher, host)
        self.supervisor: Supervisor[CallbackKey, Any] = Supervisor(self.kind, host)

    @property
    def forkers(self) -> "Town":
        return self

    def ready(self) -> bool:
        return self.is_ready

    def launch(self, its: CallbackWork, until: float) -> Execution[CallbackWork]:
        if self.refusal is not None:
            raise self.refusal
        number = its.claimed.key.id
        self.children[number] = Child()
        self.children[number].until = until
        child: Any = self.children[number]
        log = LogFile(self.folder, Path(f"{number}.log"), LogLimits(2**20, 2**20), self.clock)
        reading, writing = os.pipe()
        os.close(writing)
        scratch = ScratchFolders(self.folder).take(f"{number}-1")
        made = Execution(its, child, log, {reading: LogSource.STDOUT}, scratch)
        made.deadline = self.clock.monotonic() + self.settings.callback_timeout
        return made

    def until(
        self, look: Callable[[], object], *, seconds: float = 0.01, draining: bool = False
    ) -> None:
        """Step, with so many seconds between steps, until that is true."""
        for _ in range(1000):
            self.clock.advance(seconds)
            self.supervisor.step(draining=draining)
            if look():
                return
        raise AssertionError("It never came true.")

    def steps(self, number: int, *, seconds: float = 1.0) -> None:
        """Step so often."""
        for _ in range(number):
            self.clock.advance(seconds)
            self.supervisor.step(draining=False)

    def queue(self, *numbers: int) -> None:
        """Have these wait to be claimed."""
        self.desk.waiting += [work(number) for number in numbers]

    def begun(self, *numbers: int) -> None:
        """Wait until these are claimed and begun."""
        self.queue(*numbers)
        self.until(lambda: set(numbers) <= self.children.keys(), seconds=1)

    def end(self, number: int, said: Result | None, exited: Exit | None = None) -> None:
        child = self.children[number]
        held = self.supervisor.held[CallbackKey(number, UUID(int=number))]
        assert held.execution is not None
        held.execution.result = said
        child.far_end.shutdown(socket.SHUT_RDWR)
        child.exit = exited or Exit(code=0)


@pytest.fixture
def town(tmp_path: Path, worker_settings: WorkerSettings) -> Iterator[Town]:
    settings = worker_settings.model_copy(
        update={"callback_slots": SLOTS, "callback_timeout": 60.0}
    )
    town = Town(tmp_path, settings)
    yield town
    town.supervisor.kill()
    town.supervisor.close()
