"""The versions of one DAG, or of all, page by page.  Reads only."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, text

from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage

PAGE = text("""
    SELECT version.id, version.dag_id, version.number, dag.bundle, version.commit,
           version.created_at, coalesce(version.id = dag.version_id, false) AS in_force
      FROM dag_version AS version
      JOIN dag ON dag.dag_id = version.dag_id
     WHERE (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:dag_id AS text) IS NULL OR version.dag_id = :dag_id)
       AND (CAST(:number AS int) IS NULL OR version.number = :number)
       AND (CAST(:bundle AS text) IS NULL OR dag.bundle = :bundle)
       AND (CAST(:commit AS text) IS NULL OR version.commit = :commit)
       AND CASE WHEN CAST(:last AS bigint) IS NULL THEN true
                WHEN :descending THEN version.id < :last
                ELSE version.id > :last END
     ORDER BY CASE WHEN :descending THEN version.id END DESC,
              CASE WHEN NOT :descending THEN version.id END
     LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class VersionFilter:
    """Which versions are wanted; None is any."""

    dag_id: str | None = None
    number: int | None = None
    bundle: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class ListedVersion:
    """A version of a DAG, with its number in the installation and the one within its DAG.

    `commit` is the commit of the bundle at which the version was seen first, None for a plain
    folder.
    """

    id: int
    dag_id: str
    number: int
    bundle: str
    commit: str | None
    created_at: datetime
    in_force: bool


ANY_VERSION: Final = VersionFilter()


def page(
    conn: Connection, asked: Asked, wanted: VersionFilter = ANY_VERSION
) -> ListPage[ListedVersion]:
    """Return a page of the versions that are wanted, in the order in which they were stored."""
    listing = PagedList("versions", (int,), "id", asked.descending, asdict(wanted))
    (last,) = listing.key(asked.cursor) or (None,)
    parameters = {
        **asdict(wanted),
        "bundles": paging.as_list(asked.bundles),
        "last": last,
        "descending": asked.descending,
        "limit": asked.limit + 1,
    }
    rows = [ListedVersion(**row) for row in conn.execute(PAGE, parameters).mappings()]
    return paging.listed(rows, asked.limit, listing, lambda row: (row.id,))
