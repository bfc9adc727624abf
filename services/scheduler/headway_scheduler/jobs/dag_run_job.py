"""What every job that has DAG runs done has in common."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Final

from sqlalchemy import Connection

from headway.db.core import processes
from headway.db.core.engine import reader
from headway.db.core.notices import CALLBACK, PARSER, SCHEDULER, STOP, WORKER, NoticeSender
from headway.db.scheduling import demand, scope
from headway.db.scheduling.demand import Demand
from headway.metrics.scheduler import CRITICAL_SECTION_WAITS
from headway.runtime.daemon.database_clock import DatabaseClock
from headway.runtime.daemon.loop import Found
from headway_scheduler.jobs.figures import Figures
from headway_scheduler.jobs.turns import Turns
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_retries, schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.passes.time_out import time_out
from headway_scheduler.passes.timing import timed
from headway_scheduler.replica.replica import Replica

UNATTENDED: Final = 0.02
"""Seconds of other passes after which ready tasks are queued before the next pass begins."""


@dataclass
class DagRunJob:
    """A job: it collects runs and processes them, step by step, until they have ended.

    Subclasses say which runs: all that there are, or those submitted to it.  Any number of
    jobs work side by side; what one has reserved no other touches.  A job keeps
    nothing that another one would miss.
    """

    replica: Replica
    clock: DatabaseClock
    notifier: NoticeSender
    random: Random = field(default_factory=Random)
    figures: Figures = field(init=False)
    _next_beat: float = 0.0
    _turns: Turns = field(init=False)
    _queued_at: float = 0.0

    def __post_init__(self) -> None:
        self.figures = Figures(self.clock)
        self._turns = Turns(self.clock, self.replica.settings.max_tis_per_query)

    def step(self) -> Found:
        """Do once what there is to do; return what there was.

        The heartbeat is part of the loop, so that a loop that hangs counts as dead.
        """
        self.heartbeat()
        if self.clock.is_out_of_bounds:
            return Found.NOTHING
        wanted = self._look()
        self._queued_at = self.clock.monotonic()
        collected = self.collect(wanted)
        done, more = self.process(wanted)
        if not self.figures.add(collected + done):
            return Found.NOTHING  # or another job has it
        return Found.MORE if more or collected.total() > 0 else Found.ALL

    def submit(self, runs: Sequence[int]) -> list[int]:
        """Reserve unfinished runs for this job; return those that no other job has."""
        with self.replica.engine.begin() as conn:
            processes.confirm(conn, self.replica.me)
            return scope.lock(conn, runs, self.replica.me.id)

    def collect(self, wanted: Demand) -> Counter[str]:  # noqa: ARG002
        """Have more runs to process; what was submitted is all there is, unless a job says more."""
        return Counter()

    def process(self, wanted: Demand) -> tuple[Counter[str], bool]:
        """Start runs, settle what has changed in them, queue the tasks that are ready.

        Return what each pass has done, and whether there may be more to do at once.
        """
        now, replica, more = self.clock.now, self.replica, False
        done: Counter[str] = Counter()
        done["queued"] += self._keep_slots_busy(wanted)
        if wanted.overdue:
            with timed("time_out", self.clock):
                done["timed_out"] = time_out(replica, now())
            if done["timed_out"]:
                self.notifier.notify(STOP)
        if wanted.queued:
            with timed("start_runs", self.clock):
                done["started"] = start_runs(
                    replica, now(), parses_requested=partial(self._parses_requested, done)
                )
            done["queued"] += self._keep_slots_busy(wanted)
        filled: frozenset[str] = frozenset()
        if wanted.woken or done["started"]:
            with timed("schedule_tasks", self.clock):
                done["settled"], filled, more = schedule_tasks(
                    replica, now(), called=partial(self.notifier.notify, CALLBACK)
                )
        if wanted.retries:
            with timed("schedule_retries", self.clock):
                done["retried"] = schedule_retries(replica, now())
        if wanted.jobs > 1 and self._has_more(done):
            self.notifier.notify(SCHEDULER)
        pools = filled.union(wanted.pools)
        if done["started"] or done["retried"] or len(filled) > 1:
            pools = frozenset(self._look().pools)
        told = done["settled"] + done["queued"]  # of these the passes themselves say what is left
        more = more or done.total() > told
        queued, unqueued = self._queue(sorted(pools), wanted.jobs)
        done["queued"] += queued
        return done, more or unqueued

    def heartbeat(self) -> None:
        """Say that this job is alive, when it is time to; FencedError if it was declared dead."""
        if self.clock.monotonic() >= self._next_beat:
            with self.replica.engine.begin() as conn:
                self.say_alive(conn)
            interval = self.replica.settings.heartbeat_interval
            self._next_beat = self.clock.monotonic() + interval

    def say_alive(self, conn: Connection) -> None:
        """Beat, and compare the clock of this process with the database's."""
        before = self.clock.own.now()
        theirs = processes.beat(conn, self.replica.me, self.clock.skew)
        self.clock.compare(before, theirs)

    def _parses_requested(self, done: Counter[str], runs: int) -> None:
        done["parses_requested"] = runs
        self.notifier.notify(PARSER)

    def _has_more(self, done: Counter[str]) -> bool:
        """Tell whether a pass has done as much as it may at once, so that others can help."""
        most = self.replica.settings.max_dagruns_per_loop_to_schedule
        return done["started"] >= most or done["settled"] >= most

    def _keep_slots_busy(self, wanted: Demand) -> int:
        """Queue tasks that were ready when this step began, if its passes have taken long.

        What is queued lasts the workers for some ten milliseconds: in a storm of runs to
        create and to start, the slots would be empty until the end of the step.  Return how many
        were queued; whether there may be more in these pools the end of the step tells.
        """
        if not wanted.pools or self.clock.monotonic() <= self._queued_at + UNATTENDED:
            return 0
        queued, _ = self._queue(list(wanted.pools), wanted.jobs)
        return queued

    def _queue(self, pools: list[str], jobs: int) -> tuple[int, bool]:
        """Queue the tasks of these pools; return how many, and whether there may be more."""
        # Each replica in an order of its own: they work side by side on different pools.
        self.random.shuffle(pools)
        mine = self._turns.mine(pools)
        queued, more = 0, len(mine) < len(pools)
        for pool in mine:
            with timed("queue_tasks", self.clock):
                batch = queue_tasks(self.replica, pool, self.clock.now())
            queued, more = queued + len(batch.task_ids), more or batch.more
            if self._turns.had(pool, len(batch.task_ids), jobs):
                CRITICAL_SECTION_WAITS.inc(pool)
                self.notifier.notify(SCHEDULER)
        if queued:
            self.notifier.notify(WORKER)
        self._queued_at = self.clock.monotonic()
        return queued, more

    def _look(self) -> Demand:
        with reader(self.replica.engine).connect() as conn:
            wanted = demand.look(conn, self.clock.given(), self.replica.specs.unreadable)
        self.clock.took(wanted.now)
        return wanted
