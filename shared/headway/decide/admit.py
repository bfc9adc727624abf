"""Which of the tasks that are ready may be queued: every limit in one place."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Refusal(StrEnum):
    """Why a task that is ready was not queued."""

    POOL_FULL = "pool_full"
    DAG_FULL = "dag_full"


@dataclass(frozen=True, slots=True)
class ReadyTask:
    """A scheduled task instance that this scheduler has locked."""

    id: int
    dag_id: str
    pool: str
    pool_slots: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """What is free in the pools and DAGs that this scheduler has locked."""

    pool_slots: Mapping[str, int]
    dag_places: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Admission:
    """The tasks to queue, in order, and how many were refused for which reason."""

    task_ids: list[int]
    refused: Mapping[Refusal, int]


def admit(ready: Iterable[ReadyTask], capacity: Capacity) -> Admission:
    """Take tasks in the given order for as long as each one still fits.

    A task that does not fit is passed over, not waited for: a small task
    behind it may still use the slots that are left.
    """
    slots, places = dict(capacity.pool_slots), dict(capacity.dag_places)
    admitted: list[int] = []
    refused: Counter[Refusal] = Counter()

    for task in ready:
        if slots.get(task.pool, 0) < task.pool_slots:
            refused[Refusal.POOL_FULL] += 1
        elif places.get(task.dag_id, 0) < 1:
            refused[Refusal.DAG_FULL] += 1
        else:
            slots[task.pool] -= task.pool_slots
            places[task.dag_id] -= 1
            admitted.append(task.id)

    return Admission(admitted, refused)
