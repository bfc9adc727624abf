"""The scheduler's job: every run that nobody has reserved, and what the dead leave."""

from collections import Counter
from dataclasses import dataclass, field

from headway.db.demand import Demand
from headway_scheduler.dag_run_job import DagRunJob
from headway_scheduler.housekeeping import Housekeeping
from headway_scheduler.passes.create_runs import create_runs


@dataclass
class SchedulerJob(DagRunJob):
    """One scheduler replica: it creates runs as they fall due, and collects all there are."""

    housekeeping: Housekeeping = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.housekeeping = Housekeeping(self.replica, self.clock)

    def step(self) -> bool:
        """Do once what there is to do, chores included; return whether there was anything."""
        self.heartbeat()
        chores = self.housekeeping.step()
        return super().step() or chores

    def collect(self, wanted: Demand) -> Counter[str]:
        """Create the runs that are due."""
        if not wanted.due:
            return Counter()
        return Counter(planned=create_runs(self.replica, self.clock.now()))
