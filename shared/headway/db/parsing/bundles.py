"""SQL on bundles: what there is of each, and the commit that all parsers go to."""

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


# If another one has taken it since, it is that one's.
GIVE_BACK_QUESTION = text("""
    UPDATE dag_bundle SET asked_at = NULL WHERE name = :name AND parser_id = :parser
""")


MOVE = text("UPDATE dag_bundle SET commit = :commit WHERE name = :name")


COMMITS = text("""
    SELECT name, commit FROM dag_bundle WHERE name = ANY (:names) AND commit IS NOT NULL
""")


def claim_fetch(conn: Connection, name: str, parser: int, interval: float) -> bool:
    """Return whether this parser is to ask the bundle's remote for its newest commit.

    It is asked once in `interval` seconds, by whichever parser comes first.
    """
    conn.execute(ENTER, {"name": name})
    question = conn.execute(TAKE_QUESTION, {"name": name, "parser": parser, "interval": interval})
    return question.rowcount > 0


def release_fetch(conn: Connection, name: str, parser: int) -> None:
    """Have the remote asked again by whoever comes next: this parser got no answer."""
    conn.execute(GIVE_BACK_QUESTION, {"name": name, "parser": parser})


def move(conn: Connection, name: str, commit: str) -> None:
    """Have all parsers go to this commit."""
    conn.execute(MOVE, {"name": name, "commit": commit})


def commits(conn: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the commit that each of these bundles is to be at."""
    return {row.name: row.commit for row in conn.execute(COMMITS, {"names": list(names)})}
