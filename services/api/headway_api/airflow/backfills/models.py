"""Backfills as Airflow's clients know them."""

from datetime import datetime
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from headway.actions.backfills.create import BackfillRequest
from headway.actions.runs.version_choice import LATEST, OWN
from headway.db.reads.pages.backfill_pages import ListedBackfill
from headway.decide.changes.backfill import PlannedDate, Way
from headway.decide.changes.backfill_dates import MOST_RUNS
from headway.domain.backfill import Direction, Reprocess
from headway_api.airflow.filters import Instant


class BackfillResponse(BaseModel):
    """A backfill.

    `updated_at` is when it ended, or was cancelled, or else created.  `dag_run_conf` is always
    null: its runs show it.
    """

    id: int
    dag_id: str
    dag_display_name: str
    from_date: datetime
    to_date: datetime
    dag_run_conf: None = None
    is_paused: bool
    reprocess_behavior: Reprocess
    max_active_runs: int
    created_at: datetime
    completed_at: datetime | None
    updated_at: datetime

    @classmethod
    def of(cls, it: ListedBackfill) -> Self:
        """Return the backfill as it is shown."""
        backfill = it.backfill
        return cls(
            id=backfill.id,
            dag_id=backfill.dag_id,
            dag_display_name=backfill.dag_id,
            from_date=backfill.from_date,
            to_date=backfill.to_date,
            is_paused=backfill.paused,
            reprocess_behavior=backfill.reprocess,
            max_active_runs=backfill.max_active_runs,
            created_at=backfill.created_at,
            completed_at=it.ended_at,
            updated_at=it.ended_at or backfill.cancelled_at or backfill.created_at,
        )


class BackfillCollectionResponse(BaseModel):
    """Some of the backfills."""

    backfills: list[BackfillResponse]
    total_entries: int


class BackfillPostBody(BaseModel):
    """A backfill to create: of all intervals that begin from one date to another, both included."""

    model_config = ConfigDict(extra="forbid")

    dag_id: str = Field(max_length=250)
    from_date: Instant
    to_date: Instant
    run_backwards: bool = False
    dag_run_conf: dict[str, Any] | None = None
    reprocess_behavior: Reprocess = Reprocess.NONE
    max_active_runs: int = Field(10, ge=1, le=MOST_RUNS)
    run_on_latest_version: bool | None = None

    def asked(self) -> BackfillRequest:
        """Return what is asked for."""
        direction = Direction.BACKWARD if self.run_backwards else Direction.FORWARD
        return BackfillRequest(
            self.dag_id,
            self.from_date,
            self.to_date,
            self.dag_run_conf or {},
            self.max_active_runs,
            way=Way(self.reprocess_behavior, direction),
            version=LATEST if self.run_on_latest_version else OWN,
        )


class PlannedRunResponse(BaseModel):
    """A date that gets a run, or whose run runs again."""

    logical_date: datetime
    partition_key: None = None
    partition_date: None = None

    @classmethod
    def of(cls, it: PlannedDate) -> Self:
        """Return the date as it is shown."""
        return cls(logical_date=it.info.data_interval.start)


class PlannedRunCollectionResponse(BaseModel):
    """The dates of a backfill that get a run, in the order in which the runs start."""

    backfills: list[PlannedRunResponse]
    total_entries: int
