"""The matrix of grants as docs/grants.md shows it."""

from collections.abc import Iterator

from headway.db.grants import FUNCTIONS
from headway.db.grants_matrix import GRANTS
from headway.db.logins import Login


def as_markdown() -> str:
    """Return the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from (
        "# Grants",
        "",
        "What each role may do to each table of the database; to all others it may do nothing. Nor",
        "may it call any function that is not named; `headway_secret` is how a worker gets the",
        "[connections and variables](secrets.md) that its attempts are granted.",
        "Of a new row a role gives the columns that are named: the database gives ids, and the",
        "times of its own clock. Tokens of claims and hashes of proofs are hidden from whoever",
        "only looks: a query of these tables names columns instead of `*`.",
        "The table is `shared/headway/db/grants_matrix.py` as `headway db grants` prints it, and",
        "`headway db migrate` puts it in place. How roles log in: [database.md](database.md).",
    )
    for login in Login:
        yield from ("", f"## {login}", "", "| table | privileges |", "|---|---|")
        for table, clause in sorted(GRANTS[login].items()):
            yield f"| `{table}` | {clause} |"
        for function in FUNCTIONS.get(login, ()):
            yield f"| function `{function}` | EXECUTE |"
