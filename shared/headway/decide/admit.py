"""Which of the tasks that are ready may be queued: every limit in one place.

A limit is a budget that tasks draw on: so many slots of a pool, so many places in a DAG.
A task is admitted when every budget that it draws on has enough left.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Limit(StrEnum):
    """What may refuse a task that is ready; the value is what it is counted and shown as."""

    POOL = "pool"
    DAG = "max_active_tasks"
    RUN = "max_active_tasks_per_dagrun"
    TASK = "max_active_tis_per_dag"
    TASK_IN_RUN = "max_active_tis_per_dagrun"
    QUEUE = "queue"
    SCHEDULER = "parallelism"


class Budget(NamedTuple):
    """One budget: the limit, and whose it is (a pool's name, a DAG's id, a run's id, …)."""

    limit: Limit
    owner: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ReadyTask:
    """A scheduled task instance and its place in the line: the lower the rank, the sooner.

    A limit that is None does not apply to it.
    """

    id: int
    dag_id: str
    dag_run_id: int
    task_id: str
    pool: str
    pool_slots: int
    queue: str
    rank: float
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


@dataclass(frozen=True, slots=True)
class Admission:
    """The tasks to queue, in order, and by which budget each of the others was refused."""

    task_ids: list[int]
    refused: Mapping[int, Budget]


def admit(ready: Iterable[ReadyTask], free: Mapping[Budget, int]) -> Admission:
    """Take tasks in the given order for as long as each one still fits.

    `free` says how much each budget has left; one that is not there has nothing, because
    another scheduler holds it.  A task that does not fit is passed over, not waited for: a
    small task behind it may still use what is left.
    """
    left = dict(free)
    admitted: list[int] = []
    refused: dict[int, Budget] = {}
    for task in ready:
        draws = list(task.draws())
        short = next((budget for budget, amount in draws if left.get(budget, 0) < amount), None)
        if short is not None:
            refused[task.id] = short
            continue
        for budget, amount in draws:
            left[budget] -= amount
        admitted.append(task.id)
    return Admission(admitted, refused)
