"""The journal, as Airflow's event logs."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final, Self

from fastapi import Path, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from headway.db.reads.pages import event_pages
from headway.db.reads.pages.event_pages import EventFilter, ListedEvent
from headway.db.reads.pages.paging import TimeRange
from headway.domain.errors import NotFoundError
from headway_api.airflow.filters import Instant, like
from headway_api.airflow.listing import OffsetQuery, shown
from headway_api.airflow.ordering import known, ordering
from headway_api.auth.caller import AnyCaller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("journal")

_ORDERS: Final = dict.fromkeys(("id", "event_log_id", "when", "dttm"))


class EventLogQuery(OffsetQuery):
    """Which entries of the journal are wanted: `after` is included, `before` is not."""

    order_by: list[str] = Field([])
    dag_id: str | None = None
    task_id: str | None = None
    run_id: str | None = None
    owner: str | None = None
    event: str | None = None
    excluded_events: list[str] | None = None
    included_events: list[str] | None = None
    before: Instant | None = None
    after: Instant | None = None
    dag_id_pattern: str | None = None
    task_id_pattern: str | None = None
    run_id_pattern: str | None = None
    owner_pattern: str | None = None
    event_pattern: str | None = None
    dag_id_prefix_pattern: str | None = None
    task_id_prefix_pattern: str | None = None
    run_id_prefix_pattern: str | None = None
    owner_prefix_pattern: str | None = None
    event_prefix_pattern: str | None = None

    def wanted(self) -> EventFilter:
        """Return the filter of this query."""
        return EventFilter(
            dag_id=self.dag_id,
            dag_id_like=like(self.dag_id_pattern, self.dag_id_prefix_pattern),
            run_id=self.run_id,
            run_id_like=like(self.run_id_pattern, self.run_id_prefix_pattern),
            task_id=self.task_id,
            task_id_like=like(self.task_id_pattern, self.task_id_prefix_pattern),
            actor=self.owner,
            actor_like=like(self.owner_pattern, self.owner_prefix_pattern),
            actions=self._actions(),
            not_actions=self.excluded_events,
            action_like=like(self.event_pattern, self.event_prefix_pattern),
            at=TimeRange(self.after, self.before),
        )

    def _actions(self) -> Sequence[str] | None:
        if self.event is None:
            return self.included_events
        named = self.included_events is None or self.event in self.included_events
        return [self.event] if named else []


class EventLogResponse(BaseModel):
    """An entry of the journal: `owner` did `event`; `extra` has its details as JSON.

    The journal names no map index, no try and no logical date: these are always null.
    """

    event_log_id: int
    when: datetime
    event: str
    owner: str
    dag_id: str | None
    dag_display_name: str | None
    run_id: str | None
    task_id: str | None
    task_display_name: str | None
    extra: str
    map_index: None = None
    try_number: None = None
    logical_date: None = None

    @classmethod
    def of(cls, row: ListedEvent) -> Self:
        """Return the entry as it is shown."""
        it = row.event
        return cls(
            event_log_id=row.id,
            when=it.at,
            event=it.action,
            owner=it.actor,
            dag_id=it.dag_id,
            dag_display_name=it.dag_id,
            run_id=it.run_id,
            task_id=it.task_id,
            task_display_name=it.task_id,
            extra=json.dumps(it.details),
        )


class EventLogCollectionResponse(BaseModel):
    """Some of the entries; the total is exact below 1,000."""

    event_logs: list[EventLogResponse]
    total_entries: int


@router.get("/eventLogs")
def get_event_logs(
    caller: AnyCaller, query: Annotated[EventLogQuery, Query()]
) -> EventLogCollectionResponse:
    """List the journal; an account of some bundles sees the entries of their DAGs."""
    wanted, order = query.wanted(), ordering(query.order_by, "id")
    known(_ORDERS, order)

    def work(conn: Connection) -> EventLogCollectionResponse:
        page = shown(
            caller,
            query,
            lambda asked: event_pages.page(conn, asked, wanted),
            lambda: event_pages.total(conn, caller.bundles, wanted),
            descending=order.descending,
        )
        return EventLogCollectionResponse(
            event_logs=[EventLogResponse.of(row) for row in page.rows],
            total_entries=page.total_entries,
        )

    return caller.read(work)


@router.get("/eventLogs/{event_log_id}", responses=errors(404))
def get_event_log(
    caller: AnyCaller, event_log_id: Annotated[int, Path(ge=0, le=2**63 - 1)]
) -> EventLogResponse:
    """Show one entry of the journal."""

    def work(conn: Connection) -> EventLogResponse:
        found = event_pages.one(conn, caller.bundles, event_log_id)
        if found is None:
            raise NotFoundError(f"The journal has no entry {event_log_id}.")
        return EventLogResponse.of(found)

    return caller.read(work)
