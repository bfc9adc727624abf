"""Which rows each role may write: row level security.

A role is many processes.  Each proves in its connections which one it is (`identity.py`), and a
check compares that with a column of the row.  The process is looked up once a statement and check,
not once a row.

Every table here lets everybody do what is granted; the checks take away from that for one role.
What a check hides is not found, as if the row were not there; what it forbids to write is an
error (42501).  Whoever owns the tables is not checked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from sqlalchemy import Connection, text

from headway.db.access.logins import Login

_ME: Final = "(SELECT id FROM headway_current_process)"


@dataclass(frozen=True, slots=True)
class RowCheck:
    """What a role may do to which rows of a table: to those that are `old`, to make them `new`.

    Without an `old` it is about rows that are entered.
    """

    login: Login
    table: str
    new: str
    old: str | None = None
    verb: str = "UPDATE"

    @property
    def name(self) -> str:
        """Return the name of the policy."""
        return f"{self.login}_{self.verb.lower()}"

    @property
    def statement(self) -> str:
        """Return the SQL that makes the policy."""
        old = "" if self.old is None else f" USING ({self.old})"
        new = "" if self.verb == "DELETE" else f" WITH CHECK ({self.new})"
        return (
            f"CREATE POLICY {self.name} ON {self.table} AS RESTRICTIVE FOR {self.verb} "
            f"TO {self.login}{old}{new}"
        )


def _entered(login: Login, table: str, new: str) -> RowCheck:
    return RowCheck(login, table, new, verb="INSERT")


_IN_FORCE: Final = (
    "pinned AND version_id = (SELECT its.version_id FROM dag AS its "
    "WHERE its.dag_id = dag_run.dag_id)"
)

_QUEUED: Final = (
    "(SELECT its.state FROM dag_run AS its WHERE its.id = deadline.dag_run_id) = 'queued'"
)

_NO_SERVICE: Final = (
    "split_part(actor, ':', 1) NOT IN ('backfill', 'parser', 'scheduler', 'worker')"
)


_ATTEMPT: Final = (
    "(SELECT its.process_id FROM task_attempt AS its "
    "WHERE its.task_instance_id = {table}.task_instance_id AND its.attempt = {table}.attempt{live})"
)

_TASK: Final = f"process_id = {_ME} AND state IN ('running', 'restarting')"

_WAKE: Final = (
    "(SELECT its.process_id FROM task_instance AS its WHERE its.id = wake.task_instance_id "
    "AND its.dag_run_id = wake.dag_run_id AND its.task_id = coalesce(wake.task_id, its.task_id) "
    "AND its.state IN ('running', 'restarting')) = (SELECT id FROM headway_current_process)"
)

_KEPT: Final = (
    "(SELECT its.process_id FROM task_instance AS its "
    "WHERE its.dag_run_id = task_state_store.dag_run_id "
    "AND its.map_index = task_state_store.map_index AND its.task_id = task_state_store.task_id "
    "AND its.state IN ('running', 'restarting')) = (SELECT id FROM headway_current_process)"
)

_EXPIRED: Final = "expires_at < now()"

_CALLBACK: Final = (
    "(SELECT its.process_id FROM task_instance AS its WHERE its.dag_run_id = {table}.dag_run_id "
    "AND its.map_index = {table}.map_index AND its.task_id = {table}.task_id "
    "AND its.attempt = {table}.attempt) = (SELECT id FROM headway_current_process)"
)

_CALLBACK_DUE: Final = (
    f"ended_at IS NULL AND (state = 'queued' OR process_id = {_ME} OR claimed_until < now())"
)

_CALLBACK_OWN: Final = (
    f"process_id IS NULL OR process_id = {_ME} OR state = 'failed' AND claimed_until < now()"
)


def _of_attempts(table: str, live: str, *verbs: str) -> Iterator[RowCheck]:
    rows = f"{_ATTEMPT.format(table=table, live=live)} = {_ME}"
    for verb in verbs:
        yield RowCheck(Login.WORKER, table, rows, None if verb == "INSERT" else rows, verb)


def _of_workers() -> Iterator[RowCheck]:
    """Yield the checks of what a worker has claimed.

    Plain columns where a statement changes many rows; one look by key where it does not.
    """
    mine, live = f"process_id = {_ME}", " AND its.ended_at IS NULL"
    yield RowCheck(Login.WORKER, "task_attempt", mine, f"phase = 'queued' OR {mine}")
    claimed = "process_id IS NOT NULL AND state <> 'queued'"
    yield RowCheck(Login.WORKER, "task_instance", claimed, f"state = 'queued' OR {_TASK}")
    yield RowCheck(Login.WORKER, "lease", mine, mine)
    yield RowCheck(Login.WORKER, "lease", mine, mine, "DELETE")
    of_its_attempt = f"{mine} AND {_ATTEMPT.format(table='lease', live=live)} = {_ME}"
    yield _entered(Login.WORKER, "lease", of_its_attempt)
    yield from _of_attempts("xcom", live, "INSERT", "UPDATE")
    yield from _of_attempts("spark_work", "", "INSERT", "UPDATE")
    yield from _of_attempts("run_request", live, "INSERT")
    for verb, old in (("INSERT", None), ("UPDATE", _KEPT), ("DELETE", _KEPT)):
        yield RowCheck(Login.WORKER, "task_state_store", _KEPT, old, verb)
    yield _entered(Login.WORKER, "wake", _WAKE)
    for table in ("callback", "notified_event"):
        yield _entered(Login.WORKER, table, _CALLBACK.format(table=table))
    for table in ("callback", "notification"):
        yield RowCheck(Login.WORKER, table, _CALLBACK_OWN, _CALLBACK_DUE)


def _all() -> Iterator[RowCheck]:
    yield _entered(Login.SCHEDULER, "process", "kind IN ('scheduler', 'backfill')")
    yield _entered(Login.SCHEDULER, "event", "actor LIKE 'scheduler:%'")
    for verb in ("UPDATE", "DELETE"):
        yield RowCheck(Login.SCHEDULER, "task_state_store", _EXPIRED, _EXPIRED, verb)
    yield _entered(Login.USER, "event", _NO_SERVICE)
    yield _entered(Login.API, "event", _NO_SERVICE)
    yield _entered(Login.API, "process", "kind = 'api'")
    drained = f"id = {_ME} OR kind = 'worker' AND ended_at IS NULL"
    yield RowCheck(Login.API, "process", drained, drained)
    yield RowCheck(Login.API, "process_beat", f"process_id = {_ME}", f"process_id = {_ME}")
    for login, kind in ((Login.PARSER, "parser"), (Login.WORKER, "worker")):
        yield _entered(login, "process", f"kind = '{kind}'")
        yield RowCheck(login, "process", f"id = {_ME}", f"id = {_ME}")
        yield RowCheck(login, "process_beat", f"process_id = {_ME}", f"process_id = {_ME}")
        yield _entered(login, "event", f"actor = '{kind}:' || {_ME}")
    yield RowCheck(Login.PARSER, "dag_run", _IN_FORCE, "state = 'queued' AND NOT pinned")
    yield _entered(Login.PARSER, "deadline", _QUEUED)
    yield from _of_workers()


ROW_CHECKS: Final = tuple(_all())

TABLES: Final = tuple(sorted({check.table for check in ROW_CHECKS}))

INSTALLED = text("""
    SELECT pg_class.relname AS table_name, polname, obj_description(pg_policy.oid, 'pg_policy')
      FROM pg_policy
      JOIN pg_class ON pg_class.oid = polrelid
     WHERE polrelid = ANY (CAST(CAST(:tables AS text[]) AS regclass[])) AND relrowsecurity
