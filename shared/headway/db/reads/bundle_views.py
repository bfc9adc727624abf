"""SQL that lists bundles."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

LIST = text("""
    SELECT name, dag_bundle.commit,
           (SELECT count(*) FROM dag_file WHERE bundle = name) AS files,
           (SELECT count(*) FROM dag WHERE bundle = name AND active) AS dags,
           (SELECT count(*) FROM import_error WHERE bundle = name) AS errors,
           (SELECT max(parsed_at) FROM dag_file WHERE bundle = name) AS parsed_at,
           (SELECT count(*) FROM process
             WHERE kind = 'parser' AND ended_at IS NULL AND name = ANY (bundles)) AS parsers
      FROM (SELECT bundle AS name FROM dag_file
             UNION SELECT bundle FROM dag WHERE active
             UNION SELECT name FROM dag_bundle
             UNION SELECT unnest(bundles) FROM process
                    WHERE kind = 'parser' AND ended_at IS NULL) AS known
      LEFT JOIN dag_bundle USING (name)
     ORDER BY name
""")


@dataclass(frozen=True, slots=True)
class BundleView:
    """A bundle of DAG files.

    `commit` is None for a plain folder.  The counts are of its DAG files, active DAGs, import
    errors, and of the parsers that look at it.  `parsed_at` is when a file of it was parsed last.
    """

    name: str
    commit: str | None
    files: int
    dags: int
    errors: int
    parsed_at: datetime | None
    parsers: int


def list_all(conn: Connection) -> list[BundleView]:
    """Return every bundle that anything is known of, by name."""
    return [BundleView(**row) for row in conn.execute(LIST).mappings()]
