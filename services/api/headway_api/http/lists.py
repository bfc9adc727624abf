"""Lists: a page as JSON, or all rows as CSV or NDJSON, which are sent while they are read."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import reduce
from io import StringIO
from operator import getitem
from typing import Annotated, Any, Final, Generic, TypeAlias, TypeVar, get_type_hints

from fastapi import Depends, Query, Request, Response
from pydantic import BaseModel, TypeAdapter
from starlette.responses import StreamingResponse

from headway.db.reads.pages.paging import MOST_ROWS, USUAL_ROWS, ListPage
from headway_api.http.documented import Documented

Row = TypeVar("Row")

MOST_STREAMED: Final = 1_000_000
"""Rows of the longest list as CSV or NDJSON."""

ReadPage: TypeAlias = Callable[[int, str | None], ListPage[Row]]
"""Reads up to so many rows after a cursor, in a transaction of its own."""


class ListFormat(StrEnum):
    """How a list is sent."""

    JSON = "json"
    CSV = "csv"
    NDJSON = "ndjson"


_MEDIA_TYPES: Final[Mapping[ListFormat, str]] = {
    ListFormat.CSV: "text/csv",
    ListFormat.NDJSON: "application/x-ndjson",
}

STREAMED: Final[Documented] = {
    200: {"content": {name: {"schema": {"type": "string"}} for name in _MEDIA_TYPES.values()}}
}
"""What a route of a list documents besides its JSON."""


class Listed(BaseModel, Generic[Row]):
    """A page of a list; `next_cursor` is the cursor of the rows that follow, null at the end."""

    rows: list[Row]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which rows of a list are asked for, and how they are to be sent."""

    limit: int | None
    cursor: str | None
    form: ListFormat | None


async def list_query(  # async, so that it needs no thread
    limit: Annotated[
        int | None,
        Query(
            ge=1,
            le=MOST_STREAMED,
            description=f"Rows at most. By default {USUAL_ROWS} as JSON, which has {MOST_ROWS:,} "
            f"at most; as CSV or NDJSON all rows up to {MOST_STREAMED:,}.",
        ),
    ] = None,
    cursor: Annotated[
        str | None, Query(description="The `next_cursor` of the page before.")
    ] = None,
    form: Annotated[
        ListFormat | None,
        Query(alias="format", description="How to send the list; else the header Accept says it."),
    ] = None,
) -> ListQuery:
    """Return which rows a request asks for."""
    return ListQuery(limit, cursor, form)


AnyList: TypeAlias = Annotated[ListQuery, Depends(list_query)]
"""The parameter by which a handler says that it answers with a list."""


def answer(request: Request, query: ListQuery, kind: type[Row], read: ReadPage[Row]) -> Response:
    """Answer with a page, or send all rows page by page."""
    form = query.form or _accepted(request)
    if form is ListFormat.JSON:
        page = read(query.limit or USUAL_ROWS, query.cursor)
        body = Listed[kind](  # type: ignore[valid-type]
            rows=list(page.rows), next_cursor=page.following
        )
        return Response(body.model_dump_json(), media_type="application/json")
    most = min(query.limit or MOST_STREAMED, MOST_STREAMED)
    # The first page is read before the answer begins, so that an error has a status of its own.
    first = read(min(most, MOST_ROWS), query.cursor)
    pages = _pages(first, read, most)
    text = _csv(kind, pages) if form is ListFormat.CSV else _ndjson(kind, pages)
    return StreamingResponse(text, media_type=_MEDIA_TYPES[form])


def _accepted(request: Request) -> ListFormat:
    accept = request.headers.get("accept", "")
    found = (form for form, media_type in _MEDIA_TYPES.items() if media_type in accept)
    return next(found, ListFormat.JSON)


def _pages(first: ListPage[Row], read: ReadPage[Row], most: int) -> Iterator[Sequence[Row]]:
    page, remaining = first, most
    while True:
        rows = page.rows[:remaining]
        yield rows
        remaining -= len(rows)
        if page.following is None or not remaining:
            return
        page = read(min(remaining, MOST_ROWS), page.following)


def _ndjson(kind: type[Row], pages: Iterator[Sequence[Row]]) -> Iterator[bytes]:
    to_json = TypeAdapter[Any](kind).dump_json
    for rows in pages:
        yield b"".join(to_json(row) + b"\n" for row in rows)


def _csv(kind: type[Row], pages: Iterator[Sequence[Row]]) -> Iterator[str]:
    columns, to_python = list(_columns(kind)), TypeAdapter[Any](kind).dump_python
    yield _records([[column[-1] for column in columns]])
    for rows in pages:
        plain = [to_python(row, mode="json") for row in rows]
        yield _records(
            [[_cell(reduce(getitem, column, row)) for column in columns] for row in plain]
        )


def _columns(kind: Any) -> Iterator[tuple[str, ...]]:
    """Yield where the cells of a row are: the fields of a dataclass in it are columns as well."""
    if not is_dataclass(kind):
        yield from ((name,) for name in kind.model_fields)
        return
    types = get_type_hints(kind)
    for each in fields(kind):
        inner = types[each.name]
        if is_dataclass(inner):
            yield from ((each.name, *column) for column in _columns(inner))
        else:
            yield (each.name,)


def _records(rows: Sequence[Sequence[str]]) -> str:
    text = StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
