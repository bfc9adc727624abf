"""What would be admitted under other limits, beside what is admitted under those in force."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from headway.decide.explain.ready import WaitingTask
from headway.decide.explain.snapshot import ProcessRow
from headway.decide.scheduling.admit import READ_AHEAD, Admission, Budget, Limit, admit

_SCHEDULERS: Final = Budget(Limit.SCHEDULER, ())


@dataclass(frozen=True, slots=True)
class Changes:
    """Other limits: slots by pool, max_active_tasks by DAG, slots of workers by queue.

    `parallelism` is that of every scheduler.
    """

    pools: Mapping[str, int] = field(default_factory=dict)
    dags: Mapping[str, int] = field(default_factory=dict)
    queues: Mapping[str, int] = field(default_factory=dict)
    parallelism: int | None = None

    def limits(self) -> dict[Budget, int]:
        """Return how much the changed budgets would have in all, but for the schedulers'."""
        pools = {Budget(Limit.POOL, (name,)): slots for name, slots in self.pools.items()}
        dags = {Budget(Limit.DAG, (name,)): most for name, most in self.dags.items()}
        queues = {
            Budget(Limit.QUEUE, (name,)): READ_AHEAD * slots for name, slots in self.queues.items()
        }
        idle = {Budget(Limit.SPARE, (name,)): slots for name, slots in self.queues.items()}
        return pools | dags | queues | idle


@dataclass(frozen=True, slots=True)
class QueueOrder:
    """What waits, in order, with the budgets: how much each has, and how much of it is in use.

    `schedulers` are those that are alive.
    """

    waiting: Sequence[WaitingTask]
    limits: Mapping[Budget, int]
    in_use: Mapping[Budget, int]
    schedulers: Sequence[ProcessRow]


@dataclass(frozen=True, slots=True)
class Simulation:
    """What is admitted under the limits in force, and under the changed ones."""

    waiting: Sequence[WaitingTask]
    now: Admission
    then: Admission

    def gained(self) -> list[WaitingTask]:
        """Return who is admitted under the changed limits alone."""
        return self._those(set(self.then.task_ids) - set(self.now.task_ids))

    def lost(self) -> list[WaitingTask]:
        """Return who is admitted under the limits in force alone."""
        return self._those(set(self.now.task_ids) - set(self.then.task_ids))

    def refusals(self) -> dict[Budget, tuple[int, int]]:
        """Return how many each budget refuses, now and then; the most first."""
        now, then = Counter(self.now.refused.values()), Counter(self.then.refused.values())
        found = {budget: (now[budget], then[budget]) for budget in now | then}
        return dict(sorted(found.items(), key=lambda item: (-sum(item[1]), str(item[0]))))

    def owner(self, budget: Budget) -> str:
        """Return what to call whose budget it is; a run by its DAG and run id."""
        first, *rest = budget.owner or ("",)
        for each in self.waiting:
            if each.task.dag_run_id == first:
                return " ".join([each.task.dag_id, each.run_id, *map(str, rest)])
        return " ".join(map(str, budget.owner))

    def _those(self, ids: set[int]) -> list[WaitingTask]:
        return [each for each in self.waiting if each.task.id in ids]


def simulate(order: QueueOrder, changes: Changes) -> Simulation:
    """Admit who waits twice: under the limits in force, and under the changed ones.

    It is what all schedulers together would do, in as many passes as it takes.
    """
    tasks = [each.task for each in order.waiting]
    now = admit(tasks, _free(order, {}, None))
    return Simulation(
        order.waiting, now, admit(tasks, _free(order, changes.limits(), changes.parallelism))
    )


def _free(
    order: QueueOrder, changed: Mapping[Budget, int], parallelism: int | None
) -> dict[Budget, int]:
    limits = {**order.limits, **changed}
    free = {budget: limit - order.in_use.get(budget, 0) for budget, limit in limits.items()}
    free[_SCHEDULERS] = sum(
        max((process.slots if parallelism is None else parallelism) - process.busy, 0)
        for process in order.schedulers
    )
    return free
