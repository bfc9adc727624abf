"""Backfills, of one DAG or of all, page by page.  Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.db.reads.backfill_views import BackfillProgress
from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage
from headway.domain.backfill import Direction, Reprocess

# Tasks are not counted, which takes long.
PAGE = hot("""
    SELECT it.id, it.dag_id, it.from_date, it.to_date, it.max_active_runs, it.planned,
           it.created_at, it.reprocess, it.direction, it.rollup, it.weight, it.idle_only,
           it.paused, it.cancelled_at, run.queued, run.running, run.succeeded, run.failed,
           0 AS tasks, 0 AS tasks_ended, 0 AS tasks_succeeded, 0 AS tasks_skipped,
           0 AS tasks_failed, it.bundle, run.ended_at
      FROM (SELECT backfill.*, dag.bundle
              FROM backfill
              JOIN dag ON dag.dag_id = backfill.dag_id
             WHERE (CAST(:bundles AS text[]) IS NULL
                    OR dag.bundle = ANY (CAST(:bundles AS text[])))
               AND (CAST(:dag_id AS text) IS NULL OR backfill.dag_id = :dag_id)
               AND (CAST(:number AS bigint) IS NULL OR backfill.id = :number)
               AND (NOT :paused OR backfill.paused AND backfill.cancelled_at IS NULL)
               AND CASE WHEN CAST(:last AS bigint) IS NULL THEN true
                        WHEN :descending THEN backfill.id < :last
                        ELSE backfill.id > :last END
             ORDER BY CASE WHEN :descending THEN backfill.id END DESC,
                      CASE WHEN NOT :descending THEN backfill.id END
             LIMIT :limit) AS it
     CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE state = 'queued') AS queued,
                  count(*) FILTER (WHERE state = 'running') AS running,
                  count(*) FILTER (WHERE state = 'success') AS succeeded,
                  count(*) FILTER (WHERE state = 'failed') AS failed,
                  max(ended_at) AS ended_at
             FROM dag_run WHERE backfill_id = it.id) AS run
     ORDER BY CASE WHEN :descending THEN it.id END DESC,
              CASE WHEN NOT :descending THEN it.id END
""")


@dataclass(frozen=True, slots=True)
class ListedBackfill:
    """A backfill and how far it has come, without its tasks: these are 0.

    `ended_at` is when the last of its runs ended, None unless all have ended and there is one.
    """

    backfill: BackfillProgress
    bundle: str
    ended_at: datetime | None


def page(
    conn: Connection, asked: Asked, dag_id: str | None = None, *, paused: bool = False
) -> ListPage[ListedBackfill]:
    """Return a page of the backfills, or of those that are paused, in the order of their making."""
    return _page(conn, asked, dag_id, paused=paused)


def one(conn: Connection, bundles: Sequence[str] | None, number: int) -> ListedBackfill | None:
    """Return the backfill of that number; None when there is none."""
    return next(iter(_page(conn, Asked(bundles, 1), number=number).rows), None)


def _page(
    conn: Connection,
    asked: Asked,
    dag_id: str | None = None,
    number: int | None = None,
    *,
    paused: bool = False,
) -> ListPage[ListedBackfill]:
    filters = {"dag_id": dag_id, "paused": paused}
    listing = PagedList("backfills", (int,), "id", asked.descending, filters)
    (last,) = listing.key(asked.cursor) or (None,)
    parameters = {
        "bundles": paging.as_list(asked.bundles),
        **filters,
        "number": number,
        "last": last,
        "descending": asked.descending,
        "limit": asked.limit + 1,
    }
    rows = [_listed(dict(row)) for row in conn.execute(PAGE, parameters).mappings()]
    return paging.listed(rows, asked.limit, listing, lambda row: (row.backfill.id,))


def _listed(fields: dict[str, Any]) -> ListedBackfill:
    bundle, ended_at = fields.pop("bundle"), fields.pop("ended_at")
    kinds = {
        "reprocess": Reprocess(fields["reprocess"]),
        "direction": Direction(fields["direction"]),
    }
    backfill = BackfillProgress(**{**fields, **kinds})
    return ListedBackfill(backfill, bundle, ended_at if backfill.finished else None)
