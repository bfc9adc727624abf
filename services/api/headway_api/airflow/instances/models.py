"""Task instances and their attempts as Airflow's clients know them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, Field

from headway.db.reads.pages.attempt_pages import ListedAttempt
from headway.db.reads.pages.task_pages import ListedTask
from headway.db.reads.task_views import TaskView
from headway.domain.states import Outcome
from headway_api.airflow.ids import uuid_of
from headway_api.airflow.listing import ShownPage
from headway_api.airflow.states import state_of, state_of_attempt
from headway_api.airflow.versions_shown import ShownVersion, version_of_task


class ShownInstance(BaseModel):
    """What a task instance and an attempt of one have in common."""

    task_id: str
    task_display_name: str
    dag_id: str
    dag_display_name: str
    dag_run_id: str
    map_index: int
    try_number: int
    max_tries: int
    state: str | None
    start_date: datetime | None
    end_date: datetime | None
    duration: float | None
    scheduled_when: datetime | None
    queued_when: datetime | None
    hostname: str | None
    operator: str | None
    operator_name: str | None
    pool: str
    pool_slots: int
    queue: str
    priority_weight: int | None
    executor: str | None = None
    executor_config: str = "{}"
    pid: int | None = None
    unixname: str | None = None
    dag_version: ShownVersion


class HeadwayInstance(BaseModel):
    """What Airflow has no place for: what counts against the retries, and when the next one is."""

    failures: int
    losses: int
    retry_at: datetime | None


class ShownTaskInstance(ShownInstance):
    """A task instance; the state is null before anything is decided about it."""

    id: UUID
    logical_date: datetime
    run_after: datetime
    note: str | None = None
    rendered_fields: dict[str, Any] = Field(default_factory=dict)  # {} would be copied deeply
    rendered_map_index: str | None = None
    trigger: dict[str, Any] | None = None
    triggerer_job: dict[str, Any] | None = None
    headway: HeadwayInstance

    @classmethod
    def of(cls, it: ListedTask) -> Self:
        """Return a task instance."""
        task = it.task
        return cls(
            **_placed(it),
            id=uuid_of("task_instance", it.id),
            try_number=task.attempt,
            state=state_of(task.state),
            start_date=task.started_at,
            end_date=task.ended_at,
            duration=seconds_between(task.started_at, task.ended_at),
            queued_when=it.queued_at,
            hostname=it.hostname,
            pool=task.pool,
            pool_slots=it.pool_slots,
            queue=task.queue,
            logical_date=it.logical_date,
            run_after=it.run_after,
            rendered_map_index=_rendered(task),
            headway=HeadwayInstance(
                failures=task.failures, losses=task.losses, retry_at=task.retry_at
            ),
        )


class HeadwayAttempt(BaseModel):
    """What Airflow has no place for: how the attempt ended, such as `lost` or `timed_out`."""

    outcome: Outcome | None
    error: str | None


class ShownAttempt(ShownInstance):
    """An attempt of a task instance."""

    headway: HeadwayAttempt

    @classmethod
    def of(cls, it: ListedTask, listed: ListedAttempt) -> Self:
        """Return an attempt of this task instance."""
        attempt = listed.attempt
        return cls(
            **_placed(it),
            try_number=attempt.attempt,
            state=state_of_attempt(attempt.phase, attempt.outcome),
            start_date=attempt.started_at,
            end_date=attempt.ended_at,
            duration=seconds_between(attempt.started_at, attempt.ended_at),
            queued_when=attempt.queued_at,
            hostname=attempt.worker,
            pool=listed.pool,
            pool_slots=listed.pool_slots,
            queue=listed.queue,
            headway=HeadwayAttempt(outcome=attempt.outcome, error=attempt.error),
        )


class ShownTaskInstances(BaseModel):
    """Some task instances; `total_entries` is exact below `total_entries_limit`."""

    task_instances: list[ShownTaskInstance]
    total_entries: int
    total_entries_limit: int | None = None
    next_cursor: str | None = None
    previous_cursor: str | None = None

    @classmethod
    def page(cls, page: ShownPage[ListedTask]) -> Self:
        """Return a page of a list."""
        return cls(
            task_instances=[ShownTaskInstance.of(row) for row in page.rows],
            total_entries=page.total_entries,
            total_entries_limit=page.total_entries_limit,
            next_cursor=page.next_cursor,
            previous_cursor=page.previous_cursor,
        )

    @classmethod
    def all(cls, rows: Sequence[ListedTask]) -> Self:
        """Return task instances that are all there are."""
        shown = [ShownTaskInstance.of(row) for row in rows]
        return cls(task_instances=shown, total_entries=len(shown))


class ShownAttempts(BaseModel):
    """The attempts of a task instance, the first one first."""

    task_instances: list[ShownAttempt]
    total_entries: int


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """Return how long something took; None unless it has begun and ended."""
    return None if start is None or end is None else (end - start).total_seconds()


def _rendered(task: TaskView) -> str | None:
    """Return what an instance is called, by default its index if its task is mapped."""
    if task.rendered_map_index is not None:
        return task.rendered_map_index
    return None if task.map_index < 0 else str(task.map_index)


def _placed(it: ListedTask) -> dict[str, Any]:
    """Return of which task of which run it is, and what that says of it."""
    task = it.task
    return {
        "task_id": task.task_id,
        "task_display_name": it.task_display_name or task.task_id,
        "dag_id": task.dag_id,
        "dag_display_name": task.dag_id,
        "dag_run_id": task.run_id,
        "map_index": task.map_index,
        "max_tries": it.retries,
        "operator": it.operator,
        "operator_name": it.operator,
        "priority_weight": task.priority,
        "scheduled_when": it.scheduled_at,
        "dag_version": version_of_task(it),
    }
