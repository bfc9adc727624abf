"""Pools with what takes their slots, page by page.  Reads only."""

from collections.abc import Sequence

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import MOST_ROWS, Asked, ListPage
from headway.db.reads.pool_views import PoolView

# A pool is of no bundle.  Who sees some bundles alone sees the pools that active DAGs of these
# name, with all that takes their slots.
PAGE = hot("""
    SELECT name, slots, description, include_deferred,
           (SELECT coalesce(sum(pool_slots), 0) FROM task_attempt
             WHERE pool = it.name AND ended_at IS NULL AND phase = 'queued') AS queued,
           (SELECT coalesce(sum(pool_slots), 0) FROM task_attempt
             WHERE pool = it.name AND ended_at IS NULL AND phase <> 'queued') AS running,
           (SELECT count(*) FROM task_instance
             WHERE pool = it.name AND state = 'scheduled' AND limited)
           + (SELECT count(*) FROM task_instance
               WHERE pool = it.name AND state = 'scheduled' AND NOT limited)
           + (SELECT coalesce(sum(pool_slots - 1), 0) FROM task_instance
               WHERE pool = it.name AND state = 'scheduled' AND pool_slots > 1) AS scheduled,
           (SELECT coalesce(sum(pool_slots), 0) FROM task_instance
             WHERE pool = it.name AND state = 'deferred') AS deferred
      FROM (SELECT pool.*
              FROM pool
             WHERE (CAST(:bundles AS text[]) IS NULL
                    OR EXISTS (SELECT FROM dag
                                 JOIN dag_task ON dag_task.version_id = dag.version_id
                                WHERE dag.active
                                  AND dag.bundle = ANY (CAST(:bundles AS text[]))
                                  AND dag_task.pool = pool.name))
               AND (CAST(:name_like AS text) IS NULL OR name ILIKE :name_like)
               AND CASE WHEN CAST(:last AS text) IS NULL THEN true
                        WHEN :descending THEN name < :last
                        ELSE name > :last END
             ORDER BY CASE WHEN :descending THEN name END DESC,
                      CASE WHEN NOT :descending THEN name END
             LIMIT :limit) AS it
     ORDER BY CASE WHEN :descending THEN it.name END DESC,
              CASE WHEN NOT :descending THEN it.name END
""")


def page(conn: Connection, asked: Asked, name_like: str | None = None) -> ListPage[PoolView]:
    """Return a page of the pools, by name."""
    listing = PagedList("pools", (str,), "name", asked.descending, {"name_like": name_like})
    (last,) = listing.key(asked.cursor) or (None,)
    parameters = {
        "bundles": paging.as_list(asked.bundles),
        "name_like": name_like,
        "last": last,
        "descending": asked.descending,
        "limit": asked.limit + 1,
    }
    rows = [PoolView(**row) for row in conn.execute(PAGE, parameters).mappings()]
    return paging.listed(rows, asked.limit, listing, lambda pool: (pool.name,))


def one(conn: Connection, bundles: Sequence[str] | None, name: str) -> PoolView | None:
    """Return the pool of that name; None when there is none."""
    rows = page(conn, Asked(bundles, MOST_ROWS), paging.exactly(name)).rows
    return next((pool for pool in rows if pool.name == name), None)
