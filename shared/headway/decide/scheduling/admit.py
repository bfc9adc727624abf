"""Which of the tasks that are ready may be queued: every limit in one place.

A limit is a budget that tasks draw on: so many slots of a pool, so many places in a DAG.
A task is admitted when every budget that it draws on has enough left.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

READ_AHEAD: Final = 3
"""How many times the slots of its workers a queue may have queued and running.

So many run, so many wait for their slots, and so many have ended while their reports are under way.
"""


class Limit(StrEnum):
    """What may refuse a task that is ready; the value is what it is counted and shown as."""

    POOL = "pool"
    DAG = "max_active_tasks"
    RUN = "max_active_tasks_per_dagrun"
    TASK = "max_active_tis_per_dag"
    TASK_IN_RUN = "max_active_tis_per_dagrun"
    QUEUE = "queue"
    SCHEDULER = "parallelism"
    BACKFILL = "weight"
    SPARE = "idle_slots"


class Budget(NamedTuple):
    """One budget: the limit, and whose it is (a pool's name, a DAG's id, a run's id, …)."""

    limit: Limit
    owner: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ReadyTask:
    """A scheduled task instance and its queue position: the lower the rank, the sooner.

    A limit that is None does not apply to it.  A task of a backfill has a `priority_class` above 0.
    """

    id: int
    dag_id: str
    dag_run_id: int
    task_id: str
    pool: str
    pool_slots: int
    queue: str
    rank: float
    priority_class: int = 0
    backfill_id: int | None = None
    per_run: int | None = None
    tis_per_dag: int | None = None
    tis_per_dagrun: int | None = None

    def draws(self) -> Iterator[tuple[Budget, int]]:
        """Yield the budgets that it draws on, the widest first, and how much it takes of each."""
        yield Budget(Limit.POOL, (self.pool,)), self.pool_slots
        yield Budget(Limit.QUEUE, (self.queue,)), 1
        yield Budget(Limit.SCHEDULER, ()), 1
        yield Budget(Limit.DAG, (self.dag_id,)), 1
        if self.per_run is not None:
            yield Budget(Limit.RUN, (self.dag_run_id,)), 1
        if self.tis_per_dag is not None:
            yield Budget(Limit.TASK, (self.dag_id, self.task_id)), 1
        if self.tis_per_dagrun is not None:
            yield Budget(Limit.TASK_IN_RUN, (self.dag_run_id, self.task_id)), 1
        if share := self.share():
            yield share, self.pool_slots
            yield self.slot(), 1

    def share(self) -> Budget | None:
        """Return the budget of its backfill in its pool; None when it is of no backfill."""
        if not self.priority_class or self.backfill_id is None:
            return None
        return Budget(Limit.BACKFILL, (self.pool, self.backfill_id))

    def slot(self) -> Budget:
        """Return the budget of its queue's idle slots: all tasks take one, few have to wait."""
        return Budget(Limit.SPARE, (self.queue,))


@dataclass(frozen=True, slots=True)
class Admission:
    """The tasks to queue, in order, and by which budget each of the others was refused."""

    task_ids: list[int]
    refused: Mapping[int, Budget]


def admit(ready: Iterable[ReadyTask], free: Mapping[Budget, int]) -> Admission:
    """Take tasks in the given order for as long as each one still fits.

    `free` says how much each budget has left; one that is not there has nothing, because
    another scheduler holds it.  A task that does not fit is passed over, not waited for: a
    small task behind it may still use what is left, unless it is of a higher class: a budget
    that has refused a task gives nothing to those.  Nor does the pool of a task whose DAG
    another scheduler holds: that is over in an instant, and a higher class would keep the slots.
    """
    left = dict(free)
    closed: dict[Budget, int] = {}
    admitted: list[int] = []
    refused: dict[int, Budget] = {}
    for task in ready:
        draws = dict(task.draws())
        for budget, amount in draws.items():
            if (
                left.get(budget, 0) < amount
                or closed.get(budget, task.priority_class) < task.priority_class
            ):
                refused[task.id] = budget
                closed.setdefault(budget, task.priority_class)
                if budget.limit is Limit.DAG and budget not in free:
                    closed.setdefault(Budget(Limit.POOL, (task.pool,)), task.priority_class)
                break
        else:
            for budget, amount in ({task.slot(): 1} | draws).items():
                left[budget] = left.get(budget, 0) - amount
            admitted.append(task.id)
    return Admission(admitted, refused)
