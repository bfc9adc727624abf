"""What a page lists, for programs: the address of the page with `.csv` or `.json`."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.reads.pages.paging import Asked, ListPage
from headway.domain.accounts import Permission
from headway_api.auth.caller import Caller
from headway_api.http import lists
from headway_api.http.lists import ListFormat, ListQuery

Row = TypeVar("Row")


class ExportFormat(StrEnum):
    """In which forms pages give what they list."""

    CSV = "csv"
    JSON = "json"


def exported(
    request: Request,
    caller: Caller,
    form: ExportFormat,
    kind: type[Row],
    read: Callable[[Connection, Asked], ListPage[Row]],
    *,
    descending: bool = False,
) -> Response:
    """Answer with the rows of a list: as CSV all of them, as JSON a page and its `next_cursor`."""
    caller.require(Permission.READ)
    cursor = request.query_params.get("cursor") or None

    def work(limit: int, cursor: str | None) -> ListPage[Row]:
        asked = caller.page(limit, cursor, descending=descending)
        return caller.read(lambda conn: read(conn, asked))

    return lists.answer(request, ListQuery(None, cursor, ListFormat(form)), kind, work)
