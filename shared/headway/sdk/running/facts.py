"""What a task is told about its run and its attempt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.domain.states import RunState, RunType, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The run and the attempt that a task is executed for.

    `logical_date` is None for a run that has no other date than its data interval.
    `start_date` is when the run started.  Callbacks are told the states that are since what
    they are called for.  The attempt started, ended and ran on a host, as far as that is known;
    the run was `queued_at` and ended.  `base_url` is what the addresses of pages begin with.
    One that `is_test` is run by `headway tasks test`.
    """

    dag_id: str
    run_id: str
    task_id: str
    data_interval: DataInterval
    run_type: RunType = RunType.MANUAL
    logical_date: datetime | None = None
    run_after: datetime | None = None
    start_date: datetime | None = None
    conf: Mapping[str, JsonValue] = field(default_factory=dict)
    try_number: int = 1
    map_index: int = -1
    run_state: RunState = RunState.RUNNING
    task_state: TaskState = TaskState.RUNNING
    started_at: datetime | None = None
    ended_at: datetime | None = None
    hostname: str | None = None
    queued_at: datetime | None = None
    run_ended_at: datetime | None = None
    base_url: str | None = None
    is_test: bool = False
