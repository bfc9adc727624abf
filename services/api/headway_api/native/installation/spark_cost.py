"""What ended attempts took in Spark."""

from typing import Annotated

from fastapi import Query, Request, Response
from sqlalchemy import Connection

from headway.db.reads import spark_views
from headway.db.reads.pages.paging import ListPage
from headway.db.reads.spark_views import SparkCost
from headway_api.auth.caller import AnyCaller
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router
from headway_api.native.access import OfDag, OfRun, check_named_run

router = native_router("Spark")


@router.get("/spark/cost", response_model=Listed[SparkCost], responses={**errors(404), **STREAMED})
def list_spark_cost(
    caller: AnyCaller,
    request: Request,
    query: AnyList,
    dag_id: OfDag = None,
    run_id: OfRun = None,
    by_run: Annotated[bool, Query(description="Sums of runs; with a DAG they always are.")] = False,
) -> Response:
    """List what ended attempts took in Spark: the sums of each DAG, or of each run."""

    def read(conn: Connection, limit: int, cursor: str | None) -> ListPage[SparkCost]:
        check_named_run(caller, conn, dag_id, run_id)
        asked = caller.page(limit, cursor)
        return spark_views.page(conn, asked, dag_id, run_id, by_run=by_run or dag_id is not None)

    return lists.answer(
        request,
        query,
        SparkCost,
        lambda limit, cursor: caller.read(lambda conn: read(conn, limit, cursor)),
    )
