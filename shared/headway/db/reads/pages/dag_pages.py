"""DAGs, their tags, and their runs by state.  Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, text

from headway.db.core.prepared import hot
from headway.db.reads.dag_views import DagView
from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import Key, PagedList
from headway.db.reads.pages.paging import MOST_ROWS, Asked, CappedTotal, ListPage
from headway.domain.states import RunState

# There are far fewer DAGs than runs: all that match are put in order, and what is counted for a
# row is counted for the rows of the page.  What has no time stands behind all that have one.
PAGE = text("""
    SELECT dag.dag_id, dag.active, dag.paused, dag.tags, dag.description, dag.bundle,
           dag.relative_path, version.number AS version, dag.max_active_runs,
           dag.max_active_tasks, dag.next_interval_start, dag.next_interval_end,
           CASE WHEN dag.next_interval_start IS NOT NULL THEN dag.next_run_after END
               AS next_run_after,
           dag.schedule_error,
           (SELECT count(*) FROM dag_task WHERE version_id = dag.version_id) AS tasks,
           (SELECT count(*) FROM dag_run
             WHERE dag_run.dag_id = dag.dag_id AND state = 'running') AS running,
           it.place, it.last_run_id, it.last_run_state, it.last_run_date, version.commit,
           version.created_at AS version_created_at, version.id AS version_id,
           version.fingerprint, file.parsed_at, file.seconds AS parse_seconds,
           EXISTS (SELECT FROM import_error AS error
                    WHERE error.bundle = dag.bundle
                      AND error.relative_path = dag.relative_path) AS import_error
      FROM (SELECT found.*
              FROM (SELECT dag.dag_id, last.run_id AS last_run_id, last.state AS last_run_state,
                           last.schedule_date AS last_run_date,
                           CASE CAST(:order AS text)
                                WHEN 'next_run'
                                THEN CASE WHEN dag.next_interval_start IS NULL
                                               OR dag.next_run_after IS NULL
                                          THEN timestamptz '9999-01-01 00:00Z'
                                          ELSE dag.next_run_after END
                                WHEN 'last_run'
                                THEN coalesce(last.schedule_date,
                                              timestamptz '9999-01-01 00:00Z')
                                ELSE timestamptz '9999-01-01 00:00Z' END AS place
                      FROM dag
                      LEFT JOIN LATERAL (
                           SELECT run_id, state, schedule_date
                             FROM dag_run
                            WHERE dag_run.dag_id = dag.dag_id
                            ORDER BY schedule_date DESC, id DESC
                            LIMIT 1) AS last ON true
                     WHERE (CAST(:bundles AS text[]) IS NULL
                            OR dag.bundle = ANY (CAST(:bundles AS text[])))
                       AND (CAST(:bundle AS text) IS NULL OR dag.bundle = :bundle)
                       AND (CAST(:dag_id AS text) IS NULL OR dag.dag_id = :dag_id)
                       AND (CAST(:dag_id_like AS text) IS NULL OR dag.dag_id ILIKE :dag_id_like)
                       AND (CAST(:any_tag AS text[]) IS NULL
                            OR dag.tags && CAST(:any_tag AS text[]))
                       AND (CAST(:all_tags AS text[]) IS NULL
                            OR dag.tags @> CAST(:all_tags AS text[]))
                       AND (CAST(:paused AS boolean) IS NULL OR dag.paused = :paused)
                       AND (CAST(:active AS boolean) IS NULL OR dag.active = :active)
                       AND (CAST(:last_states AS text[]) IS NULL
                            OR last.state = ANY (CAST(:last_states AS text[])))
                       AND (CAST(:import_error AS boolean) IS NULL
                            OR EXISTS (SELECT FROM import_error AS error
                                        WHERE error.bundle = dag.bundle
                                          AND error.relative_path = dag.relative_path)
                               = :import_error)) AS found
             WHERE CASE WHEN CAST(:last_id AS text) IS NULL THEN true
                        WHEN :descending
                        THEN (place, dag_id) < (CAST(:last_place AS timestamptz), :last_id)
                        ELSE (place, dag_id) > (CAST(:last_place AS timestamptz), :last_id) END
             ORDER BY CASE WHEN :descending THEN place END DESC,
                      CASE WHEN :descending THEN dag_id END DESC,
                      CASE WHEN NOT :descending THEN place END,
                      CASE WHEN NOT :descending THEN dag_id END
             LIMIT :limit) AS it
      JOIN dag ON dag.dag_id = it.dag_id
      LEFT JOIN dag_version AS version ON version.id = dag.version_id
      LEFT JOIN dag_file AS file ON file.bundle = dag.bundle
                                AND file.relative_path = dag.relative_path
     ORDER BY CASE WHEN :descending THEN it.place END DESC,
              CASE WHEN :descending THEN it.dag_id END DESC,
              CASE WHEN NOT :descending THEN it.place END,
              CASE WHEN NOT :descending THEN it.dag_id END
