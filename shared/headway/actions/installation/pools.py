"""Set and delete pools."""

from sqlalchemy import Connection

from headway.db.core import events
from headway.db.core.events import Event
from headway.db.users import pools
from headway.domain.arguments import JsonValue
from headway.domain.dag.names import LONGEST_NAME
from headway.domain.dag.spec import DEFAULT_POOL
from headway.domain.errors import ConflictError, PoolNotFoundError, RequestError
from headway.domain.hints import Action, act, hint


def set_pool(
    conn: Connection,
    name: str,
    slots: int,
    description: str,
    actor: str,
    *,
    include_deferred: bool = False,
) -> None:
    """Create a pool, or change it; with `include_deferred` deferred tasks hold slots too."""
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise RequestError(f"A pool's name has 1 to {LONGEST_NAME} printable characters.")
    if slots < 0:
        raise RequestError(f"A pool has 0 or more slots, not {slots}.")
    pools.store(conn, name, slots, description, include_deferred=include_deferred)
    details: dict[str, JsonValue] = {
        "pool": name,
        "slots": slots,
        "include_deferred": include_deferred,
    }
    events.add(conn, Event(actor=actor, action="pool.set", details=details))


def delete_pool(conn: Connection, name: str, actor: str) -> None:
    """Delete a pool.  Tasks that name it wait until there is one of that name again."""
    if name == DEFAULT_POOL:
        raise ConflictError(f"The pool {DEFAULT_POOL} cannot be deleted; set its slots instead.")
    if not pools.delete(conn, name):
        raise no_pool(name)
    events.add(conn, Event(actor=actor, action="pool.delete", details={"pool": name}))


def no_pool(name: str) -> PoolNotFoundError:
    """Return the error for a pool that is not there."""
    return PoolNotFoundError(
        f"There is no pool {name!r}.", hint=hint(act(Action.LIST_POOLS), " shows them all.")
    )
