"""List DAGs and their tags."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Final, Literal

from fastapi import Query
from pydantic import Field
from sqlalchemy import Connection

from headway.actions.dags.summaries import summaries
from headway.db.reads.pages import dag_pages, paging
from headway.db.reads.pages.dag_pages import DagFilter, DagOrder, ListedDagRow
from headway.domain.accounts import Permission
from headway.domain.errors import RequestError
from headway_api.airflow import listing, ordering
from headway_api.airflow.dags.models import ShownDag, ShownDags, ShownTags
from headway_api.airflow.filters import like
from headway_api.airflow.listing import CursorQuery, OffsetQuery
from headway_api.airflow.states import run_states
from headway_api.auth.caller import AnyCaller
from headway_api.http.routers import airflow_router

router = airflow_router("DAG")

_ORDERS: Final[Mapping[str, DagOrder]] = {
    "dag_id": DagOrder.ID,
    "dag_display_name": DagOrder.ID,
    "next_dagrun": DagOrder.NEXT_RUN,
    "last_run_start_date": DagOrder.LAST_RUN,
}


class DagNames(OffsetQuery):
    """Which DAGs are wanted, by name, tags, and whether they are paused or stale."""

    dag_id_pattern: str | None = None
    dag_id_prefix_pattern: str | None = None
    tags: list[str] = Field([])
    tags_match_mode: Literal["any", "all"] = "any"
    exclude_stale: bool = True
    paused: bool | None = None

    def filter(self) -> DagFilter:
        """Return the DAGs that are wanted."""
        tags = self.tags or None
        return DagFilter(
            dag_id_like=like(self.dag_id_pattern, self.dag_id_prefix_pattern),
            any_tag=tags if self.tags_match_mode == "any" else None,
            all_tags=tags if self.tags_match_mode == "all" else None,
            active=True if self.exclude_stale else None,
            paused=self.paused,
        )


class DagQuery(DagNames, CursorQuery):
    """Which DAGs are wanted, in which order, and which page of them."""

    dag_display_name_pattern: str | None = None
    dag_display_name_prefix_pattern: str | None = None
    bundle_name: str | None = None
    has_import_errors: bool | None = None
    last_dag_run_state: str | None = None
    order_by: list[str] = Field(
        [], description="dag_id, next_dagrun or last_run_start_date; `-` reverses the order."
    )

    def filter(self) -> DagFilter:
        """Return the DAGs that are wanted."""
        shown = like(self.dag_display_name_pattern, self.dag_display_name_prefix_pattern)
        names = super().filter()
        if shown is not None and names.dag_id_like is not None:
            raise RequestError("DAGs are found by their ids alone; give a pattern of one.")
        states = [] if self.last_dag_run_state is None else [self.last_dag_run_state]
        return replace(
            names,
            dag_id_like=names.dag_id_like or shown,
            bundle=self.bundle_name,
            import_error=self.has_import_errors,
            last_states=run_states(states),
        )


class TagQuery(OffsetQuery):
    """Which tags are wanted, in which order, and which page of them."""

    tag_name_pattern: str | None = None
    tag_name_prefix_pattern: str | None = None
    order_by: list[str] = Field([], description="name; `-` reverses the order.")


@router.get("/dags")
def get_dags(caller: AnyCaller, query: Annotated[DagQuery, Query()]) -> ShownDags:
    """List DAGs; those that no file defines any more only with `exclude_stale=false`."""
    caller.require(Permission.READ)
    wanted, order = query.filter(), ordering.ordering(query.order_by, "dag_id")
    by = ordering.known(_ORDERS, order)

    def read(conn: Connection) -> ShownDags:
        page = listing.shown(
            caller,
            query,
            lambda asked: dag_pages.page(conn, asked, wanted, by),
            lambda: dag_pages.total(conn, caller.bundles, wanted),
            descending=order.descending,
        )
        return ShownDags(
            dags=shown_dags(conn, page.rows),
            total_entries=page.total_entries,
            total_entries_limit=page.total_entries_limit,
            next_cursor=page.next_cursor,
        )

    return caller.read(read)


@router.get("/dagTags")
def get_dag_tags(caller: AnyCaller, query: Annotated[TagQuery, Query()]) -> ShownTags:
    """List the tags that DAGs have, by name."""
    caller.require(Permission.READ)
    order = ordering.ordering(query.order_by, "name")
    ordering.known({"name": None}, order)
    wanted = like(query.tag_name_pattern, query.tag_name_prefix_pattern)

    def read(conn: Connection) -> ShownTags:
        def count() -> paging.CappedTotal:
            most = caller.page(paging.MOST_ROWS)
            return paging.capped(len(dag_pages.tags(conn, most, wanted).rows))

        page = listing.shown(
            caller,
            query,
            lambda asked: dag_pages.tags(conn, asked, wanted),
            count,
            descending=order.descending,
        )
        return ShownTags(tags=page.rows, total_entries=page.total_entries)

    return caller.read(read)


def shown_dags(conn: Connection, rows: Sequence[ListedDagRow]) -> list[ShownDag]:
    """Return DAGs as they are shown."""
    known = {
        row.version_id: row.fingerprint
        for row in rows
        if row.version_id is not None and row.fingerprint is not None
    }
    found = summaries(conn, known)
    return [
        ShownDag.of(row, None if row.version_id is None else found.get(row.version_id))
        for row in rows
    ]
