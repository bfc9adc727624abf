"""The journal page by page.  Reads only."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from sqlalchemy import Connection, text

from headway.db.reads.event_views import EventView
from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import Key, PagedList
from headway.db.reads.pages.paging import ALWAYS, Asked, CappedTotal, ListPage, Looked, TimeRange

# What is about no DAG, or about one that is gone, is for those alone who see every bundle.
KEYS = text("""
    WITH found AS (
        SELECT id, matches, number = :rows AS is_end
          FROM (SELECT id, row_number() OVER () AS number,
                       (CAST(:bundles AS text[]) IS NULL
                        OR coalesce((SELECT bundle FROM dag WHERE dag.dag_id = entry.dag_id)
                                    = ANY (CAST(:bundles AS text[])), false))
                       AND (CAST(:dag_id AS text) IS NULL OR dag_id = :dag_id)
                       AND (CAST(:dag_id_like AS text) IS NULL OR dag_id ILIKE :dag_id_like)
                       AND (CAST(:run_id AS text) IS NULL OR run_id = :run_id)
                       AND (CAST(:run_id_like AS text) IS NULL OR run_id ILIKE :run_id_like)
                       AND (CAST(:task_id AS text) IS NULL OR task_id = :task_id)
                       AND (CAST(:task_id_like AS text) IS NULL OR task_id ILIKE :task_id_like)
                       AND (CAST(:actor AS text) IS NULL OR actor = :actor)
                       AND (CAST(:actor_like AS text) IS NULL OR actor ILIKE :actor_like)
                       AND (CAST(:actions AS text[]) IS NULL
                            OR action = ANY (CAST(:actions AS text[])))
                       AND (CAST(:not_actions AS text[]) IS NULL
                            OR action <> ALL (CAST(:not_actions AS text[])))
                       AND (CAST(:action_like AS text) IS NULL OR action ILIKE :action_like)
                       AND (CAST(:at_start AS timestamptz) IS NULL OR at >= :at_start)
                       AND (CAST(:at_end AS timestamptz) IS NULL OR at < :at_end) AS matches
                  FROM (SELECT id, at, actor, action, dag_id, run_id, task_id
                          FROM event
                         WHERE CASE WHEN CAST(:last_id AS bigint) IS NULL THEN true
                                    WHEN :descending THEN id < :last_id
                                    ELSE id > :last_id END
                         ORDER BY CASE WHEN :descending THEN id END DESC,
                                  CASE WHEN NOT :descending THEN id END
                         LIMIT :rows) AS entry) AS looked
         WHERE matches OR number = :rows
         LIMIT :most
    )
    SELECT id, matches, is_end, matching
      FROM (SELECT *, count(*) FILTER (WHERE matches) OVER () AS matching,
                   row_number() OVER () AS nth, count(*) OVER () AS last
              FROM found) AS counted
     WHERE nth <= :shown OR nth = last
""")

ROWS = text("""
    SELECT event.id, at, actor, action, event.dag_id, run_id, task_id, details
      FROM event
      LEFT JOIN dag ON dag.dag_id = event.dag_id
     WHERE event.id = ANY (:ids)
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
""")


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which entries of the journal are wanted; None is any.

    What ends in `_like` is an ILIKE pattern.  `not_actions` are left out.
    """

    dag_id: str | None = None
    dag_id_like: str | None = None
    run_id: str | None = None
    run_id_like: str | None = None
    task_id: str | None = None
    task_id_like: str | None = None
    actor: str | None = None
    actor_like: str | None = None
    actions: Sequence[str] | None = None
    not_actions: Sequence[str] | None = None
    action_like: str | None = None
    at: TimeRange = ALWAYS


@dataclass(frozen=True, slots=True)
class ListedEvent:
    """An entry of the journal with its number."""

    id: int
    event: EventView


ANY_EVENT: Final = EventFilter()


def page(conn: Connection, asked: Asked, wanted: EventFilter = ANY_EVENT) -> ListPage[ListedEvent]:
    """Return a page of the entries that are wanted, in the order in which they were made."""
    listing = PagedList("events", (int,), "id", asked.descending, asdict(wanted))
    look = _EventSearch(conn, asked, wanted).look
    found = paging.search(look, listing.key(asked.cursor), asked.limit, counted=asked.counted)
    rows = _rows(conn, asked.bundles, [key[0] for key in found.keys])
    return ListPage(rows, listing.following(found.following), total=found.total)


def total(
    conn: Connection, bundles: Sequence[str] | None, wanted: EventFilter = ANY_EVENT
) -> CappedTotal:
    """Count the entries that are wanted."""
    look = _EventSearch(conn, Asked(bundles, descending=True), wanted).look
    return paging.count(look)


def one(conn: Connection, bundles: Sequence[str] | None, number: int) -> ListedEvent | None:
    """Return the entry of that number; None when there is none."""
    return next(iter(_rows(conn, bundles, [number])), None)


@dataclass(frozen=True, slots=True)
class _EventSearch:
    """Looks for the entries that are wanted."""

    conn: Connection
    asked: Asked
    wanted: EventFilter

    def look(self, after: Key | None, rows: int, most: int, shown: int) -> Looked:
        fields = {name: getattr(self.wanted, name) for name in EventFilter.__dataclass_fields__}
        at: TimeRange = fields.pop("at")
        lists = {name: paging.as_list(fields[name]) for name in ("actions", "not_actions")}
        parameters = {
            **fields,
            **lists,
            "at_start": at.start,
            "at_end": at.end,
            "bundles": paging.as_list(self.asked.bundles),
            "rows": rows,
            "most": most,
            "shown": shown,
            "descending": self.asked.descending,
            "last_id": after and after[0],
        }
        found = self.conn.execute(KEYS, parameters).all()
        matching = found[-1].matching if found else 0
        keys: list[Key] = [(row.id,) for row in found[:shown] if row.matches]
        return Looked(keys, matching, (found[-1].id,) if found and found[-1].is_end else None)


def _rows(
    conn: Connection, bundles: Sequence[str] | None, ids: Sequence[object]
) -> list[ListedEvent]:
    """Return the entries of these numbers, in that order, as far as they are still there."""
    asked = {"ids": list(ids), "bundles": paging.as_list(bundles)}
    found = {}
    for row in conn.execute(ROWS, asked).mappings() if ids else ():
        fields = dict(row)
        number = fields.pop("id")
        found[number] = ListedEvent(number, EventView(**fields))
    return [found[number] for number in ids if number in found]
