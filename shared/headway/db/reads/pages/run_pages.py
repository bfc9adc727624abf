"""DAG runs, of one DAG or of all, page by page.  Reads only."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, cast

from sqlalchemy import Connection, text

from headway.db.core.prepared import hot
from headway.db.reads.pages import paging
from headway.db.reads.pages.columns import values_of
from headway.db.reads.pages.cursors import Key, PagedList
from headway.db.reads.pages.paging import (
    ALWAYS,
    ANY_DURATION,
    Asked,
    CappedTotal,
    DurationRange,
    ListPage,
    Looked,
    TimeRange,
)
from headway.db.reads.run_views import RunView
from headway.domain.states import RunState, RunType

# The server knows the order and whether it is descending when it plans: each CASE of them is one
# of its branches then, and the innermost SELECT walks along an index.  Rows without a place have
# their number alone.
KEYS = text("""
    WITH found AS (
        SELECT place, id, matches, number = :rows AS is_end
          FROM (SELECT place, id, row_number() OVER () AS number,
                       (CAST(:bundles AS text[]) IS NULL
                        OR (SELECT bundle FROM dag WHERE dag.dag_id = run.dag_id)
                           = ANY (CAST(:bundles AS text[])))
                       AND (CAST(:dag_ids AS text[]) IS NULL
                            OR dag_id = ANY (CAST(:dag_ids AS text[])))
                       AND (CAST(:dag_id_like AS text) IS NULL OR dag_id ILIKE :dag_id_like)
                       AND (CAST(:run_id_like AS text) IS NULL OR run_id ILIKE :run_id_like)
                       AND (CAST(:states AS text[]) IS NULL
                            OR state = ANY (CAST(:states AS text[])))
                       AND (CAST(:run_types AS text[]) IS NULL
                            OR run_type = ANY (CAST(:run_types AS text[])))
                       AND (CAST(:version AS int) IS NULL
                            OR (SELECT version.number FROM dag_version AS version
                                 WHERE version.id = run.version_id) = :version)
                       AND (CAST(:backfill_id AS bigint) IS NULL OR backfill_id = :backfill_id)
                       AND (CAST(:after_start AS timestamptz) IS NULL OR run_after >= :after_start)
                       AND (CAST(:after_end AS timestamptz) IS NULL OR run_after < :after_end)
                       AND (CAST(:date_start AS timestamptz) IS NULL
                            OR logical_date >= :date_start)
                       AND (CAST(:date_end AS timestamptz) IS NULL OR logical_date < :date_end)
                       AND (CAST(:started_start AS timestamptz) IS NULL
                            OR started_at >= :started_start)
                       AND (CAST(:started_end AS timestamptz) IS NULL OR started_at < :started_end)
                       AND (CAST(:ended_start AS timestamptz) IS NULL OR ended_at >= :ended_start)
                       AND (CAST(:ended_end AS timestamptz) IS NULL OR ended_at < :ended_end)
                       AND (CAST(:least AS float8) IS NULL
                            OR extract(epoch FROM ended_at - started_at) >= CAST(:least AS float8))
                       AND (CAST(:most_seconds AS float8) IS NULL
                            OR extract(epoch FROM ended_at - started_at)
                               <= CAST(:most_seconds AS float8))
                       AS matches
                  FROM (SELECT *
                          FROM (SELECT id, dag_id, run_id, state, run_type, version_id, backfill_id,
                                       run_after, schedule_date, started_at, ended_at,
                                       CASE WHEN run_type = 'manual' THEN schedule_date
                                            ELSE interval_start END AS logical_date,
                                       CASE CAST(:order AS text)
                                            WHEN 'run_after' THEN run_after
                                            WHEN 'logical_date' THEN schedule_date
                                            WHEN 'started' THEN started_at
                                            WHEN 'ended' THEN ended_at END AS place
                                  FROM dag_run) AS placed
                         WHERE (CAST(:dag_id AS text) IS NULL OR dag_id = :dag_id)
                           AND (NOT :unfinished OR state = 'queued' OR state = 'running')
                           AND CASE WHEN :placed THEN place IS NOT NULL ELSE place IS NULL END
                           AND (CAST(:place_start AS timestamptz) IS NULL OR place >= :place_start)
                           AND (CAST(:place_end AS timestamptz) IS NULL OR place < :place_end)
                           AND CASE WHEN CAST(:last_id AS bigint) IS NULL THEN true
                                    WHEN :placed AND :descending
                                    THEN (place, id) < (CAST(:last_place AS timestamptz), :last_id)
                                    WHEN :placed
                                    THEN (place, id) > (CAST(:last_place AS timestamptz), :last_id)
                                    WHEN :descending THEN id < :last_id
                                    ELSE id > :last_id END
                         ORDER BY CASE WHEN :placed AND :descending THEN place END DESC,
                                  CASE WHEN :placed AND NOT :descending THEN place END,
                                  CASE WHEN :descending THEN id END DESC,
                                  CASE WHEN NOT :descending THEN id END
                         LIMIT :rows) AS run) AS looked
         WHERE matches OR number = :rows
         LIMIT :most
    )
    SELECT place, id, matches, is_end, matching
      FROM (SELECT *, count(*) FILTER (WHERE matches) OVER () AS matching,
                   row_number() OVER () AS nth, count(*) OVER () AS last
              FROM found) AS counted
     WHERE nth <= :shown OR nth = last