""")

TOTAL = text("""
    SELECT count(*)
      FROM (SELECT
              FROM dag
             WHERE (CAST(:bundles AS text[]) IS NULL
                    OR dag.bundle = ANY (CAST(:bundles AS text[])))
               AND (CAST(:bundle AS text) IS NULL OR dag.bundle = :bundle)
               AND (CAST(:dag_id AS text) IS NULL OR dag.dag_id = :dag_id)
               AND (CAST(:dag_id_like AS text) IS NULL OR dag.dag_id ILIKE :dag_id_like)
               AND (CAST(:any_tag AS text[]) IS NULL OR dag.tags && CAST(:any_tag AS text[]))
               AND (CAST(:all_tags AS text[]) IS NULL OR dag.tags @> CAST(:all_tags AS text[]))
               AND (CAST(:paused AS boolean) IS NULL OR dag.paused = :paused)
               AND (CAST(:active AS boolean) IS NULL OR dag.active = :active)
               AND (CAST(:last_states AS text[]) IS NULL
                    OR (SELECT state
                          FROM dag_run
                         WHERE dag_run.dag_id = dag.dag_id
                         ORDER BY schedule_date DESC, id DESC
                         LIMIT 1) = ANY (CAST(:last_states AS text[])))
               AND (CAST(:import_error AS boolean) IS NULL
                    OR EXISTS (SELECT FROM import_error AS error
                                WHERE error.bundle = dag.bundle
                                  AND error.relative_path = dag.relative_path) = :import_error)
             LIMIT :limit) AS counted
