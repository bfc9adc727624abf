"""DAGs and their tags as Airflow's clients know them."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from headway.actions.dags.summaries import VersionSummary
from headway.db.reads.pages.dag_pages import ListedDagRow
from headway.domain.errors import DagNotFoundError


class ShownTag(BaseModel):
    """A tag of a DAG."""

    name: str
    dag_id: str
    dag_display_name: str


class HeadwayDag(BaseModel):
    """What Airflow has no place for: why the schedule fails, and how much the DAG has."""

    schedule_error: str | None
    tasks: int
    running_runs: int


class ShownDag(BaseModel):
    """A DAG.

    It is stale when no file defines it any more.  A DAG has no owners, and a file is known by its
    path in its bundle.
    """

    dag_id: str
    dag_display_name: str
    is_paused: bool
    is_stale: bool
    last_parsed_time: datetime | None
    last_parse_duration: float | None
    last_expired: datetime | None = None
    bundle_name: str
    bundle_version: str | None
    relative_fileloc: str
    fileloc: str
    file_token: str
    description: str | None
    timetable_summary: str | None
    timetable_description: str | None
    timetable_partitioned: bool = False
    timetable_periodic: bool
    is_backfillable: bool
    tags: list[ShownTag]
    max_active_tasks: int
    max_active_runs: int
    max_consecutive_failed_dag_runs: int = 0
    has_task_concurrency_limits: bool
    has_import_errors: bool
    next_dagrun_logical_date: datetime | None
    next_dagrun_data_interval_start: datetime | None
    next_dagrun_data_interval_end: datetime | None
    next_dagrun_run_after: datetime | None
    allowed_run_types: list[str] | None = None
    owners: list[str] = []
    headway: HeadwayDag

    @classmethod
    def of(cls, it: ListedDagRow, summary: VersionSummary | None) -> Self:
        """Return the DAG; it has no summary before its first version."""
        schedule = summary.schedule if summary and summary.scheduled else None
        name = (summary.display_name if summary else None) or it.dag.dag_id
        return cls(
            **_identity(it),
            dag_display_name=name,
            timetable_summary=schedule,
            timetable_description=schedule,
            timetable_periodic=schedule is not None,
            is_backfillable=schedule is not None,
            has_task_concurrency_limits=summary is not None and summary.limited,
            is_paused=it.dag.paused,
            is_stale=not it.dag.active,
            last_parsed_time=it.parsed_at,
            last_parse_duration=it.parse_seconds,
            description=it.dag.description,
            tags=[
                ShownTag(name=tag, dag_id=it.dag.dag_id, dag_display_name=name)
                for tag in it.dag.tags
            ],
            max_active_tasks=it.dag.max_active_tasks,
            max_active_runs=it.dag.max_active_runs,
            has_import_errors=it.import_error,
            next_dagrun_logical_date=it.dag.next_interval_start,
            next_dagrun_data_interval_start=it.dag.next_interval_start,
            next_dagrun_data_interval_end=it.dag.next_interval_end,
            next_dagrun_run_after=it.dag.next_run_after,
            headway=HeadwayDag(
                schedule_error=it.dag.schedule_error,
                tasks=it.dag.tasks,
                running_runs=it.dag.running,
            ),
        )


class ShownDags(BaseModel):
    """Some of the DAGs; `next_cursor` is Headway's, for lists beyond the largest offset."""

    dags: list[ShownDag]
    total_entries: int
    total_entries_limit: int
    next_cursor: str | None = None


class ShownTags(BaseModel):
    """Some of the tags that DAGs have."""

    tags: list[str]
    total_entries: int


class DagPatch(BaseModel):
    """Whether to pause DAGs, or to unpause them."""

    model_config = ConfigDict(extra="forbid")

    is_paused: bool


def file_token(dag_id: str) -> str:
    """Return what stands for the file of a DAG in the paths that ask for its parse."""
    return urlsafe_b64encode(dag_id.encode()).rstrip(b"=").decode()


def dag_of_token(token: str) -> str:
    """Return the DAG whose file the token stands for; DagNotFoundError if it is none."""
    try:
        return urlsafe_b64decode(token.encode() + b"=" * (-len(token) % 4)).decode()
    except ValueError:
        raise DagNotFoundError("The file token is none that a DAG has.") from None


def _identity(it: ListedDagRow) -> dict[str, Any]:
    return {
        "dag_id": it.dag.dag_id,
        "bundle_name": it.dag.bundle,
        "bundle_version": it.commit,
        "relative_fileloc": it.dag.relative_path,
        "fileloc": it.dag.relative_path,
        "file_token": file_token(it.dag.dag_id),
    }