""")

PRESENT = text("""
    SELECT polname FROM pg_policy WHERE polrelid = CAST(CAST(:table AS text) AS regclass)
""")

_EVERYBODY: Final = "everybody"


def install(conn: Connection, logins: Sequence[Login]) -> None:
    """Put the checks of this release in place; tables whose checks are there are not touched."""
    have: dict[str, set[tuple[str, str]]] = {table: set() for table in TABLES}
    for row in conn.execute(INSTALLED, {"tables": list(TABLES)}):
        have[row[0]].add((row[1], row[2]))
    for table in TABLES:
        wanted = _wanted(table, logins)
        if have[table] != {(name, _version(statement)) for name, statement in wanted.items()}:
            _replace(conn, table, wanted)


def _wanted(table: str, logins: Sequence[Login]) -> dict[str, str]:
    checks = [check for check in ROW_CHECKS if check.table == table and check.login in logins]
    everybody = f"CREATE POLICY {_EVERYBODY} ON {table} USING (true) WITH CHECK (true)"
    return {_EVERYBODY: everybody, **{check.name: check.statement for check in checks}}


def _replace(conn: Connection, table: str, wanted: dict[str, str]) -> None:
    for name in list(conn.scalars(PRESENT, {"table": table})):
        conn.exec_driver_sql(f"DROP POLICY {name} ON {table}")
    for name, statement in wanted.items():
        conn.exec_driver_sql(statement.replace("%", "%%"))
        conn.exec_driver_sql(f"COMMENT ON POLICY {name} ON {table} IS '{_version(statement)}'")
    conn.exec_driver_sql(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")


def _version(statement: str) -> str:
    return sha256(statement.encode()).hexdigest()[:16]
