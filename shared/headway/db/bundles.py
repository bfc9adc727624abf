"""SQL on bundles that move from commit to commit: all parsers go to the same one."""

from collections.abc import Sequence

from sqlalchemy import Connection, text

ENTER = text("INSERT INTO dag_bundle (name) VALUES (:name) ON CONFLICT DO NOTHING")

# Who takes the question answers it for all.  A parser that dies over it has only put it off.
TAKE_QUESTION = text("""
    UPDATE dag_bundle SET asked_at = now(), parser_id = :parser
     WHERE name = :name
       AND (asked_at IS NULL OR asked_at <= now() - make_interval(secs => :interval))
 RETURNING name
""")

MOVE = text("UPDATE dag_bundle SET commit = :commit WHERE name = :name")

COMMITS = text("""
    SELECT name, commit FROM dag_bundle WHERE name = ANY (:names) AND commit IS NOT NULL
""")


def take_question(conn: Connection, name: str, parser: int, interval: float) -> bool:
    """Return whether this parser is to ask the bundle's remote for its newest commit.

    It is asked once in `interval` seconds, by whichever parser comes first.
    """
    conn.execute(ENTER, {"name": name})
    taken = conn.execute(TAKE_QUESTION, {"name": name, "parser": parser, "interval": interval})
    return taken.rowcount > 0


def move(conn: Connection, name: str, commit: str) -> None:
    """Have all parsers go to this commit."""
    conn.execute(MOVE, {"name": name, "commit": commit})


def commits(conn: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the commit that each of these bundles is to be at."""
    return {row.name: row.commit for row in conn.execute(COMMITS, {"names": list(names)})}
