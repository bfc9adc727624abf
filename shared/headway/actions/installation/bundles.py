"""Forget a bundle that no parser looks at any more."""

from sqlalchemy import Connection

from headway.actions.change import Author
from headway.db.core import events
from headway.db.core.events import Event
from headway.db.reads import bundle_views
from headway.db.users import removal
from headway.domain.arguments import JsonValue
from headway.domain.errors import BundleNotFoundError, StillActiveError
from headway.domain.hints import Action, act, hint


def forget_bundle(conn: Connection, name: str, author: Author) -> list[str]:
    """Deactivate the DAGs of a bundle, and return their ids; their history stays.

    ConflictError while a parser looks at it, which would enter them again.
    """
    found = next((bundle for bundle in bundle_views.list_all(conn) if bundle.name == name), None)
    if found is None:
        raise BundleNotFoundError(
            f"There is no bundle {name!r}.", hint=hint(act(Action.LIST_BUNDLES), " shows them all.")
        )
    if found.parsers:
        parsers = "a parser looks" if found.parsers == 1 else f"{found.parsers} parsers look"
        raise StillActiveError(
            f"The bundle {name} is not forgotten: {parsers} at it. Remove it from their settings "
            "and restart them first."
        )
    gone = removal.forget_bundle(conn, name)
    details: dict[str, JsonValue] = {"bundle": name, "dags": [*sorted(gone)]}
    if author.reason is not None:
        details["reason"] = author.reason
    events.add(conn, Event(actor=author.actor, action="bundle.forget", details=details))
    return gone
