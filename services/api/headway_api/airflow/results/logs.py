"""The logs of attempts: as JSON, as lines of JSON, or as text."""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path as FilePath
from typing import Annotated, Any, Final

from fastapi import Header, Path, Query, Response
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import StreamingResponse

from headway.db.reads.pages import attempt_pages
from headway.db.reads.pages.attempt_pages import InstanceName, ListedAttempt
from headway.db.reads.pages.paging import MOST_ROWS
from headway.domain.accounts import Permission
from headway.domain.errors import (
    AttemptNotFoundError,
    LogNotFoundError,
    LogsError,
    RequestError,
    SecretError,
    SettingsError,
)
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.logs import tickets
from headway.runtime.logs.copies import log_places
from headway.runtime.logs.paths import LogKey
from headway.runtime.settings import configuration, secret_keys
from headway.runtime.settings.logs import LogSettings
from headway_api.airflow.accepted import JSON, LINES, TEXT, preferred
from headway_api.airflow.named import DagId, RunId, TaskId, run_named
from headway_api.airflow.results.log_pieces import (
    LARGEST,
    PIECE,
    LogMessage,
    StoredLog,
    in_json_lines,
    in_text,
    messages,
)
from headway_api.airflow.results.worker_logs import WorkerLogs
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("logs", "/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}")

_OTHERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {kind: {"schema": {"type": "string"}} for kind in (LINES, TEXT)}}
}
_UNLIMITED: Final = 2**62


class TaskInstancesLogResponse(BaseModel):
    """Lines of a log.  With `continuation_token` the next request gets what follows.

    It is null when the attempt has ended and its log was read to the end.
    """

    content: list[LogMessage]
    continuation_token: str | None


@router.get(
    "/logs/{try_number}",
    response_model=TaskInstancesLogResponse,
    responses={**_OTHERS, **errors(404)},
)
def get_log(  # noqa: PLR0913, PLR0917 - what a request gives
    caller: AnyCaller,
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    try_number: Annotated[int, Path(ge=1, le=2**31 - 1)],
    full_content: bool = False,
    map_index: Annotated[int, Query(ge=-1, le=2**31 - 1)] = -1,
    token: Annotated[str | None, Query(max_length=20)] = None,
    accept: Annotated[str, Header()] = JSON,
) -> Response | TaskInstancesLogResponse:
    """Return the log of an attempt: from this machine, where logs are copied to, or its worker.

    As JSON it has 1 MiB, with `full_content` at most 64 MiB.  As `application/x-ndjson` and as
    `text/plain` it has all that is there.
    """
    name = InstanceName(dag_id, dag_run_id, task_id, map_index)
    attempt = caller.read(lambda conn: _attempt(caller, conn, name, try_number))
    log, start = _log(name, attempt), _byte(token)
    match preferred(accept, (JSON, LINES, TEXT)):
        case "application/x-ndjson":
            return _streamed(log, start, in_json_lines, LINES)
        case "text/plain":
            return _streamed(log, start, in_text, TEXT)
    content: list[LogMessage] = []
    for lines, following in log.pieces(start, LARGEST if full_content else PIECE):
        content += messages(lines)
        start = following
    over = log.is_over(start)
    return TaskInstancesLogResponse(
        content=content, continuation_token=None if over else str(start)
    )


def _attempt(caller: Caller, conn: Connection, name: InstanceName, number: int) -> ListedAttempt:
    run_named(caller, conn, name.dag_id, name.run_id, Permission.READ)
    rows = attempt_pages.page(conn, caller.page(MOST_ROWS), name).rows
    started = {it.attempt.attempt: it for it in rows if it.attempt.started_at is not None}
    if number not in started:
        there = ", ".join(map(str, started)) or "none"
        raise AttemptNotFoundError(
            f"Task {name.task_id!r} has no attempt {number} that has started; it has {there}."
        )
    return started[number]


def _log(name: InstanceName, found: ListedAttempt) -> StoredLog:
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


def _ticket(relative: FilePath) -> str:
    try:
        return tickets.make(secret_keys.keys(), relative, SystemClock().now())
    except (SecretError, SettingsError) as error:
        raise LogsError(
            "The log is on the machine of a worker, and this API has no keys by which the worker "
            "would know it. Give both the same HEADWAY_SECRETS_KEYS."
        ) from error


def _byte(token: str | None) -> int:
    """Return the byte that a token says; 0 without one."""
    if token is None:
        return 0
    if not (token.isascii() and token.isdigit()) or int(token) >= _UNLIMITED:
        raise RequestError("The token is none that an answer about this log has given.")
    return int(token)


def _streamed(
    log: StoredLog, start: int, write: Callable[[list[bytes]], str], media_type: str
) -> Response:
    """Return the log as it is read; what is wrong with its place shows before it begins."""
    pieces: Iterator[str] = (write(lines) for lines, _ in log.pieces(start, _UNLIMITED))
    first = next(pieces, "")
    return StreamingResponse(chain([first], pieces), media_type=media_type)
