"""DAG runs as Airflow's clients know them."""

from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel

from headway.db.reads.pages.run_pages import ListedRun
from headway.domain.arguments import JsonValue
from headway.domain.states import RunState, RunType
from headway_api.airflow.instances.models import (
    ShownTaskInstance,
    ShownTaskInstances,
    seconds_between,
)
from headway_api.airflow.listing import ShownPage
from headway_api.airflow.versions_shown import ShownVersion, version_of_run


class HeadwayRun(BaseModel):
    """What Airflow has no place for: the run's backfill, and whether its time was over."""

    backfill_id: int | None
    timed_out: bool


class ShownRun(BaseModel):
    """A DAG run.

    Who triggered a run by hand is in the journal, which the event logs show.
    """

    dag_run_id: str
    dag_id: str
    dag_display_name: str
    logical_date: datetime
    queued_at: datetime
    start_date: datetime | None
    end_date: datetime | None
    duration: float | None
    data_interval_start: datetime
    data_interval_end: datetime
    run_after: datetime
    last_scheduling_decision: datetime | None = None
    run_type: RunType
    state: RunState
    triggered_by: Literal["backfill", "timetable"] | None
    triggering_user_name: str | None = None
    conf: dict[str, JsonValue]
    note: str | None = None
    dag_versions: list[ShownVersion]
    bundle_version: str | None
    partition_key: str | None = None
    partition_date: datetime | None = None
    headway: HeadwayRun

    @classmethod
    def of(cls, it: ListedRun) -> Self:
        """Return a run."""
        run = it.run
        return cls(
            dag_run_id=run.run_id,
            dag_id=run.dag_id,
            dag_display_name=run.dag_id,
            logical_date=run.logical_date,
            queued_at=it.created_at,
            start_date=run.started_at,
            end_date=run.ended_at,
            duration=seconds_between(run.started_at, run.ended_at),
            data_interval_start=run.interval_start,
            data_interval_end=run.interval_end,
            run_after=run.run_after,
            run_type=run.run_type,
            state=run.state,
            triggered_by=_triggered_by(run.run_type),
            conf=dict(run.conf),
            dag_versions=[version_of_run(it)],
            bundle_version=it.commit,
            headway=HeadwayRun(backfill_id=run.backfill_id, timed_out=it.timed_out),
        )


class ShownRuns(BaseModel):
    """Some DAG runs; `total_entries` is exact below `total_entries_limit`."""

    dag_runs: list[ShownRun]
    total_entries: int
    total_entries_limit: int
    next_cursor: str | None = None
    previous_cursor: str | None = None

    @classmethod
    def page(cls, page: ShownPage[ListedRun]) -> Self:
        """Return a page of a list."""
        return cls(
            dag_runs=[ShownRun.of(row) for row in page.rows],
            total_entries=page.total_entries,
            total_entries_limit=page.total_entries_limit,
            next_cursor=page.next_cursor,
            previous_cursor=page.previous_cursor,
        )


class ClearedInstance(BaseModel):
    """A task instance that would be cleared, as it stands.

    It has not all that a task instance has: the client of Airflow 3.3 refuses that here, where
    it also knows tasks that a run does not have yet, and takes a task instance for both.
    """

    task_id: str
    task_display_name: str
    dag_id: str
    dag_run_id: str
    map_index: int
    state: str | None
    try_number: int

    @classmethod
    def of(cls, it: ShownTaskInstance) -> Self:
        """Return in brief the task instance."""
        return cls(**it.model_dump(include=set(cls.model_fields)))


class RehearsedClear(BaseModel):
    """What would be cleared of a run."""

    task_instances: list[ClearedInstance]
    total_entries: int

    @classmethod
    def of(cls, reached: ShownTaskInstances) -> Self:
        """Return the task instances that would be cleared."""
        shown = [ClearedInstance.of(it) for it in reached.task_instances]
        return cls(task_instances=shown, total_entries=len(shown))


def _triggered_by(kind: RunType) -> Literal["backfill", "timetable"] | None:
    match kind:
        case RunType.BACKFILL:
            return "backfill"
        case RunType.SCHEDULED:
            return "timetable"
    return None
