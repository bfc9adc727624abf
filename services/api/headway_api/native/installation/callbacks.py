"""Callbacks and notifications: what was called, and what was told, for what has happened."""

from typing import Annotated

from fastapi import Query, Request, Response
from sqlalchemy import Connection

from headway.db.reads import callback_views, notification_views
from headway.db.reads.callback_views import CallbackView
from headway.db.reads.notification_views import NotificationView
from headway.db.reads.pages.paging import ListPage
from headway.domain.states import CallbackState
from headway_api.auth.caller import AnyCaller
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router
from headway_api.native.access import OfDag, OfRun, check_named_run

router = native_router("callbacks")

InState = Annotated[CallbackState | None, Query(description="Only those in this state.")]


@router.get(
    "/callbacks", response_model=Listed[CallbackView], responses={**errors(404), **STREAMED}
)
def list_callbacks(
    caller: AnyCaller,
    request: Request,
    query: AnyList,
    dag_id: OfDag = None,
    run_id: OfRun = None,
    state: InState = None,
) -> Response:
    """List the calls of DAGs' functions, the latest first. A callback of a run has no task."""

    def read(conn: Connection, limit: int, cursor: str | None) -> ListPage[CallbackView]:
        check_named_run(caller, conn, dag_id, run_id)
        return callback_views.page(conn, caller.page(limit, cursor), dag_id, run_id, state)

    return lists.answer(
        request,
        query,
        CallbackView,
        lambda limit, cursor: caller.read(lambda conn: read(conn, limit, cursor)),
    )


@router.get(
    "/notifications",
    response_model=Listed[NotificationView],
    responses={**errors(404), **STREAMED},
)
def list_notifications(
    caller: AnyCaller,
    request: Request,
    query: AnyList,
    dag_id: OfDag = None,
    run_id: OfRun = None,
    state: InState = None,
) -> Response:
    """List the messages about events, the latest first."""

    def read(conn: Connection, limit: int, cursor: str | None) -> ListPage[NotificationView]:
        check_named_run(caller, conn, dag_id, run_id)
        return notification_views.page(conn, caller.page(limit, cursor), dag_id, run_id, state)

    return lists.answer(
        request,
        query,
        NotificationView,
        lambda limit, cursor: caller.read(lambda conn: read(conn, limit, cursor)),
    )
