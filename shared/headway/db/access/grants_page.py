"""The matrix of grants and row checks as docs/grants.md shows it, and what they leave open."""

from collections.abc import Iterator
from typing import Final

from headway.db.access.grants import FUNCTIONS
from headway.db.access.grants_matrix import GRANTS
from headway.db.access.logins import Login
from headway.db.access.row_checks import ROW_CHECKS

_GRANTS: Final = """
# Grants

What each role may do to each table of the database; to all others it may do nothing. Nor
may it call any function that is not named; `headway_secret` is how a worker gets the
[connections and variables](secrets.md) that its attempts are granted, and `headway_remove`
is how schedulers and users remove [what is old](retention.md).
Of a new row a role gives the columns that are named: the database gives ids, and the
times of its own clock. Tokens of claims and hashes of proofs are hidden from whoever
only looks: a query of these tables names columns instead of `*`.
The table is `shared/headway/db/access/grants_matrix.py` as `headway db grants` prints it, and
`headway db migrate` puts it in place. How roles log in: [database.md](database.md).
"""

_ROW_CHECKS: Final = """
## Row checks

A grant is about columns; a row check is about rows. `headway_current_process` is the process
that has proved itself on this connection, while nobody has declared it dead
([ADR 21](decisions/0021-proof-of-a-process.md)). Rows that a check excludes are not found; what
a check forbids to write is refused (SQLSTATE 42501). Guards (`ZX001`) refuse besides: a worker's
change of an attempt that has ended and of the counts of a queued task instance, and a parser's
deactivation of a DAG whose file it neither parses nor has forgotten.

| role | table | verb | rows before | rows after |
|---|---|---|---|---|
"""

_KEYS_AND_LOCKS: Final = """
## Keys

A grant says which columns a role writes; a key says what may stand there, whoever writes it:

- `(dag_id, version_id)` of `dag` and `dag_run` refers to `dag_version`: no role gives a run,
  or puts in force of a DAG, a version of another DAG.
- `(dag_id, backfill_id)` of `dag_run` refers to `backfill`: no run is in a backfill of
  another DAG.
- `wake.state` is a state in which a task instance ends.

## Locks

Any role can take advisory locks, so Headway takes none. A migration locks `alembic_version`
in a mode that only the owner of the tables can take or hold up. Starting schedulers lock the
row of `schedule_watch`, which only the scheduler's role can lock.
"""

_REMAINS: Final = """
## What remains, and why

- A worker claims any attempt and any callback that waits, and ends what it has claimed as
  it likes: this is its work. It may claim a task without its attempt, which then waits, and may
  enter the end of its own live attempt more than once.
- A worker reads the XComs and the conf of every run, and the code of every version: tasks
  may ask for values of each other, and which tasks it will run is not known before.
- A parser parses any DAG file: it claims the file, says which DAGs the file has and with which
  code, or forgets the file. The next parse of an honest parser enters what a file has again.
- A parser deletes versions, and code, that nothing refers to. The key of a run protects its
  version; files of a version are named in JSON, which no key reads.
- A scheduler ends processes, and moves runs and tasks of every DAG: this is its work. Of the
  actor of its events, and of a user's, the database checks the kind and not the name.
- Schedulers and users remove entries of the journal that are older than a day, and schedulers
  ended runs, by `headway_remove` alone. Each removal leaves an event: the role, the actor, how
  many rows, of which time range. The event can itself be removed after a day, by another event.
- Every role may register processes of its kind; they claim, or are declared dead.
- Whoever may delete from a table or update it may lock the whole table (`LOCK TABLE`): the
  services then wait, and their statements end by the timeout.
- Every role may change its own password and its own settings, and use up connections:
  `ALTER ROLE headway_worker CONNECTION LIMIT 100` bounds these.
- Whoever may read a table holds up a migration that changes this table, by a transaction
  that stays open: Postgres knows no other way. So does a role that changes its own password,
  if the migration sets this password. The migration ends after 60 s and
  [names who holds it up](database.md#migrate).
- PUBLIC, so every role, may make large objects, temporary tables, and, on servers before
  PostgreSQL 15, tables, until the disk is full. No migration can revoke this.
  [`headway doctor`](doctor.md) names the statements; `headway standalone` and `headway demo`
  revoke these rights in their own database.
- The owner of the tables, and superusers, may do everything. No service logs in as either.
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
    yield _KEYS_AND_LOCKS.rstrip()
    yield _REMAINS.rstrip()
