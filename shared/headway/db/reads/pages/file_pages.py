"""Import errors and warnings of DAG files, page by page.  Reads only."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, TextClause

from headway.db.core.prepared import hot
from headway.db.reads.dag_file_views import ImportProblem
from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage

ERRORS = hot("""
    SELECT bundle, relative_path, error, at
      FROM import_error AS file
     WHERE (CAST(:bundles AS text[]) IS NULL OR bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:bundle AS text) IS NULL OR bundle = :bundle)
       AND (CAST(:path_like AS text) IS NULL OR relative_path ILIKE :path_like)
       AND (CAST(:dag_id AS text) IS NULL
            OR EXISTS (SELECT FROM dag
                        WHERE dag.dag_id = :dag_id AND dag.bundle = file.bundle
                          AND dag.relative_path = file.relative_path))
       AND CASE WHEN CAST(:last_bundle AS text) IS NULL THEN true
                WHEN :descending THEN (bundle, relative_path) < (:last_bundle, :last_path)
                ELSE (bundle, relative_path) > (:last_bundle, :last_path) END
     ORDER BY CASE WHEN :descending THEN bundle END DESC,
              CASE WHEN :descending THEN relative_path END DESC,
              CASE WHEN NOT :descending THEN bundle END,
              CASE WHEN NOT :descending THEN relative_path END
     LIMIT :limit
""")

WARNINGS = hot("""
    SELECT bundle, relative_path, warning AS error, parsed_at AS at
      FROM dag_file AS file
     WHERE warning IS NOT NULL
       AND (CAST(:bundles AS text[]) IS NULL OR bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:bundle AS text) IS NULL OR bundle = :bundle)
       AND (CAST(:path_like AS text) IS NULL OR relative_path ILIKE :path_like)
       AND (CAST(:dag_id AS text) IS NULL
            OR EXISTS (SELECT FROM dag
                        WHERE dag.dag_id = :dag_id AND dag.bundle = file.bundle
                          AND dag.relative_path = file.relative_path))
       AND CASE WHEN CAST(:last_bundle AS text) IS NULL THEN true
                WHEN :descending THEN (bundle, relative_path) < (:last_bundle, :last_path)
                ELSE (bundle, relative_path) > (:last_bundle, :last_path) END
     ORDER BY CASE WHEN :descending THEN bundle END DESC,
              CASE WHEN :descending THEN relative_path END DESC,
              CASE WHEN NOT :descending THEN bundle END,
              CASE WHEN NOT :descending THEN relative_path END
     LIMIT :limit
""")


DAG_WARNINGS = hot("""
    SELECT dag.dag_id, file.warning, file.parsed_at AS at
      FROM dag_file AS file
      JOIN dag ON dag.bundle = file.bundle AND dag.relative_path = file.relative_path
     WHERE file.warning IS NOT NULL
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:dag_id AS text) IS NULL OR dag.dag_id = :dag_id)
       AND CASE WHEN CAST(:last AS text) IS NULL THEN true
                WHEN :descending THEN dag.dag_id < :last
                ELSE dag.dag_id > :last END
     ORDER BY CASE WHEN :descending THEN dag.dag_id END DESC,
              CASE WHEN NOT :descending THEN dag.dag_id END
     LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Of which DAG files problems are wanted; None is any.

    `path_like` is an ILIKE pattern of the path in the bundle.  `dag_id` wants the file of that DAG.
    """

    bundle: str | None = None
    path_like: str | None = None
    dag_id: str | None = None


@dataclass(frozen=True, slots=True)
class DagWarning:
    """What the author of a DAG's file should know, for one of the DAGs of the file."""

    dag_id: str
    warning: str
    at: datetime


ANY_FILE: Final = FileFilter()


def errors(
    conn: Connection, asked: Asked, wanted: FileFilter = ANY_FILE
) -> ListPage[ImportProblem]:
    """Return a page of the import errors in force, by bundle and path."""
    return _page(conn, ERRORS, "import errors", asked, wanted)


def warnings(
    conn: Connection, asked: Asked, wanted: FileFilter = ANY_FILE
) -> ListPage[ImportProblem]:
    """Return a page of what authors should know of files that were taken over."""
    return _page(conn, WARNINGS, "warnings", asked, wanted)


def dag_warnings(conn: Connection, asked: Asked, dag_id: str | None = None) -> ListPage[DagWarning]:
    """Return a page of the warnings of files, each once for each DAG of its file, by DAG."""
    listing = PagedList("DAG warnings", (str,), "dag", asked.descending, {"dag_id": dag_id})
    (last,) = listing.key(asked.cursor) or (None,)
    parameters = {
        "dag_id": dag_id,
        "bundles": paging.as_list(asked.bundles),
        "last": last,
        "descending": asked.descending,
        "limit": asked.limit + 1,
    }
    rows = [DagWarning(**row) for row in conn.execute(DAG_WARNINGS, parameters).mappings()]
    return paging.listed(rows, asked.limit, listing, lambda row: (row.dag_id,))


def _page(
    conn: Connection, statement: TextClause, name: str, asked: Asked, wanted: FileFilter
) -> ListPage[ImportProblem]:
    listing = PagedList(name, (str, str), "path", asked.descending, asdict(wanted))
    bundle, path = listing.key(asked.cursor) or (None, None)
    parameters = {
        **asdict(wanted),
        "bundles": paging.as_list(asked.bundles),
        "last_bundle": bundle,
        "last_path": path,
        "descending": asked.descending,
        "limit": asked.limit + 1,
    }
    rows = [ImportProblem(**row) for row in conn.execute(statement, parameters).mappings()]
    return paging.listed(rows, asked.limit, listing, lambda row: (row.bundle, row.relative_path))
