"""SQL on bundles: what there is of each, and the commit that all parsers go to."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

ENTER = text("INSERT INTO dag_bundle (name) VALUES (:name) ON CONFLICT DO NOTHING")

# Who takes the question answers it for all.  A parser that dies over it has only put it off.
TAKE_QUESTION = text("""
    UPDATE dag_bundle SET asked_at = now(), parser_id = :parser
     WHERE name = :name
       AND (asked_at IS NULL OR asked_at <= now() - make_interval(secs => :interval))
 RETURNING name
""")

# If another one has taken it since, it is that one's.
GIVE_BACK_QUESTION = text("""
    UPDATE dag_bundle SET asked_at = NULL WHERE name = :name AND parser_id = :parser
""")

MOVE = text("UPDATE dag_bundle SET commit = :commit WHERE name = :name")

COMMITS = text("""
    SELECT name, commit FROM dag_bundle WHERE name = ANY (:names) AND commit IS NOT NULL
""")

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

FORGET = text("""
    WITH files AS (
        DELETE FROM dag_file WHERE bundle = :name
    ), errors AS (
        DELETE FROM import_error WHERE bundle = :name
    ), commits AS (
        DELETE FROM dag_bundle WHERE name = :name
    )
    UPDATE dag SET active = false WHERE bundle = :name AND active
 RETURNING dag_id
""")


@dataclass(frozen=True, slots=True)
class BundleRow:
    """A bundle: its commit if it is of git, how much there is of it, and who looks at it."""

    name: str
    commit: str | None
    files: int
    dags: int
    errors: int
    parsed_at: datetime | None
    parsers: int


def list_all(conn: Connection) -> list[BundleRow]:
    """Return every bundle that anything is known of, by name."""
    return [BundleRow(*row) for row in conn.execute(LIST)]


def forget(conn: Connection, name: str) -> list[str]:
    """Forget a bundle's files and deactivate its DAGs; return the ids of those."""
    return list(conn.scalars(FORGET, {"name": name}))


def claim_fetch(conn: Connection, name: str, parser: int, interval: float) -> bool:
    """Return whether this parser is to ask the bundle's remote for its newest commit.

    It is asked once in `interval` seconds, by whichever parser comes first.
    """
    conn.execute(ENTER, {"name": name})
    taken = conn.execute(TAKE_QUESTION, {"name": name, "parser": parser, "interval": interval})
    return taken.rowcount > 0


def release_fetch(conn: Connection, name: str, parser: int) -> None:
    """Have the remote asked again by whoever comes next: this parser got no answer."""
    conn.execute(GIVE_BACK_QUESTION, {"name": name, "parser": parser})


def move(conn: Connection, name: str, commit: str) -> None:
    """Have all parsers go to this commit."""
    conn.execute(MOVE, {"name": name, "commit": commit})


def commits(conn: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the commit that each of these bundles is to be at."""
    return {row.name: row.commit for row in conn.execute(COMMITS, {"names": list(names)})}
