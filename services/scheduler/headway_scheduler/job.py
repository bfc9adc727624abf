"""The scheduler's job: its passes, again and again."""

from dataclasses import dataclass, field
from random import Random

from sqlalchemy import Engine

from headway.db import processes
from headway.db.processes import Identity
from headway.runtime.clock import Clock
from headway.runtime.settings import SchedulerSettings
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.queue_tasks import pools_in_demand, queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_retries, schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.specs import Specs


@dataclass(slots=True)
class SchedulerJob:
    """One scheduler replica.  It keeps nothing that another one would miss."""

    engine: Engine
    me: Identity
    settings: SchedulerSettings
    clock: Clock
    random: Random = field(default_factory=Random)
    specs: Specs = field(default_factory=Specs)
    _next_beat: float = 0.0
    _next_adoption: float = 0.0

    def step(self) -> bool:
        """Run every pass once; return whether any found work.

        The heartbeat is part of the loop, so that a loop that hangs counts as dead.
        """
        self._beat()
        found = self._adopt()
        found += create_runs(
            self.engine,
            self.me,
            self.specs,
            self.clock.now(),
            self.settings.max_dagruns_to_create_per_loop,
        )
        runs = self.settings.max_dagruns_per_loop_to_schedule
        found += start_runs(self.engine, self.me, self.clock.now(), runs)
        found += schedule_tasks(self.engine, self.me, self.specs, self.clock.now(), runs)
        found += self._queue()
        return found > 0

    def _queue(self) -> int:
        tasks = self.settings.max_tis_per_query
        found = schedule_retries(self.engine, self.me, self.clock.now(), tasks)
        pools = pools_in_demand(self.engine)
        # Each replica in an order of its own: they work side by side on different pools.
        self.random.shuffle(pools)
        for pool in pools:
            admission = queue_tasks(self.engine, self.me, pool, self.clock.now(), tasks)
            found += len(admission.task_ids)
        return found

    def _beat(self) -> None:
        if self.clock.monotonic() >= self._next_beat:
            with self.engine.begin() as conn:
                processes.beat(conn, self.me)
            self._next_beat = self.clock.monotonic() + self.settings.heartbeat_interval

    def _adopt(self) -> int:
        if self.clock.monotonic() < self._next_adoption:
            return 0
        self._next_adoption = self.clock.monotonic() + self.settings.orphaned_tasks_check_interval
        return adopt(
            self.engine,
            self.me,
            self.settings.scheduler_health_check_threshold,
            self.settings.lease_grace,
        )
