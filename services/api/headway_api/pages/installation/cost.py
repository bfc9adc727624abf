"""What DAGs took in Spark: who uses the cluster, and what for."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

from fastapi import Query, Request
from pydantic import BaseModel, field_validator
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.core.server import now
from headway.db.reads import spark_views
from headway.db.reads.pages.paging import MOST_ROWS, Asked, ListPage, TimeRange
from headway.db.reads.spark_views import SparkCost
from headway.domain.accounts import Permission
from headway.domain.errors import RequestError
from headway.domain.spark_work import SKEWED
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.access import check_named_run
from headway_api.native.installation.spark_cost import within
from headway_api.pages.frame import addresses
from headway_api.pages.frame.exports import ExportFormat, exported
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()


class CostQuery(BaseModel):
    """Whose cost is wanted, and of which days in UTC; without them of the last seven."""

    dag: str = ""
    since: date | None = None
    until: date | None = None

    @field_validator("since", "until", mode="before")
    @classmethod
    def _empty_is_none(cls, given: object) -> object:
        return given or None

    def ended(self) -> TimeRange:
        """Return when the attempts have ended that count: the last day is among them."""
        if self.since is not None and self.until is not None and self.until < self.since:
            raise RequestError("Give the days in this order: from, to.")
        try:
            last = None if self.until is None else _midnight(self.until) + timedelta(days=1)
        except OverflowError as error:
            raise RequestError(f"{self.until} is too late a day.") from error
        return TimeRange(None if self.since is None else _midnight(self.since), last)


@router.get(addresses.COST)
def show_cost(
    request: Request, caller: AnyCaller, query: Annotated[CostQuery, Query()]
) -> Response:
    """Show the sums of each DAG, or of each run of one DAG, the largest first."""
    caller.require(Permission.READ)
    span, asked = _span(caller, query), caller.page(MOST_ROWS)
    found = caller.read(lambda conn: _costs(caller, conn, query, span, asked))
    rows = sorted(found.rows, key=lambda cost: -(cost.executor_run_ms or 0))
    most = max((cost.executor_run_ms or 0 for cost in rows), default=0)
    context = {"rows": rows, "most": most, "span": span, "query": query, "skewed": SKEWED}
    return page(request, "cost.html", caller, {**context, "more": found.following is not None})


@router.get(addresses.COST + ".{form}")
def export_cost(
    request: Request, caller: AnyCaller, form: ExportFormat, query: Annotated[CostQuery, Query()]
) -> Response:
    """Send the sums that the page lists, by name."""
    span = _span(caller, query)

    def read(conn: Connection, asked: Asked) -> ListPage[SparkCost]:
        return _costs(caller, conn, query, span, asked)

    return exported(request, caller, form, SparkCost, read)


def _span(caller: Caller, query: CostQuery) -> TimeRange:
    return caller.read(lambda conn: within(query.ended(), now(conn)))


def _costs(
    caller: Caller, conn: Connection, query: CostQuery, span: TimeRange, asked: Asked
) -> ListPage[SparkCost]:
    dag_id = query.dag or None
    check_named_run(caller, conn, dag_id, None)
    return spark_views.page(conn, asked, dag_id, None, by_run=dag_id is not None, ended=span)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
