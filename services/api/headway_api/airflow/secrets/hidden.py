"""What stands in place of a secret, and how connections and variables are found."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection

from headway.db.reads.pages import paging, secret_pages
from headway.db.reads.pages.paging import MOST_ROWS, Asked, ListPage
from headway.db.reads.secret_views import SecretView
from headway.domain.errors import RequestError, SecretNotFoundError
from headway.domain.variable import SecretKind

HIDDEN: Final = "*** (hidden: the API shows no values of connections and variables)"
"""What a field has instead of what is stored, whether anything is stored or not."""


def stored(
    conn: Connection, asked: Asked, kind: SecretKind, like: str | None
) -> ListPage[SecretView]:
    """Return a page of what is stored of that kind; what is only granted is left out."""
    page = secret_pages.page(conn, asked, kind, like)
    return ListPage([row for row in page.rows if row.type is not None], page.following)


def one(conn: Connection, bundles: Sequence[str] | None, kind: SecretKind, name: str) -> SecretView:
    """Return what is stored under that name; SecretNotFoundError if nothing is, or it is hidden."""
    rows = stored(conn, Asked(bundles, MOST_ROWS), kind, paging.exactly(name)).rows
    for row in rows:
        if row.name == name:
            return row
    raise SecretNotFoundError(f"There is no {kind} {name!r}.")


def refuse_hidden(given: dict[str, Any]) -> None:
    """RequestError if a value is what the API shows instead of values."""
    for name, value in given.items():
        if value == HIDDEN:
            raise RequestError(
                f"{name} is the text that the API shows instead of a value; give the value itself."
            )
