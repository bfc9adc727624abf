"""Carry out what a request asks for: once for each idempotency key, or as a rehearsal."""

from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Annotated, Final, TypeAlias

from fastapi import Query, Request, Response
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions import transaction
from headway.actions.accounts import repeats
from headway.db.core.notices import Notice
from headway_api.auth.caller import Caller

DryRun: TypeAlias = Annotated[
    bool,
    Query(description="Show what would be done: all of it is done in a transaction, and undone."),
]

KEY: Final = "idempotency-key"
_REHEARSED: Final = {"Headway-Dry-Run": "true"}


def changed(  # noqa: PLR0913 - what a request asks for, and how
    caller: Caller,
    request: Request,
    work: Callable[[Connection], BaseModel | None],
    *,
    asked: BaseModel | None = None,
    status: int = HTTPStatus.OK,
    dry_run: bool = False,
    tell: Collection[Notice] = transaction.TOLD,
) -> Response:
    """Do `work` in one transaction, and answer by what it returns; `asked` is the request's body.

    A request with the header Idempotency-Key is carried out once in 24 hours: who sends it again
    gets the same answer.  A dry run changes nothing, takes no key, and is answered like the real
    one, with a header.
    """
    if dry_run:
        rehearsed = caller.change(work, tell, dry_run=True)
        return _answer(status, _body(rehearsed), _REHEARSED)
    key = request.headers.get(KEY)
    if key is None:
        return _answer(status, _body(caller.change(work, tell)))
    content = "" if asked is None else asked.model_dump_json()
    shown = "\n".join([request.method, request.url.path, request.url.query, content])

    def once(conn: Connection) -> tuple[int, str]:
        found = repeats.answered(conn, caller.account, key, shown)
        if found is not None and found.status is not None:
            return found.status, found.body or ""
        body = _body(work(conn))
        repeats.keep(conn, caller.account, key, (status, body))
        return status, body

    return _answer(*caller.change(once, tell))


def _body(result: BaseModel | None) -> str:
    return "" if result is None else result.model_dump_json(by_alias=True)


def _answer(status: int, body: str, headers: dict[str, str] | None = None) -> Response:
    if not body:
        empty = HTTPStatus.NO_CONTENT if status == HTTPStatus.OK else status
        return Response(status_code=empty, headers=headers)
    return Response(body, status, headers, media_type="application/json")
