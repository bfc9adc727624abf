"""What an explanation says: one reason why a task instance is not running, and what changes it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from headway.decide.scheduling.admit import Limit
from headway.domain.dag.names import instance_name


class Reason(StrEnum):
    """Why a task instance is not running, or what it does instead; a word for programs."""

    RUN_NOT_CREATED = "run_not_created"
    INTERVAL_SKIPPED = "interval_skipped"
    TIMETABLE_FAILS = "timetable_fails"
    DAG_GONE = "dag_gone"
    DAG_PAUSED = "dag_paused"
    NO_SCHEDULER = "no_scheduler"
    CLOCK_SKEW = "clock_skew"
    VERSION_UNREADABLE = "version_unreadable"
    RUN_AFTER = "run_after"
    MAX_ACTIVE_RUNS = "max_active_runs"
    BACKFILL_FULL = "backfill_full"
    BACKFILL_PAUSED = "backfill_paused"
    AWAITS_PARSE = "awaits_parse"
    RUN_RESERVED = "run_reserved"
    RUN_STARTS = "run_starts"
    RUN_ENDS = "run_ends"

    UPSTREAM = "upstream"
    NOT_EXPANDED = "not_expanded"
    TRIGGER_RULE = "trigger_rule"
    NOT_CHOSEN = "not_chosen"
    OUTSIDE_DATES = "outside_dates"
    DEPENDS_ON_PAST = "depends_on_past"
    DECIDED_NEXT = "decided_next"
    RETRY = "retry"

    NO_POOL = "no_pool"
    POOL_TOO_SMALL = "pool_too_small"
    POOL = Limit.POOL
    MAX_ACTIVE_TASKS = Limit.DAG
    MAX_ACTIVE_TASKS_PER_DAGRUN = Limit.RUN
    MAX_ACTIVE_TIS_PER_DAG = Limit.TASK
    MAX_ACTIVE_TIS_PER_DAGRUN = Limit.TASK_IN_RUN
    PARALLELISM = Limit.SCHEDULER
    QUEUE = Limit.QUEUE
    BACKFILL_WEIGHT = Limit.BACKFILL
    IDLE_SLOTS = Limit.SPARE
    NO_WORKER = "no_worker"
    BEHIND = "behind"
    ADMITTED_NEXT = "admitted_next"

    WORKERS_FULL = "workers_full"
    CLAIMED_NEXT = "claimed_next"
    RUNNING = "running"
    STOPPING = "stopping"
    DEFERRED = "deferred"
    ENDED = "ended"


class Subject(NamedTuple):
    """A task instance; the map index is -1 for one that is not mapped, or not expanded yet."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1
    state: str | None = None

    @property
    def name(self) -> str:
        """What to call it within its run."""
        return instance_name(self.task_id, self.map_index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A run, or a task instance, that has what is waited for, or is what is waited for."""

    dag_id: str
    run_id: str
    task_id: str | None = None
    map_index: int = -1
    state: str
    slots: int | None = None
    since: datetime | None = None
    worker: str | None = None

    @property
    def name(self) -> str:
        """What to call it within its DAG."""
        if self.task_id is None:
            return self.run_id
        return instance_name(self.task_id, self.map_index)


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """The place in a queue order: `nth` of so many, the first being 1."""

    queue: str
    nth: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The one reason, in a sentence, and what would change it.

    `held_by` are the rows that hold it, the first of them where there are many; `facts` are
    further sentences, none of them the reason; `because` explains in turn what it waits for.
    """

    reason: Reason
    sentence: str
    change: str
    held_by: tuple[Holder, ...] = ()
    place: QueuePlace | None = None
    facts: tuple[str, ...] = ()
    subject: Subject | None = None
    because: "Explanation | None" = None


def single(holding: Iterable[Explanation], otherwise: Callable[[], Explanation]) -> Explanation:
    """Return the first, with what the others say as facts; `otherwise` when nothing holds it."""
    found = list(holding)
    if not found:
        return otherwise()
    besides = tuple(f"Besides: {explanation.sentence}" for explanation in found[1:])
    return replace(found[0], facts=found[0].facts + besides)
