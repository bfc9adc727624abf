"""Where the log of an attempt is: on this machine, where logs are copied to, or at its worker."""

from pathlib import Path

from sqlalchemy import Connection

from headway.db.reads.pages import attempt_pages
from headway.db.reads.pages.attempt_pages import InstanceName, ListedAttempt
from headway.db.reads.pages.paging import MOST_ROWS
from headway.domain.accounts import Permission
from headway.domain.errors import (
    AttemptNotFoundError,
    LogNotFoundError,
    LogsError,
    SecretError,
    SettingsError,
)
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.logs import tickets
from headway.runtime.logs.copies import log_places
from headway.runtime.logs.paths import LogKey
from headway.runtime.settings import configuration, secret_keys
from headway.runtime.settings.logs import LogSettings
from headway_api.airflow.named import run_named
from headway_api.airflow.results.log_pieces import StoredLog
from headway_api.airflow.results.worker_logs import WorkerLogs
from headway_api.auth.caller import Caller


def attempt_of(caller: Caller, conn: Connection, name: InstanceName, number: int) -> ListedAttempt:
    """Return an attempt that has started, of any run; NotFoundError without it."""
    run_named(caller, conn, name.dag_id, name.run_id, Permission.READ)
    return attempt_in_run(caller, conn, name, number)


def attempt_in_run(
    caller: Caller, conn: Connection, name: InstanceName, number: int
) -> ListedAttempt:
    """Return an attempt that has started, of a run that the caller has read before."""
    rows = attempt_pages.page(conn, caller.page(MOST_ROWS), name).rows
    started = {it.attempt.attempt: it for it in rows if it.attempt.started_at is not None}
    if number not in started:
        there = ", ".join(map(str, started)) or "none"
        raise AttemptNotFoundError(
            f"Task {name.task_id!r} has no attempt {number} that has started; it has {there}."
        )
    return started[number]


def log_of(name: InstanceName, found: ListedAttempt) -> StoredLog:
    """Return the log of an attempt; LogNotFoundError where it cannot be read from here."""
    attempt = found.attempt
    key = LogKey(name.dag_id, name.run_id, name.task_id, name.map_index, attempt.attempt)
    remote = configuration.read(LogSettings).remote
    places = log_places(configuration.home(), remote)
    if found.log_address is not None:
        places.append(WorkerLogs(found.log_address, _ticket))
    for place in places:
        for relative in (key.relative, key.former):
            if place.size(relative) is not None:
                return StoredLog(place, relative, attempt.ended_at is not None)
    copied = "HEADWAY_LOGS_REMOTE is not set" if remote is None else "it was not copied"
    raise LogNotFoundError(
        f"The log of attempt {attempt.attempt} is not on the machine of this API, and {copied}. "
        f"Look on {attempt.worker or 'the worker that ran it'}."
    )


def _ticket(relative: Path) -> str:
    try:
        return tickets.make(secret_keys.keys(), relative, SystemClock().now())
    except (SecretError, SettingsError) as error:
        raise LogsError(
            "The log is on the machine of a worker, and this API has no keys by which the worker "
            "would know it. Give both the same HEADWAY_SECRETS_KEYS."
        ) from error
