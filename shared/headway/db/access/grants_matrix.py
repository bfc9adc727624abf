"""Who may do what to which table: the least that each role needs, and nothing else.

The matrix is put in place by `headway db migrate`, is shown in docs/grants.md, and is held
by tests against the statements of each service and against the database's catalogue.  Of a new
row a role gives the columns that its statements name: the database gives ids, and the times of
its own clock.
"""

from collections.abc import Collection, Mapping
from typing import Final

from headway.db.access.logins import Login
from headway.db.core.identity import VIEW
from headway.db.schema import METADATA

VERSION_TABLE: Final = "alembic_version"
TABLES: Final = (*sorted(METADATA.tables), VERSION_TABLE)
RELATIONS: Final = (*TABLES, VIEW)
"""The tables, and the view that tells a process which one it has proved to be."""

HIDDEN: Final[Mapping[str, Collection[str]]] = {
    "api_account": {"password_hash"},
    "api_token": {"hash"},
    "callback": {"token"},
    "lease": {"token"},
    "notification": {"token"},
    "process": {"proof_hash"},
    "secret": {"sealed"},
    "task_attempt": {"token"},
}
"""What tells who may end what, and who may sign in: only who has to show a token may read tokens.

And what is encrypted, which only who decrypts it may read.  Nobody reads the proofs of processes;
only `headway_api` reads the hashes of accounts.
"""

UNREAD: Final = frozenset({"api_idempotency", "api_login_limit", "api_login_link", "api_session"})
"""What readers do not look at, as it is of use only to who checks it."""


def _seen(table: str) -> str:
    """Return the privilege to read all of a table but what is hidden."""
    if table not in HIDDEN:
        return "SELECT"
    columns = (column.name for column in METADATA.tables[table].columns)
    return f"SELECT ({', '.join(column for column in columns if column not in HIDDEN[table])})"


_READ_ALL: Final = {table: _seen(table) for table in TABLES if table not in UNREAD}

_NEW_CALLBACK: Final = (
    "INSERT (dag_run_id, task_id, map_index, attempt, event, reason, cause, queue)"
)
_NEW_DEADLINE: Final = "INSERT (dag_run_id, task_id, name, due_at, check_at)"
_NEW_EVENT: Final = "INSERT (actor, action, dag_id, run_id, task_id, details)"
_NEW_NOTIFIED: Final = (
    "INSERT (dag_run_id, notifier, event, task_id, map_index, attempt, reason, cause)"
)
_NEW_PROCESS: Final = "INSERT (kind, hostname, pid, version, queues, slots, proof_hash)"
_NEW_BEAT: Final = "INSERT (process_id)"
_NEW_RUN: Final = (
    "INSERT (dag_id, run_id, run_type, schedule_date, interval_start, interval_end, run_after, "
    "conf, version_id, backfill_id, partitions, pinned)"
)

_USER: Final = {
    **_READ_ALL,
    "backfill": "SELECT, INSERT (dag_id, from_date, to_date, max_active_runs, planned, "
    "reprocess, direction, rollup, weight, idle_only), UPDATE (planned, paused, cancelled_at)",
    "backfill_date": "SELECT, INSERT",
    "dag": "SELECT, DELETE, UPDATE (active, paused, planned_version_id, next_run_after, "
    "scheduled_since)",
    "dag_bundle": "SELECT, DELETE",
    "dag_file": "SELECT, DELETE, UPDATE (parse_requested)",
    "dag_run": f"SELECT, {_NEW_RUN}, DELETE, UPDATE (state, run_after, started_at, ended_at, "
    "end_as, timed_out, deadline, version_id, pinned, unfinished, backfill_id, conf)",
    "dag_version": "SELECT, DELETE",
    "deadline": f"SELECT, {_NEW_DEADLINE}",
    "event": f"SELECT, {_NEW_EVENT}",
    "import_error": "SELECT, DELETE",
    "lease": f"{_seen('lease')}, DELETE",
    "pool": "SELECT, INSERT, DELETE, UPDATE (slots, description, include_deferred)",
    "process": f"{_seen('process')}, UPDATE (drain_requested_at)",
    "secret": "SELECT, INSERT (kind, name, type, description, key_id, sealed), DELETE, "
    "UPDATE (type, description, key_id, sealed, changed_at)",
    "secret_grant": "SELECT, INSERT, DELETE",
    "skipped_interval": "SELECT, INSERT (dag_id, schedule_date, first_start, interval_start, "
    "interval_end, reason)",
    "task_attempt": f"{_seen('task_attempt')}, UPDATE (phase, ended_at, outcome, error, stop_to)",
    "task_instance": "SELECT, INSERT (dag_run_id, dag_id, task_id, pool, pool_slots, queue, "
    "priority, priority_class, limited, up_total), DELETE, UPDATE (map_index, state, attempt, "
    "failures, losses, skips, retry_at, started_at, ended_at, pool, pool_slots, queue, "
    "priority, limited, priority_class)",
    "wake": "SELECT, INSERT (dag_run_id), DELETE",
}

