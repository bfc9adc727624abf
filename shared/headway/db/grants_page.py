"""The matrix of grants and row checks as docs/grants.md shows it, and what they leave open."""

from collections.abc import Iterator
from typing import Final

from headway.db.grants import FUNCTIONS
from headway.db.grants_matrix import GRANTS
from headway.db.logins import Login
from headway.db.row_checks import ROW_CHECKS

_GRANTS: Final = """
# Grants

What each role may do to each table of the database; to all others it may do nothing. Nor
may it call any function that is not named; `headway_secret` is how a worker gets the
[connections and variables](secrets.md) that its attempts are granted.
Of a new row a role gives the columns that are named: the database gives ids, and the
times of its own clock. Tokens of claims and hashes of proofs are hidden from whoever
only looks: a query of these tables names columns instead of `*`.
The table is `shared/headway/db/grants_matrix.py` as `headway db grants` prints it, and
`headway db migrate` puts it in place. How roles log in: [database.md](database.md).
"""

_ROW_CHECKS: Final = """
## Row checks

A grant is about columns; a row check is about rows. `headway_current_process` is the process
that has proved itself on this connection, while nobody has declared it dead
([ADR 21](decisions/0021-proof-of-a-process.md)). Rows that a check excludes are not found; what
a check forbids to write is refused (SQLSTATE 42501). Guards (`ZX001`) refuse besides: a worker's
change of an attempt that has ended, and a parser's deactivation of a DAG whose file it neither
parses nor has forgotten.

| role | table | verb | rows before | rows after |
|---|---|---|---|---|
"""

_REMAINS: Final = """
## What remains, and why

- A worker claims any attempt and any callback that waits, and ends what it has claimed as
  it likes: this is its work. It may enter the end of its own live attempt more than once.
- A worker reads the XComs and the conf of every run, and the code of every version: tasks
  may ask for values of each other, and which tasks it will run is not known before.
- A parser parses any DAG file: it claims the file, says which DAGs the file has and with which
  code, or forgets the file. The next parse of an honest parser enters what a file has again.
- A parser deletes versions, and code, that nothing refers to. The key of a run protects its
  version; files of a version are named in JSON, which no key reads.
- A scheduler ends processes, and moves runs and tasks of every DAG: this is its work. Of the
  actor of its events, and of a user's, the database checks the kind and not the name.
- Every role may register processes of its kind; they claim, or are declared dead.
- Whoever may delete from a table or update it may lock the whole table (`LOCK TABLE`): the
  services then wait, and their statements end by the timeout.
- Every role may change its own password and its own settings, and use up connections:
  `ALTER ROLE headway_worker CONNECTION LIMIT 100` bounds these.
"""


def as_markdown() -> str:
    """Return the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _GRANTS.strip()
    for login in Login:
        yield from ("", f"## {login}", "", "| table | privileges |", "|---|---|")
        for table, clause in sorted(GRANTS[login].items()):
            yield f"| `{table}` | {clause} |"
        for function in FUNCTIONS.get(login, ()):
            yield f"| function `{function}` | EXECUTE |"
    yield _ROW_CHECKS.rstrip()
    for it in ROW_CHECKS:
        old = "" if it.old is None else f"`{it.old}`"
        new = "" if it.verb == "DELETE" else f"`{it.new}`"
        cells = (it.login, f"`{it.table}`", it.verb, old, new)
        yield f"| {' | '.join(cell.replace('||', '&#124;&#124;') for cell in cells)} |"
    yield _REMAINS.rstrip()
