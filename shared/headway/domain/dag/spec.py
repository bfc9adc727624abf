"""What a DAG is, as data: the form that is stored, scheduled and shown."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain

from headway.domain.arguments import JsonValue
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.catchup import Catchup, Overlap
from headway.domain.dag.deadline import DeadlineSpec
from headway.domain.dag.notifiers import NotifierSpec, ends, of_tasks
from headway.domain.dag.param_schema import ParamSchema
from headway.domain.dag.task_groups import EdgeLabel, GroupSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.dag.weights import WeightRule
from headway.domain.states import OnLost


class Jitter(StrEnum):
    """Which part of a delay is left to chance: none of it, its second half, or all of it."""

    NONE = "none"
    EQUAL = "equal"
    FULL = "full"


DEFAULT_POOL = "default_pool"


DEFAULT_QUEUE = "default"


SHORTEST_INTERVAL = 1


LONGEST_INTERVAL = 366 * 86400
"""What the `min_file_process_interval` of a DAG may be, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimetableSpec:
    """A timetable as data: the name it is registered under, and plain arguments."""

    name: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)


class Combined(StrEnum):
    """How items are made of those of other inputs: what decides how many there are."""

    MAP = "map"
    ZIP = "zip"
    ZIP_LONGEST = "zip_longest"
    CONCAT = "concat"


