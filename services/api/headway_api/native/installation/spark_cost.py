"""What ended attempts took in Spark."""

from datetime import datetime, timedelta
from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Query, Request, Response
from pydantic import AwareDatetime
from sqlalchemy import Connection

from headway.db.core.server import now
from headway.db.reads import spark_views
from headway.db.reads.pages.paging import ListPage, TimeRange
from headway.db.reads.spark_views import SparkCost
from headway.domain.errors import RequestError
from headway_api.auth.caller import AnyCaller
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router
from headway_api.native.access import OfDag, OfRun, check_named_run

router = native_router("Spark")

USUAL: Final = timedelta(days=7)
LONGEST: Final = timedelta(days=31)


def _span(
    first: Annotated[
        AwareDatetime | None,
        Query(alias="from", description=f"The earliest end; {USUAL.days} days before `to`."),
    ] = None,
    end: Annotated[
        AwareDatetime | None, Query(alias="to", description="Before when; else the present moment.")
    ] = None,
) -> TimeRange:
    if first is not None and end is not None and end <= first:
        raise RequestError("Give `from` and `to` in this order.")
    return TimeRange(first, end)


AskedSpan: TypeAlias = Annotated[TimeRange, Depends(_span)]
"""The parameters `from` and `to`, as they were given."""


@router.get("/spark/cost", response_model=Listed[SparkCost], responses={**errors(404), **STREAMED})
def list_spark_cost(  # noqa: PLR0913, PLR0917 - the parameters of the request
    caller: AnyCaller,
    request: Request,
    query: AnyList,
    ended: AskedSpan,
    dag_id: OfDag = None,
    run_id: OfRun = None,
    by_run: Annotated[bool, Query(description="Sums of runs; with a DAG they always are.")] = False,
) -> Response:
    """List what ended attempts took in Spark: the sums of each DAG, or of each run.

    The attempts are those that ended in the last seven days, or between `from` and `to`, which are
    31 days apart at most.  Of a run that is named they are all, unless `from` or `to` is given.
    """

    def read(conn: Connection, limit: int, cursor: str | None) -> ListPage[SparkCost]:
        check_named_run(caller, conn, dag_id, run_id)
        whole = run_id is not None and ended == TimeRange()
        return spark_views.page(
            conn,
            caller.page(limit, cursor),
            dag_id,
            run_id,
            by_run=by_run or dag_id is not None,
            ended=ended if whole else within(ended, now(conn)),
        )

    return lists.answer(
        request,
        query,
        SparkCost,
        lambda limit, cursor: caller.read(lambda conn: read(conn, limit, cursor)),
    )


def within(asked: TimeRange, at: datetime) -> TimeRange:
    """Return the span of time that is looked at; RequestError for one that is too long."""
    end = asked.end or (asked.start and max(at, asked.start)) or at
    first = asked.start or end - USUAL
    if end - first > LONGEST:
        raise RequestError(
            f"The costs of at most {LONGEST.days} days are summed up at a time; `from` and `to` "
            f"are {(end - first).days} days apart. Ask for less, and add the sums up."
        )
    return TimeRange(first, end)
