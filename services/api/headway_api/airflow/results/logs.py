"""The logs of attempts: as JSON, as lines of JSON, or as text."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Annotated, Any, Final

from fastapi import Header, Path, Query, Response
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from headway.db.reads.pages.attempt_pages import InstanceName
from headway.domain.errors import RequestError
from headway_api.airflow.accepted import JSON, LINES, TEXT, preferred
from headway_api.airflow.named import DagId, RunId, TaskId
from headway_api.airflow.results.log_pieces import (
    LARGEST,
    PIECE,
    LogMessage,
    StoredLog,
    in_json_lines,
    in_text,
    messages,
)
from headway_api.airflow.results.stored_logs import attempt_of, log_of
from headway_api.auth.caller import AnyCaller
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
    attempt = caller.read(lambda conn: attempt_of(caller, conn, name, try_number))
    log, start = log_of(name, attempt), _byte(token)
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
