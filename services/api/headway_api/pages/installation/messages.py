"""What was told for what has happened: notifications, and calls of DAGs' own functions."""

from typing import Annotated, Final, Literal

from fastapi import Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.reads import callback_views, notification_views
from headway.domain.accounts import Permission
from headway.domain.states import CallbackState
from headway_api.auth.caller import AnyCaller
from headway_api.native.access import check_named_run
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_PAGE: Final = 100


class MessagesQuery(BaseModel):
    """Which messages or calls are wanted; what is empty is any."""

    kind: Literal["notifications", "callbacks"] = "notifications"
    dag: str = ""
    state: CallbackState | Literal[""] = ""
    cursor: str | None = None


@router.get(addresses.MESSAGES)
def show_messages(
    request: Request, caller: AnyCaller, query: Annotated[MessagesQuery, Query()]
) -> Response:
    """List notifications, or callbacks, the latest first."""
    caller.require(Permission.READ)
    asked, dag_id = caller.page(_PAGE, query.cursor or None), query.dag or None
    views = notification_views if query.kind == "notifications" else callback_views

    def read(conn: Connection) -> object:
        check_named_run(caller, conn, dag_id, None)
        return views.page(conn, asked, dag_id, None, query.state or None)

    states = [str(state) for state in CallbackState]
    context = {"found": caller.read(read), "query": query, "states": states}
    return page(request, "messages.html", caller, context)
