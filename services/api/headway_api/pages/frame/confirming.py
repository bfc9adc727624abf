"""Changes by forms: what would be done is rehearsed and shown; then it is done, and told."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from fastapi import Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.transaction import TOLD
from headway.db.core.notices import Notice
from headway_api.auth.caller import Caller
from headway_api.pages.frame.rendering import page

PREVIEW: Final = "preview"
"""The field of a form that says which preview was shown."""

_DIGEST_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class PageChange:
    """A change: what to call it, and `work`, which does it and returns what it did in a sentence.

    `subject` is the page that it is about, and `result`, if there is one, returns the page of what
    was made.  `fields` are sent along with the form.  `tell` is who is told when it is done.
    """

    title: str
    verb: str
    subject: str
    work: Callable[[Connection], str]
    fields: Mapping[str, str] = field(default_factory=dict)
    result: Callable[[], str] | None = None
    tell: Collection[Notice] = TOLD


def rehearsed(request: Request, caller: Caller, change: PageChange) -> Response:
    """Show what the change would do: all of it is done in a transaction, and undone."""
    said = caller.change(change.work, dry_run=True)
    context = {"change": change, "said": said, "fields": {**change.fields, PREVIEW: _digest(said)}}
    return page(request, "confirm.html", caller, context)


def carried_out(
    request: Request, caller: Caller, change: PageChange, given: Mapping[str, str]
) -> Response:
    """Do it, and tell what it did, and whether that is what the preview said."""
    said = caller.change(change.work, change.tell)
    differs = PREVIEW in given and given[PREVIEW] != _digest(said)
    onward = change.subject if change.result is None else change.result()
    context = {"change": change, "said": said, "differs": differs, "onward": onward}
    return page(request, "changed.html", caller, context)


def _digest(said: str) -> str:
    return blake2b(said.encode(), digest_size=_DIGEST_BYTES).hexdigest()