""")

ROWS = hot("""
    SELECT run.dag_id, run.run_id, run.run_type, run.state, run.interval_start,
           run.interval_end, run.schedule_date, run.run_after, run.started_at, run.ended_at,
           run.conf, version.number AS version, run.backfill_id,
           run.id, run.version_id, run.created_at, dag.bundle, version.commit, run.timed_out,
           version.created_at AS version_created_at
      FROM dag_run AS run
      JOIN dag ON dag.dag_id = run.dag_id
      JOIN dag_version AS version ON version.id = run.version_id
     WHERE run.id = ANY (:ids)
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
""")

NUMBER = hot("SELECT id FROM dag_run WHERE dag_id = :dag_id AND run_id = :run_id")


class RunOrder(StrEnum):
    """By what runs are listed; those that have none of it come last, or first when descending.

    The logical date is taken for the `schedule_date` here, by which there is an index.
    """

    CREATED = "created"
    RUN_AFTER = "run_after"
    LOGICAL_DATE = "logical_date"
    STARTED = "started"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are wanted; None is any.

    What ends in `_like` is an ILIKE pattern.  `version` is the number of the DAG's version.  The
    logical date of a manual run is its `schedule_date`, that of any other the start of its
    interval.
    """

    dag_id: str | None = None
    dag_ids: Sequence[str] | None = None
    dag_id_like: str | None = None
    run_id_like: str | None = None
    states: Sequence[RunState] | None = None
    run_types: Sequence[RunType] | None = None
    version: int | None = None
    backfill_id: int | None = None
    run_after: TimeRange = ALWAYS
    logical_date: TimeRange = ALWAYS
    started: TimeRange = ALWAYS
    ended: TimeRange = ALWAYS
    duration: DurationRange = ANY_DURATION


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A DAG run, with its number and that of its version, when it was created, its DAG's bundle.

    `commit` is the commit of the bundle at which the version was seen first, None for a plain
    folder.  `timed_out` tells whether it was ended because its time was over.
    """

    run: RunView
    id: int
    version_id: int
    created_at: datetime
    bundle: str
    commit: str | None
    timed_out: bool
    version_created_at: datetime


ANY_RUN: Final = RunFilter()
_MAY_LACK: Final = {RunOrder.STARTED, RunOrder.ENDED}
_KINDS: Final = (bool, (datetime, type(None)), (int, type(None)))


def page(
    conn: Connection, asked: Asked, wanted: RunFilter = ANY_RUN, order: RunOrder = RunOrder.CREATED
) -> ListPage[ListedRun]:
    """Return a page of the runs that are wanted."""
    listing = PagedList("runs", _KINDS, order, asked.descending, asdict(wanted))
    look = _RunSearch(conn, asked, wanted, order).look
    found = paging.search(look, listing.key(asked.cursor), asked.limit, counted=asked.counted)
    rows = _rows(conn, asked.bundles, [cast(int, key[2]) for key in found.keys])
    following, preceding = listing.following(found.following), listing.preceding(found.keys)
    return ListPage(rows, following, preceding, found.total)


def one(
    conn: Connection, bundles: Sequence[str] | None, dag_id: str, run_id: str
) -> ListedRun | None:
    """Return that run; None when there is none of that name."""
    found = conn.scalars(NUMBER, {"dag_id": dag_id, "run_id": run_id}).all()
    return next(iter(_rows(conn, bundles, list(found))), None)


def total(
    conn: Connection, bundles: Sequence[str] | None, wanted: RunFilter = ANY_RUN
) -> CappedTotal:
    """Count the runs that are wanted."""
    asked = Asked(bundles, descending=True)
    look = _RunSearch(conn, asked, wanted, RunOrder.CREATED).look
    return paging.count(look)


@dataclass(frozen=True, slots=True)
class _RunSearch:
    """Looks for the runs that are wanted, in that order."""

    conn: Connection
    asked: Asked
    wanted: RunFilter
    order: RunOrder

    def look(self, after: Key | None, rows: int, most: int, shown: int) -> Looked:
        bounds = self._bounds()
        parts = _parts(self.order, descending=self.asked.descending)
        if bounds != ALWAYS:  # a run without a place is in no range
            parts = (True,)
        placed, place, last = after or (parts[0], None, None)
        parameters = {
            **_parameters(self.wanted),
            "bundles": paging.as_list(self.asked.bundles),
            "descending": self.asked.descending,
            # Only such runs may lack a place, and they have indexes of their own.
            "unfinished": _only_unfinished(self.wanted) or (self.order in _MAY_LACK and not placed),
            "order": str(self.order),
            "placed": placed,
            "place_start": bounds.start,
            "place_end": bounds.end,
            "last_place": place,
            "last_id": last,
            "rows": rows,
            "most": most,
            "shown": shown,
        }
        found = self.conn.execute(KEYS, parameters).all()
        matching = found[-1].matching if found else 0
        keys: list[Key] = [(placed, row.place, row.id) for row in found[:shown] if row.matches]
        if found and found[-1].is_end:
            return Looked(keys, matching, (placed, found[-1].place, found[-1].id))
        if parts[0] == placed and len(parts) > 1:
            return Looked(keys, matching, (parts[1], None, None))
        return Looked(keys, matching, None)

    def _bounds(self) -> TimeRange:
        """Return the range of places that are wanted: nothing beyond it is looked at."""
        return {
            RunOrder.RUN_AFTER: self.wanted.run_after,
            RunOrder.STARTED: self.wanted.started,
            RunOrder.ENDED: self.wanted.ended,
        }.get(self.order, ALWAYS)


def _parts(order: RunOrder, *, descending: bool) -> Sequence[bool]:
    """Return the parts of a list, in order: whether the runs of each have a place in it."""
    if order is RunOrder.CREATED:
        return (False,)
    if order not in _MAY_LACK:
        return (True,)
    return (False, True) if descending else (True, False)


def _only_unfinished(wanted: RunFilter) -> bool:
    states = wanted.states
    return states is not None and {*states} <= {RunState.QUEUED, RunState.RUNNING}


def _parameters(wanted: RunFilter) -> dict[str, object]:
    ranges = {
        "after": wanted.run_after,
        "date": wanted.logical_date,
        "started": wanted.started,
        "ended": wanted.ended,
    }
    return {
        "dag_id": wanted.dag_id,
        "dag_ids": paging.as_list(wanted.dag_ids),
        "dag_id_like": wanted.dag_id_like,
        "run_id_like": wanted.run_id_like,
        "version": wanted.version,
        "states": paging.as_list(wanted.states),
        "backfill_id": wanted.backfill_id,
        "run_types": paging.as_list(wanted.run_types),
        **{f"{name}_start": it.start for name, it in ranges.items()},
        **{f"{name}_end": it.end for name, it in ranges.items()},
        "least": wanted.duration.least,
        "most_seconds": wanted.duration.most,
    }


def _rows(conn: Connection, bundles: Sequence[str] | None, ids: list[int]) -> list[ListedRun]:
    """Return the runs of these numbers, in that order, as far as they are still there."""
    if not ids:
        return []
    found = {}
    rows = conn.execute(ROWS, {"ids": ids, "bundles": paging.as_list(bundles)})
    of_run = values_of(RunView, rows.keys(), run_type=RunType, state=RunState)
    of_listed = values_of(ListedRun, rows.keys(), skip=1)
    for row in rows.all():  # one by one they would take half as long again
        found[row.id] = ListedRun(RunView(*of_run(row)), *of_listed(row))
    return [found[number] for number in ids if number in found]