@dataclass(frozen=True, slots=True, kw_only=True)
class MapInput:
    """What a mapped task is expanded over: so many literal values, or another task's XCom.

    Without `task_id` it is literal and `length` is known; or it is `combined` of its `parts`.
    """

    argument: str
    length: int | None = None
    task_id: str | None = None
    key: str = "return_value"
    combined: Combined | None = None
    parts: tuple["MapInput", ...] = ()

    def sources(self) -> Iterator[tuple[str, str]]:
        """Yield the task and the key of each XCom that it is made of."""
        if self.task_id is not None:
            yield self.task_id, self.key
        for part in self.parts:
            yield from part.sources()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """One task of a DAG.  Durations are in seconds.

    A task with `mapped_over` has one instance for each combination of its inputs' items.
    `retry_on` and `fail_fast_on` name exceptions, each by its module and its name there: with
    the first only these are tried again, those of the second never are.  `callbacks` are the
    events for which its code has functions to call.  `slas` are the deadlines by which all of
    its instances are to have ended.  `notifiers` are its own, and its DAG's about its tasks.
    `owner` is whom people ask about the task, `task_display_name` what they call it.
    `on_failure_fail_dagrun` is for teardowns: the run fails with such a one.  `params` are laid
    over its DAG's.  Runs whose logical date lies outside `start_date` and `end_date` skip the task.
    `map_index_template` says what an instance is called.  All tasks in the mapped group
    `mapped_group`, and in the groups within it, are `mapped_over` the same: an instance waits for
    those of its own map index in the group.
    """

    task_id: str
    operator: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    upstream: tuple[str, ...] = ()
    trigger_rule: TriggerRule = TriggerRule.ALL_SUCCESS
    retries: int = 0
    retry_delay: float = 300.0
    retry_exponential_backoff: bool = False
    max_retry_delay: float | None = None
    retry_jitter: Jitter | None = None
    retry_on: tuple[str, ...] = ()
    fail_fast_on: tuple[str, ...] = ()
    execution_timeout: float | None = None
    pool: str = DEFAULT_POOL
    pool_slots: int = 1
    priority_weight: int = 1
    weight_rule: WeightRule = WeightRule.DOWNSTREAM
    max_active_tis_per_dag: int | None = None
    max_active_tis_per_dagrun: int | None = None
    mapped_over: tuple[MapInput, ...] = ()
    on_lost: OnLost = OnLost.RETRY
    queue: str = DEFAULT_QUEUE
    depends_on_past: bool = False
    is_setup: bool = False
    is_teardown: bool = False
    needs_spark: bool = False
    callbacks: tuple[CallbackEvent, ...] = ()
    slas: tuple[DeadlineSpec, ...] = ()
    notifiers: tuple[NotifierSpec, ...] = ()
    doc_md: str | None = None
    owner: str | None = None
    on_failure_fail_dagrun: bool = False
    task_display_name: str | None = None
    params: Mapping[str, JsonValue] = field(default_factory=dict)
    param_schemas: tuple[ParamSchema, ...] = ()
    start_date: datetime | None = None
    end_date: datetime | None = None
    map_index_template: str | None = None
    mapped_group: str | None = None

    def leaves_out(self, date: datetime) -> bool:
        """Tell whether a run of that logical date lies outside the task's own dates."""
        early = self.start_date is not None and date < self.start_date
        return early or (self.end_date is not None and date > self.end_date)

    def map_sources(self) -> Iterator[tuple[str, str]]:
        """Yield the task and the key of each XCom that it is expanded over."""
        return (found for each in self.mapped_over for found in each.sources())

    @property
    def notifies(self) -> tuple[CallbackEvent, ...]:
        """The ends of its attempts of which notifiers tell."""
        return ends(self.notifiers) if self.notifiers else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DagSpec:
    """One DAG: everything that decides when it runs and what its runs are made of.

    `tasks` are in topological order.  `relative_path` is the DAG file's path below
    its bundle; `files` are further bundle files that its tasks need when they run.

    What is `dynamic` has a structure that comes from outside its code: its file is parsed
    every `min_file_process_interval` seconds though nothing has changed.  With
    `reparse_on_run` a run that is to start waits for a parse, and is of the version of that.
    `callbacks` are the events of its runs for which its code has functions to call, and
    `deadlines` those by which a run is to have ended.  `notifiers` tell of its runs; what they
    tell of tasks is in those.

    `params` are the default values; if one of them is declared with a schema, or has no default,
    all are in `param_schemas`, in the order of the DAG file.

    Which missed runs are run is in `missed`: `catchup_mode` is what `catchup` alone cannot say,
    and what a release goes by that does not know the mode is `catchup`.  Those that fell due
    more than `catchup_window` seconds before are left out.  Without an `overlap` runs queue.

    `dag_display_name` is what people call it.  Each of its `groups` comes after the one that it is
    in; its `labels` are what is written on edges.

    `parse_secrets` are the connections and variables that its file has read while it was parsed,
    found or not, such as "variable:region".  Who loads the file reads them anew.  `providers` are
    the provider packages of Airflow that its code names, as far as they were installed, with their
    versions.
    """

    dag_id: str
    relative_path: str
    timetable: TimetableSpec
    timezone: str
    tasks: tuple[TaskSpec, ...]
    start_date: datetime | None = None
    end_date: datetime | None = None
    catchup: bool = False
    max_active_runs: int = 16
    max_active_tasks: int = 16
    max_active_tasks_per_dagrun: int | None = None
    dagrun_timeout: float | None = None
    params: Mapping[str, JsonValue] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    description: str | None = None
    doc_md: str | None = None
    is_paused_upon_creation: bool | None = None
    files: tuple[str, ...] = ()
    dynamic: bool = False
    reparse_on_run: bool = False
    min_file_process_interval: float | None = None
    callbacks: tuple[CallbackEvent, ...] = ()
    catchup_mode: Catchup | None = None
    catchup_window: float | None = None
    overlap: Overlap | None = None
    deadlines: tuple[DeadlineSpec, ...] = ()
    notifiers: tuple[NotifierSpec, ...] = ()
    dag_display_name: str | None = None
    groups: tuple[GroupSpec, ...] = ()
    labels: tuple[EdgeLabel, ...] = ()
    param_schemas: tuple[ParamSchema, ...] = ()
    parse_secrets: tuple[str, ...] = ()
    providers: Mapping[str, str] = field(default_factory=dict)

    @property
    def notifies(self) -> tuple[CallbackEvent, ...]:
        """The ends of its runs of which notifiers tell."""
        return ends(self.notifiers) if self.notifiers else ()

    def notifying(self, more: tuple[NotifierSpec, ...]) -> "DagSpec":
        """Return the DAG with further notifiers, of its runs and of each of its tasks."""
        told = of_tasks(more)
        tasks = self.tasks
        if told:
            tasks = tuple(
                replace(task, notifiers=tuple(dict.fromkeys((*task.notifiers, *told))))
                for task in tasks
            )
        notifiers = tuple(dict.fromkeys((*self.notifiers, *more)))
        return replace(self, notifiers=notifiers, tasks=tasks)

    @property
    def missed(self) -> Catchup:
        """Which of the runs are run that fell due while nobody scheduled the DAG."""
        return self.catchup_mode or (Catchup.ALL if self.catchup else Catchup.NONE)

    def has_deadlines(self, *, backfill: bool = False) -> bool:
        """Tell whether its runs have deadlines, or tasks of these; or those of a backfill."""
        given = chain(self.deadlines, *(task.slas for task in self.tasks))
        return any(deadline.backfills or not backfill for deadline in given)

    def task(self, task_id: str) -> TaskSpec:
        """Return the task of that id; KeyError when the DAG has none."""
        for task in self.tasks:
            if task.task_id == task_id:
                return task
        raise KeyError(task_id)
