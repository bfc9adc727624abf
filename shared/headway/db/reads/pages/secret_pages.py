"""Connections and variables page by page: nothing that is secret.  Reads only."""

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage
from headway.db.reads.secret_views import SecretView
from headway.domain.variable import EVERY_DAG, SecretKind

# Who sees some bundles alone sees what these bundles are granted, or a DAG of these, or every DAG;
# and of the grants those of these bundles and DAGs.
PAGE = hot("""
    SELECT name, type, description, key_id, changed_at, dags, of_bundles AS bundles
      FROM (SELECT coalesce(secret.name, its.name) AS name, type, description, key_id, changed_at,
                   coalesce(its.dags, '{}') AS dags,
                   coalesce(its.of_bundles, '{}') AS of_bundles
              FROM (SELECT name, type, description, key_id, changed_at
                      FROM secret WHERE kind = :kind) AS secret
              FULL JOIN (SELECT name,
                                array_agg(grants.dag_id ORDER BY grants.dag_id) FILTER (
                                    WHERE NOT starts_with(grants.dag_id, 'bundle:')) AS dags,
                                array_agg(substr(grants.dag_id, 8) ORDER BY grants.dag_id) FILTER (
                                    WHERE starts_with(grants.dag_id, 'bundle:')) AS of_bundles
                           FROM secret_grant AS grants
                           LEFT JOIN dag ON dag.dag_id = grants.dag_id
                          WHERE kind = :kind
                            AND (CAST(:bundles AS text[]) IS NULL
                                 OR grants.dag_id = :every_dag
                                 OR dag.bundle = ANY (CAST(:bundles AS text[]))
                                 OR substr(grants.dag_id, 8) = ANY (CAST(:bundles AS text[]))
                                    AND starts_with(grants.dag_id, 'bundle:'))
                          GROUP BY name) AS its
                ON its.name = secret.name) AS it
     WHERE (CAST(:bundles AS text[]) IS NULL OR dags <> '{}' OR of_bundles <> '{}')
       AND (CAST(:name_like AS text) IS NULL OR name ILIKE :name_like)
       AND CASE WHEN CAST(:last AS text) IS NULL THEN true
                WHEN :descending THEN name < :last
                ELSE name > :last END
     ORDER BY CASE WHEN :descending THEN name END DESC,
              CASE WHEN NOT :descending THEN name END
     LIMIT :limit
""")


def page(
    conn: Connection, asked: Asked, kind: SecretKind, name_like: str | None = None
) -> ListPage[SecretView]:
    """Return a page of what is stored or granted of that kind, by name."""
    filters = {"kind": str(kind), "name_like": name_like}
    listing = PagedList("secrets", (str,), "name", asked.descending, filters)
    (last,) = listing.key(asked.cursor) or (None,)
    parameters = {
        **filters,
        "bundles": paging.as_list(asked.bundles),
        "last": last,
        "every_dag": EVERY_DAG,
        "descending": asked.descending,
        "limit": asked.limit + 1,
    }
    rows = [SecretView(**row) for row in conn.execute(PAGE, parameters).mappings()]
    return paging.listed(rows, asked.limit, listing, lambda secret: (secret.name,))
