"""List DAG runs, of one DAG or of all."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Final

from fastapi import Query
from pydantic import Field
from sqlalchemy import Connection

from headway.db.reads.pages import run_pages
from headway.db.reads.pages.run_pages import ListedRun, RunFilter, RunOrder
from headway.domain.errors import RequestError
from headway.domain.states import RunType
from headway_api.airflow import listing, ordering
from headway_api.airflow.filters import RunTimes, like
from headway_api.airflow.instances.models import seconds_between
from headway_api.airflow.listing import FARTHEST, CursorQuery, Limit, OffsetQuery
from headway_api.airflow.named import DagId, Number, check_named, or_all
from headway_api.airflow.runs.models import ShownRuns
from headway_api.airflow.sorted_lists import SortKeys, sorted_page
from headway_api.airflow.states import run_states
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("DagRun")

_ORDERS: Final[Mapping[str, RunOrder]] = {
    "id": RunOrder.CREATED,
    "run_after": RunOrder.RUN_AFTER,
    "logical_date": RunOrder.LOGICAL_DATE,
    "start_date": RunOrder.STARTED,
    "end_date": RunOrder.ENDED,
}
_KEYS: Final[SortKeys[ListedRun]] = {
    "id": lambda it: it.id,
    "run_after": lambda it: it.run.run_after,
    "logical_date": lambda it: it.run.logical_date,
    "start_date": lambda it: it.run.started_at,
    "end_date": lambda it: it.run.ended_at,
    "dag_id": lambda it: it.run.dag_id,
    "run_id": lambda it: it.run.run_id,
    "dag_run_id": lambda it: it.run.run_id,
    "state": lambda it: it.run.state,
    "duration": lambda it: seconds_between(it.run.started_at, it.run.ended_at),
}
_ORDER_BY: Final = (
    "id, run_after, logical_date, start_date or end_date; `-` reverses the order. By logical_date "
    "runs are in the order in which the schedule has them. A list of at most 1,000 runs may also "
    "be ordered by dag_id, run_id, state or duration, or by several attributes."
)


class RunQuery(CursorQuery, RunTimes):
    """Which runs are wanted, in which order, and which page of them."""

    run_type: list[str] = Field([])
    state: list[str] = Field([])
    dag_version: list[Number] = Field([], max_length=1, description="The number of the version.")
    run_id_pattern: str | None = None
    run_id_prefix_pattern: str | None = None
    dag_id_pattern: str | None = None
    dag_id_prefix_pattern: str | None = None
    order_by: list[str] = Field([], description=_ORDER_BY)

    def filter(self, dag_id: str | None) -> RunFilter:
        """Return the runs that are wanted."""
        return RunFilter(
            dag_id=dag_id,
            dag_id_like=like(self.dag_id_pattern, self.dag_id_prefix_pattern),
            run_id_like=like(self.run_id_pattern, self.run_id_prefix_pattern),
            states=run_states(self.state),
            run_types=_run_types(self.run_type),
            version=next(iter(self.dag_version), None),
            run_after=self.within("run_after"),
            logical_date=self.within("logical_date"),
            started=self.within("start_date"),
            ended=self.within("end_date"),
            duration=self.lasted(),
        )


class RunBatch(RunTimes):
    """Which runs of all DAGs are wanted, in which order, and which page of them."""

    dag_ids: list[str] | None = None
    states: list[str | None] | None = None
    order_by: str | None = Field(None, description=_ORDER_BY)
    page_offset: int = Field(0, ge=0, le=FARTHEST)
    page_limit: Limit = 100

    def filter(self) -> RunFilter:
        """Return the runs that are wanted."""
        dags = self.dag_ids
        return RunFilter(
            # One DAG has an index.
            dag_id=dags[0] if dags is not None and len(dags) == 1 else None,
            dag_ids=dags,
            states=run_states(self.states or []),
            run_after=self.within("run_after"),
            logical_date=self.within("logical_date"),
            started=self.within("start_date"),
            ended=self.within("end_date"),
            duration=self.lasted(),
        )


@router.get("/dags/{dag_id}/dagRuns", responses=errors(404))
def get_dag_runs(
    caller: AnyCaller, dag_id: DagId, query: Annotated[RunQuery, Query()]
) -> ShownRuns:
    """List the runs of a DAG, or with `~` those of all DAGs."""
    wanted = query.filter(or_all(dag_id))

    def read(conn: Connection) -> ShownRuns:
        found = _page(caller, conn, query, wanted, query.order_by)
        if not found.dag_runs:  # what has runs that the caller sees is there
            check_named(caller, conn, dag_id)
        return found

    return caller.read(read)


@router.post("/dags/{dag_id}/dagRuns/list", responses=errors(404))
def get_list_dag_runs_batch(caller: AnyCaller, dag_id: DagId, body: RunBatch) -> ShownRuns:
    """List runs of all DAGs: the path has `~` for the DAG."""
    if or_all(dag_id) is not None:
        raise RequestError("Write ~ for the DAG in the path; dag_ids in the body says which DAGs.")
    query = OffsetQuery(limit=body.page_limit, offset=body.page_offset)
    order_by = [] if body.order_by is None else [body.order_by]

    def read(conn: Connection) -> ShownRuns:
        check_named(caller, conn, dag_id)
        return _page(caller, conn, query, body.filter(), order_by)

    return caller.read(read)


def _page(
    caller: Caller,
    conn: Connection,
    query: OffsetQuery,
    wanted: RunFilter,
    order_by: Sequence[str],
) -> ShownRuns:
    orders = ordering.orderings(order_by, "id")
    by = _ORDERS.get(orders[0].attribute)
    if len(orders) > 1 or by is None:
        read = partial(run_pages.page, conn, wanted=wanted)
        return ShownRuns.page(sorted_page(caller, query, read, _KEYS, orders))
    page = listing.shown(
        caller,
        query,
        lambda asked: run_pages.page(conn, asked, wanted, by),
        lambda: run_pages.total(conn, caller.bundles, wanted),
        descending=orders[0].descending,
    )
    return ShownRuns.page(page)


def _run_types(given: Sequence[str]) -> list[RunType] | None:
    """Return the types that are wanted, None for any; no run has a type of Airflow alone."""
    known = {str(kind) for kind in RunType}
    return [RunType(kind) for kind in given if kind in known] if given else None