""")

TAGS = hot("""
    SELECT tag
      FROM dag
     CROSS JOIN LATERAL unnest(dag.tags) AS tag
     WHERE (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND dag.active
       AND (CAST(:tag_like AS text) IS NULL OR tag ILIKE :tag_like)
       AND CASE WHEN CAST(:last_tag AS text) IS NULL THEN true
                WHEN :descending THEN tag < :last_tag
                ELSE tag > :last_tag END
     GROUP BY tag
     ORDER BY CASE WHEN :descending THEN tag END DESC, CASE WHEN NOT :descending THEN tag END
     LIMIT :limit
""")

# Of each DAG no more runs are read than are counted: those of the latest dates.
STATS = text("""
    SELECT dag.dag_id, counted.state, counted.runs
      FROM dag
      LEFT JOIN LATERAL (
           SELECT state, count(*) AS runs
             FROM (SELECT state
                     FROM dag_run
                    WHERE dag_run.dag_id = dag.dag_id
                    ORDER BY schedule_date DESC, id DESC
                    LIMIT :looked_at) AS latest
            GROUP BY state) AS counted ON true
     WHERE dag.dag_id = ANY (CAST(:dag_ids AS text[]))
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
     ORDER BY dag.dag_id, counted.state
""")


class DagOrder(StrEnum):
    """By what DAGs are listed; those without a next or a last run come last, first descending."""

    ID = "id"
    NEXT_RUN = "next_run"
    LAST_RUN = "last_run"


@dataclass(frozen=True, slots=True)
class DagFilter:
    """Which DAGs are wanted; None is any.

    `dag_id_like` is an ILIKE pattern.  `any_tag` wants one of these tags, `all_tags` all of them.
    The last run is the one of the latest date.  `import_error` wants DAGs whose file has one, or
    has none.
    """

    dag_id: str | None = None
    dag_id_like: str | None = None
    bundle: str | None = None
    any_tag: Sequence[str] | None = None
    all_tags: Sequence[str] | None = None
    paused: bool | None = None
    active: bool | None = True
    last_states: Sequence[RunState] | None = None
    import_error: bool | None = None


@dataclass(frozen=True, slots=True)
class ListedDagRow:
    """A DAG with its last run, its file, and its version in force.

    The last run is the one of the latest date; its fields are None when the DAG has no run.
    `commit`, `version_created_at`, `version_id` and `fingerprint` are of the version in force,
    None before the first one; `commit` is None for a plain folder as well.  `parsed_at` and
    `parse_seconds` are of the last parse of its file, None when the file is gone.
    """

    dag: DagView
    last_run_id: str | None
    last_run_state: RunState | None
    last_run_date: datetime | None
    commit: str | None
    version_created_at: datetime | None
    version_id: int | None
    fingerprint: str | None
    parsed_at: datetime | None
    parse_seconds: float | None
    import_error: bool


@dataclass(frozen=True, slots=True)
class DagStats:
    """The runs of a DAG by state: the latest MOST_ROWS + 1; `exact` if the DAG has no more."""

    dag_id: str
    runs: Mapping[RunState, int]
    exact: bool


ANY_DAG: Final = DagFilter()


def page(
    conn: Connection, asked: Asked, wanted: DagFilter = ANY_DAG, order: DagOrder = DagOrder.ID
) -> ListPage[ListedDagRow]:
    """Return a page of the DAGs that are wanted."""
    listing = PagedList("dags", (datetime, str), order, asked.descending, asdict(wanted))
    place, last = listing.key(asked.cursor) or (None, None)
    parameters = {
        **_parameters(asked.bundles, wanted),
        "order": str(order),
        "descending": asked.descending,
        "last_place": place,
        "last_id": last,
        "limit": asked.limit + 1,
    }
    rows = conn.execute(PAGE, parameters).mappings().all()
    found = paging.listed(rows, asked.limit, listing, _key)
    return ListPage([_listed(row) for row in found.rows], found.following)


def total(
    conn: Connection, bundles: Sequence[str] | None, wanted: DagFilter = ANY_DAG
) -> CappedTotal:
    """Count the DAGs that are wanted."""
    parameters = {**_parameters(bundles, wanted), "limit": MOST_ROWS + 1}
    return paging.capped(conn.execute(TOTAL, parameters).scalar_one())


def tags(conn: Connection, asked: Asked, tag_like: str | None = None) -> ListPage[str]:
    """Return a page of the tags that active DAGs have, by name."""
    listing = PagedList("tags", (str,), "name", asked.descending, {"tag_like": tag_like})
    (last,) = listing.key(asked.cursor) or (None,)
    parameters = {
        "bundles": paging.as_list(asked.bundles),
        "tag_like": tag_like,
        "descending": asked.descending,
        "last_tag": last,
        "limit": asked.limit + 1,
    }
    found = conn.scalars(TAGS, parameters).all()
    return paging.listed(found, asked.limit, listing, lambda tag: (tag,))


def stats(
    conn: Connection, bundles: Sequence[str] | None, dag_ids: Sequence[str]
) -> list[DagStats]:
    """Return the runs of these DAGs by state, by id; a DAG without runs has none of any state."""
    asked = {
        "bundles": paging.as_list(bundles),
        "dag_ids": paging.as_list(dag_ids),
        "looked_at": MOST_ROWS + 1,
    }
    found: dict[str, dict[RunState, int]] = {}
    for row in conn.execute(STATS, asked):
        runs = found.setdefault(row.dag_id, {})
        if row.state is not None:
            runs[RunState(row.state)] = row.runs
    return [DagStats(dag, runs, sum(runs.values()) <= MOST_ROWS) for dag, runs in found.items()]


def _parameters(bundles: Sequence[str] | None, wanted: DagFilter) -> dict[str, object]:
    fields = {name: getattr(wanted, name) for name in DagFilter.__dataclass_fields__}
    lists = {name: paging.as_list(fields[name]) for name in ("any_tag", "all_tags", "last_states")}
    return {**fields, **lists, "bundles": paging.as_list(bundles)}


def _key(row: RowMapping) -> Key:
    return row["place"], row["dag_id"]


def _listed(row: RowMapping) -> ListedDagRow:
    fields: dict[str, Any] = dict(row)
    del fields["place"]
    own = {name: fields.pop(name) for name in ListedDagRow.__dataclass_fields__ if name != "dag"}
    state = own.pop("last_run_state")
    return ListedDagRow(dag=DagView(**fields), last_run_state=state and RunState(state), **own)
