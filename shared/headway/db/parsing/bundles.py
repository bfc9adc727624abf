"""SQL on bundles: what there is of each, and the commit that all parsers go to."""

from collections.abc import Sequence

from sqlalchemy import Connection, text

ENTER = text("INSERT INTO dag_bundle (name) VALUES (:name) ON CONFLICT DO NOTHING")


# One parser fetches for all.  If it dies, another parser fetches after the interval.
CLAIM_FETCH = text("""
    UPDATE dag_bundle SET fetch_claimed_at = now(), parser_id = :parser
     WHERE name = :name
       AND (fetch_claimed_at IS NULL
            OR fetch_claimed_at <= now() - make_interval(secs => :interval))
 RETURNING name
""")


# A claim that another parser has made since stays.
RELEASE_FETCH = text("""
    UPDATE dag_bundle SET fetch_claimed_at = NULL WHERE name = :name AND parser_id = :parser
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
    question = conn.execute(CLAIM_FETCH, {"name": name, "parser": parser, "interval": interval})
    return question.rowcount > 0


def release_fetch(conn: Connection, name: str, parser: int) -> None:
    """Have the remote asked again by whoever comes next: this parser got no answer."""
    conn.execute(RELEASE_FETCH, {"name": name, "parser": parser})


def move(conn: Connection, name: str, commit: str) -> None:
    """Have all parsers go to this commit."""
    conn.execute(MOVE, {"name": name, "commit": commit})


def commits(conn: Connection, names: Sequence[str]) -> dict[str, str]:
    """Return the commit that each of these bundles is to be at."""
    return {row.name: row.commit for row in conn.execute(COMMITS, {"names": list(names)})}