_API: Final = {
    **_USER,
    VIEW: "SELECT",
    "api_account": "SELECT, INSERT (name, password_hash, role, bundles, oidc_issuer, "
    "oidc_subject), DELETE, UPDATE (password_hash, role, bundles, disabled_at)",
    "api_idempotency": "SELECT, INSERT (account, key, request_hash), DELETE, "
    "UPDATE (request_hash, status, body, created_at)",
    "api_login_limit": "SELECT, INSERT, DELETE, UPDATE (forgotten_at)",
    "api_login_link": "SELECT, INSERT (hash, account, expires_at), DELETE, UPDATE (used_at)",
    "api_session": "SELECT, INSERT (id_hash, account, expires_at), DELETE, UPDATE (seen_at)",
    "api_token": "SELECT, INSERT (hash, name, account, role, bundles, expires_at), DELETE, "
    "UPDATE (last_used_at, revoked_at)",
    "process": f"{_seen('process')}, {_NEW_PROCESS}, UPDATE (ended_at, drain_requested_at)",
    "process_beat": f"SELECT, {_NEW_BEAT}, UPDATE (beat_at, clock_skew)",
}

GRANTS: Final[Mapping[Login, Mapping[str, str]]] = {
    Login.PARSER: {
        VIEW: "SELECT",
        "alembic_version": "SELECT",
        "code_file": "SELECT, INSERT (hash, content), DELETE, UPDATE (stored_at)",
        "code_manifest": "SELECT, INSERT (hash, files), DELETE, UPDATE (stored_at)",
        "dag": "SELECT, INSERT (dag_id, bundle, relative_path, description, tags, active, paused, "
        "max_active_runs, max_active_tasks), UPDATE (bundle, relative_path, description, tags, "
        "version_id, active, max_active_runs, max_active_tasks, scheduled_since)",
        "dag_bundle": "SELECT, INSERT (name), UPDATE (commit, parser_id, fetch_claimed_at)",
        "dag_deadline": "SELECT, INSERT",
        "dag_edge": "INSERT",
        "dag_file": "SELECT, INSERT (bundle, relative_path, parser_id, claimed), DELETE, "
        "UPDATE (signature, paths, seconds, parsed_at, due_at, failures, parse_requested, "
        "parser_id, claimed, warning)",
        "dag_notifier": "INSERT",
        "dag_run": "SELECT, UPDATE (version_id, pinned)",
        "dag_task": "SELECT, INSERT",
        "dag_version": "SELECT, INSERT (dag_id, number, bundle, fingerprint, serialized, "
        "manifest_hash, bundle_hash, bundle_complete, max_active_tasks_per_dagrun, dagrun_timeout, "
        "settle_at_start, reparse_on_run, commit), DELETE, UPDATE (superseded_at, bundle_hash, "
        "bundle_complete)",
        "deadline": _NEW_DEADLINE,
        "event": "INSERT (actor, action, dag_id, run_id, details)",
        "import_error": "SELECT, INSERT (bundle, relative_path, error), DELETE, UPDATE (error, at)",
        "notifier": "INSERT",
        "process": f"{_seen('process')}, {_NEW_PROCESS}, UPDATE (ended_at, bundles)",
        "process_beat": f"SELECT, {_NEW_BEAT}, UPDATE (beat_at, clock_skew)",
        "task_definition": "SELECT, INSERT (hash, definition), DELETE, UPDATE (stored_at)",
    },
    Login.SCHEDULER: {
        VIEW: "SELECT",
        "alembic_version": "SELECT",
        "backfill": "SELECT",
        "backfill_date": "SELECT",
        "callback": f"SELECT (id, dag_run_id, created_at, ended_at), {_NEW_CALLBACK}",
        "dag": "SELECT, UPDATE (planned_version_id, next_run_after, next_interval_start, "
        "next_interval_end, next_run_below, schedule_error, scheduled_since, looked_at_since)",
        "dag_deadline": "SELECT",
        "dag_notifier": "SELECT",
        "dag_run": f"SELECT, {_NEW_RUN}, UPDATE (state, started_at, ended_at, lock_id, "
        "unfinished, end_as, timed_out, deadline, parse_requested_at)",
        "dag_task": "SELECT",
        "dag_version": "SELECT",
        "deadline": f"SELECT, {_NEW_DEADLINE}, UPDATE (state, due_at, check_at, judged_at, "
        "process_id)",
        "event": f"SELECT (id, at, dag_id), {_NEW_EVENT}",
        "lease": "SELECT, DELETE",
        "notification": "SELECT (id, dag_run_id, notifier, event, collecting, due_at, created_at, "
        "ended_at), INSERT (dag_run_id, notifier, event, due_at), UPDATE (due_at)",
        "notified_event": f"SELECT, {_NEW_NOTIFIED}, UPDATE (notification_id)",
        "pool": "SELECT, UPDATE (description)",
        "process": f"{_seen('process')}, {_NEW_PROCESS}, UPDATE (epoch, ended_at, exclusive)",
        "process_beat": f"SELECT, {_NEW_BEAT}, UPDATE (beat_at, clock_skew)",
        "run_request": "SELECT, UPDATE (answer, answer_run_id, reason, answered_at)",
        "scheduler_uptime": "SELECT, INSERT (since, seen_at), UPDATE (since, seen_at)",
        "skipped_interval": "SELECT, INSERT (dag_id, schedule_date, first_start, interval_start, "
        "interval_end, reason, dag_run_id)",
        "task_attempt": "SELECT, INSERT (task_instance_id, attempt, dag_id, pool, pool_slots, "
        "queue, rank, scheduler_id, queued_at, handle, stop_to), UPDATE (phase, ended_at, outcome, "
        "error, scheduler_id, stop_to)",
        "task_instance": "SELECT, INSERT (dag_run_id, dag_id, task_id, map_index, state, attempt, "
        "pool, pool_slots, queue, priority, rank, priority_class, limited, up_total, "
        "scheduled_at), DELETE, UPDATE (map_index, state, attempt, failures, losses, skips, "
        "retry_at, scheduled_at, started_at, ended_at, rank, up_total, up_success, up_failed, "
        "up_upstream_failed, up_skipped, up_removed, rendered_map_index)",
        "task_state_store": "SELECT (dag_run_id, task_id, map_index, key, expires_at), DELETE, "
        "UPDATE (expires_at)",
        "wake": "SELECT, INSERT, DELETE",
        "xcom": "SELECT",
    },
    Login.WORKER: {
        VIEW: "SELECT",
        "alembic_version": "SELECT",
        "callback": f"SELECT, {_NEW_CALLBACK}, UPDATE (state, tries, token, process_id, "
        "version_id, claimed_until, started_at, ended_at, error)",
        "code_file": "SELECT",
        "code_manifest": "SELECT",
        "dag": "SELECT (dag_id, bundle)",
        "dag_notifier": "SELECT",
        "dag_run": "SELECT",
        "dag_task": "SELECT",
        "dag_version": "SELECT",
        "event": _NEW_EVENT,
        "lease": "SELECT, INSERT, DELETE, UPDATE (expires_at)",
        "notification": "SELECT, UPDATE (state, collecting, tries, token, process_id, due_at, "
        "claimed_until, started_at, ended_at, error)",
        "notified_event": f"SELECT, {_NEW_NOTIFIED}",
        "notifier": "SELECT",
        "process": f"{_seen('process')}, {_NEW_PROCESS}, UPDATE (ended_at, drain_requested_at, "
        "http_address)",
        "process_beat": f"SELECT, {_NEW_BEAT}, UPDATE (beat_at, clock_skew, report)",
        "run_request": "SELECT, INSERT (task_instance_id, attempt, number, dag_id, run_id, "
        "logical_date, conf, reset, unless_paused, waits, note)",
        "spark_work": "SELECT, INSERT, UPDATE (progress, figures, updated_at)",
        "task_attempt": "SELECT, UPDATE (phase, token, process_id, started_at, ended_at, outcome, "
        "error, handle, claimed_until, version_id)",
        "task_instance": "SELECT, UPDATE (state, failures, losses, skips, retry_at, started_at, "
        "ended_at, process_id, rendered_map_index)",
        "task_state_store": "SELECT, INSERT (dag_run_id, task_id, map_index, key, value, "
        "expires_at), DELETE, UPDATE (value, written_at, expires_at)",
        "wake": "INSERT",
        "xcom": "SELECT, INSERT, UPDATE (value, length)",
    },
    Login.USER: _USER,
    Login.API: _API,
    Login.READONLY: _READ_ALL,
}
"""The privileges of each role, by table, as a GRANT names them."""
