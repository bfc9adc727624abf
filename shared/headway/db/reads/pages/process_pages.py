"""Service processes, those that have ended too, page by page.  Reads only."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import ALWAYS, Asked, ListPage, TimeRange
from headway.db.reads.process_views import ProcessView

# A process is of no bundle: who sees some alone sees none.
PAGE = hot("""
    SELECT process.id, kind, hostname, pid, version, queues, slots, started_at,
           coalesce(beat.beat_at, started_at) AS beat_at, drain_requested_at, beat.report,
           (SELECT count(*) FROM task_attempt
             WHERE process_id = process.id AND task_attempt.ended_at IS NULL) AS running,
           ended_at
      FROM process
      LEFT JOIN process_beat AS beat ON beat.process_id = process.id
     WHERE CAST(:bundles AS text[]) IS NULL
       AND (CAST(:kind AS text) IS NULL OR kind = :kind)
       AND (CAST(:hostname AS text) IS NULL OR hostname = :hostname)
       AND (CAST(:ended AS boolean) IS NULL OR (ended_at IS NOT NULL) = :ended)
       AND (CAST(:started_start AS timestamptz) IS NULL OR started_at >= :started_start)
       AND (CAST(:started_end AS timestamptz) IS NULL OR started_at < :started_end)
       AND (CAST(:ended_start AS timestamptz) IS NULL OR ended_at >= :ended_start)
       AND (CAST(:ended_end AS timestamptz) IS NULL OR ended_at < :ended_end)
       AND CASE WHEN CAST(:last AS bigint) IS NULL THEN true
                WHEN :descending THEN process.id < :last
                ELSE process.id > :last END
     ORDER BY CASE WHEN :descending THEN process.id END DESC,
              CASE WHEN NOT :descending THEN process.id END
     LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class ProcessFilter:
    """Which processes are wanted; None is any.  `ended` wants those that have ended, or not."""

    kind: str | None = None
    hostname: str | None = None
    ended: bool | None = None
    started_at: TimeRange = ALWAYS
    ended_at: TimeRange = ALWAYS


@dataclass(frozen=True, slots=True)
class ListedProcess:
    """A service process, and when it ended, None until then.

    The last heartbeat of one that never had any is when it started.
    """

    process: ProcessView
    ended_at: datetime | None


ANY_PROCESS: Final = ProcessFilter()


def page(
    conn: Connection, asked: Asked, wanted: ProcessFilter = ANY_PROCESS
) -> ListPage[ListedProcess]:
    """Return a page of the processes that are wanted, in the order in which they started."""
    filters = _filters(wanted)
    listing = PagedList("processes", (int,), "id", asked.descending, filters)
    (last,) = listing.key(asked.cursor) or (None,)
    parameters = {
        **filters,
        "bundles": paging.as_list(asked.bundles),
        "last": last,
        "descending": asked.descending,
        "limit": asked.limit + 1,
    }
    rows = [_listed(dict(row)) for row in conn.execute(PAGE, parameters).mappings()]
    return paging.listed(rows, asked.limit, listing, lambda row: (row.process.id,))


def _filters(wanted: ProcessFilter) -> dict[str, object]:
    return {
        "kind": wanted.kind,
        "hostname": wanted.hostname,
        "ended": wanted.ended,
        "started_start": wanted.started_at.start,
        "started_end": wanted.started_at.end,
        "ended_start": wanted.ended_at.start,
        "ended_end": wanted.ended_at.end,
    }


def _listed(fields: dict[str, Any]) -> ListedProcess:
    ended_at = fields.pop("ended_at")
    return ListedProcess(ProcessView(**fields), ended_at)
