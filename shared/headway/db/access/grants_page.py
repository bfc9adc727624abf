"""The matrix of grants and row checks as docs/grants.md shows it, and what they leave open."""

from collections.abc import Iterator
from typing import Final

from headway.db.access.grants import FUNCTIONS
from headway.db.access.grants_matrix import GRANTS
from headway.db.access.logins import Login
from headway.db.access.row_checks import ROW_CHECKS

_GRANTS: Final = """
# Grants

This page lists what each role may do to each table of the database. A role may do nothing to other
tables, and may call no other function. A worker gets the [connections and variables](secrets.md) of
its attempts by the function `headway_secret`. A parser gets what is granted to its bundles by the
function `headway_secrets_of_bundle`. Schedulers and users remove [old rows](retention.md) by the
function `headway_remove`.

When a role inserts a row, it may give only the named columns. The database itself sets ids and
times; the times come from its own clock. `headway_user` and `headway_readonly` cannot read the
tokens of claims. A process shows by a secret random number, its *proof*, which process it is. The
database stores a hash of the proof, and no role can read this hash. Only `headway_api` can read the
hashes of passwords, tokens, sessions and links. If a role may read only some columns of a table,
its query must name the columns, because `*` is refused.

`headway db grants` prints this page from `shared/headway/db/access/grants_matrix.py`, and
`headway db migrate` puts the grants in place. How roles log in: [database.md](database.md).
"""

_ROW_CHECKS: Final = """
## Row checks

A grant limits columns; a row check limits rows. `headway_current_process` is the process that has
proved its identity on this connection, as long as nobody has declared it dead
([ADR 21](decisions/0021-proof-of-a-process.md)).

The table below has two conditions. *Rows before* is the condition for rows that the role may
change. An `UPDATE` or `DELETE` skips all other rows, as if they did not exist; a plain `SELECT`
still finds them. *Rows after* is the condition that each row must meet after the write. A write
that leads to another row is refused (SQLSTATE 42501).

Guards refuse three further changes (`ZX001`):

- a worker changes an attempt that has ended,
- a worker changes the counts of failures or losses of a queued task instance,
- a parser deactivates a DAG although the DAG's file is still in `dag_file`, and this parser has
  not claimed the file for a parse.

| role | table | verb | rows before | rows after |
|---|---|---|---|---|
"""

_KEYS_AND_LOCKS: Final = """
## Keys

A grant says which columns a role may write. Foreign keys and one CHECK constraint limit the values
of columns, for every role:

- `(dag_id, version_id)` of `dag` and `dag_run` refers to `dag_version`. So no role can give a run
  the version of another DAG, or put such a version in force.
- `(dag_id, backfill_id)` of `dag_run` refers to `backfill`. So no run is in a backfill of another
  DAG.
- The CHECK constraint of `wake.state` allows only states in which a task instance ends.

## Locks

Any role can take advisory locks, so Headway takes none. A migration locks `alembic_version` in a
mode that only the owner of the tables can take or block. A starting scheduler locks the row of
`scheduler_uptime`, which only the scheduler's role can lock.
"""

_REMAINS: Final = """
## What remains, and why

- A worker may claim any waiting attempt or callback, and end it with any outcome: this is its work.
  A worker may also mark a queued task instance as claimed and leave its attempt unclaimed; the task
  then waits. While its attempt is live, a worker may insert more than one wake for the
  attempt's end; a scheduler then counts this end more than once.
- A worker says itself which version of its DAG an attempt or a callback runs. So a worker can ask
  for the ciphertext of what is granted to the bundle of any version of that DAG.
- A worker may read the XComs, the state stores and the conf of every run, and the code of every
  version. Tasks may ask for values of each other, and nobody knows in advance which tasks a worker
  will run.
- A parser may parse any DAG file: it claims the file, reports its DAGs and their code, or forgets
  the file. The next parse by an honest parser restores the file's DAGs.
- A parser says itself which bundles it has. So the parser's role can ask for the ciphertext of what
  is granted to any bundle; to decrypt it, a parser also needs the keys.
- A parser may delete versions and code that nothing refers to. A key of the run protects the run's
  version. No key protects the files of a version, because the version names its files in JSON.
- A scheduler may end processes, and may move runs and tasks of every DAG: this is its work. In the
  events of schedulers and users the database checks the kind of the actor, but not the name.
- Schedulers and users may remove entries of the journal that are older than a day. Schedulers may
  remove ended runs. They can do this only by `headway_remove`. Each removal leaves an event: the
  role, the actor, the number of rows and their time range. After a day this event can be removed
  too, which leaves another event.
- The role of each service may register any number of processes of its kind. Such a process can
  claim work while it sends heartbeats. If it sends none, a scheduler declares it dead.
- A role that may delete from a table or update it may lock the whole table (`LOCK TABLE`). Services
  then wait, and their statements end by the timeout.
- Every role may change its own password and its own settings, and may use up connections.
  `ALTER ROLE headway_worker CONNECTION LIMIT 100` limits the connections.
- A role that may read a table can hold up a migration of this table with a transaction that stays
  open; this is how Postgres locks tables. A role that changes its own password can hold up a
  migration that sets this password. The migration ends after 60 s and
  [names the session that holds it up](database.md#migrate).
- PUBLIC, and therefore every role, may create large objects and temporary tables until the disk is
  full. In a database that comes from a server before PostgreSQL 15, PUBLIC may also create tables.
  No migration can revoke these rights.
  [`headway doctor`](doctor.md) prints the statements. `headway standalone` and `headway demo`
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
    for check in ROW_CHECKS:
        old = "" if check.old is None else f"`{check.old}`"
        new = "" if check.verb == "DELETE" else f"`{check.new}`"
        cells = (check.login, f"`{check.table}`", check.verb, old, new)
        yield f"| {' | '.join(cell.replace('||', '&#124;&#124;') for cell in cells)} |"
    yield _KEYS_AND_LOCKS.rstrip()
    yield _REMAINS.rstrip()
