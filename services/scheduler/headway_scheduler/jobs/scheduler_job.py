"""The scheduler's job: every run that nobody has reserved, and what the dead leave."""

from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import Connection

from headway.db.core.notices import STOP
from headway.db.scheduling import schedulers
from headway.db.scheduling.demand import Demand
from headway.runtime.daemon.loop import Found
from headway_scheduler.jobs.dag_run_job import DagRunJob
from headway_scheduler.jobs.housekeeping import Housekeeping
from headway_scheduler.jobs.portion import PortionSize
from headway_scheduler.passes.answer_requests import answer_requests
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.timing import timed


@dataclass
class SchedulerJob(DagRunJob):
    """One scheduler replica: it creates runs as they fall due, and collects all there are."""

    housekeeping: Housekeeping = field(init=False)
    _portion: PortionSize = field(default_factory=PortionSize)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.housekeeping = Housekeeping(self.replica, self.clock)

    def step(self) -> Found:
        """Do once what there is to do, chores included; return what there was."""
        self.heartbeat()
        if self.clock.is_out_of_bounds:
            return Found.NOTHING
        chores = self.housekeeping.step()
        found = super().step()
        return Found.MORE if chores else found

    def collect(self, wanted: Demand) -> Counter[str]:
        """Create the runs that are due, and those that tasks ask for."""
        collected: Counter[str] = Counter()
        if wanted.requested:
            with timed("answer_requests", self.clock):
                collected["answered"] = answer_requests(self.replica, self.clock.now())
        if wanted.due:
            collected["planned"] = self._create_runs()
        return collected

    def _create_runs(self) -> int:
        now, began, portion = self.clock.now(), self.clock.monotonic(), self._portion.size
        with timed("create_runs", self.clock):
            planned = create_runs(self.replica, now, cancelled=self._cancelled, at_most=portion)
        self._portion.took(self.clock.monotonic() - began)
        return planned

    def say_alive(self, conn: Connection) -> None:
        """Beat, and extend the uptime: what falls due in a break of it was missed.

        A scheduler that schedules nothing, because of its clock, does not extend it.
        """
        super().say_alive(conn)
        if not self.clock.is_out_of_bounds:
            schedulers.extend_uptime(conn, self.replica.settings.outage_threshold)

    def _cancelled(self, _runs: int) -> None:
        self.notifier.notify(STOP)
