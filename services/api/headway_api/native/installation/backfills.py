"""The dates of backfills."""

from fastapi import Request, Response
from sqlalchemy import Connection

from headway.actions.backfills.control import no_backfill
from headway.db.reads import backfill_views
from headway.db.reads.backfill_views import BackfillDateView
from headway.db.reads.pages.paging import ListPage
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router
from headway_api.native.access import BigId, visible_dags

router = native_router("backfills")


@router.get(
    "/backfills/{backfill_id}/dates",
    response_model=Listed[BackfillDateView],
    responses={**errors(404), **STREAMED},
)
def list_backfill_dates(
    backfill_id: BigId, caller: AnyCaller, request: Request, query: AnyList
) -> Response:
    """List what becomes of each date of a backfill, and why, in the order of its plan."""

    def read(conn: Connection, limit: int, cursor: str | None) -> ListPage[BackfillDateView]:
        caller.require(Permission.READ)
        found = backfill_views.hold(conn, backfill_id)
        if found is None or not visible_dags(caller, conn, [found.dag_id]):
            raise no_backfill(backfill_id)
        return backfill_views.dates_page(conn, caller.page(limit, cursor), backfill_id)

    return lists.answer(
        request,
        query,
        BackfillDateView,
        lambda limit, cursor: caller.read(lambda conn: read(conn, limit, cursor)),
    )
