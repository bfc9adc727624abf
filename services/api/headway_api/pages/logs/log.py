"""The page of an attempt's log: its end, or the lines before what was shown."""

from typing import Annotated, Final

from fastapi import Path, Query, Request
from starlette.responses import Response

from headway.db.reads.pages.attempt_pages import InstanceName
from headway_api.airflow.results.log_pieces import messages
from headway_api.airflow.results.stored_logs import attempt_of, log_of
from headway_api.auth.caller import AnyCaller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_BYTES: Final = 131_072
"""Bytes of a log that a page shows."""

_LARGEST: Final = 2**62


@router.get(addresses.DAGS + "/{dag_id}/runs/{run_id}/tasks/{task_id}/attempts/{attempt}/log")
def show_log(  # noqa: PLR0913, PLR0917 - what names the log, and which part of it
    request: Request,
    caller: AnyCaller,
    dag_id: str,
    run_id: str,
    task_id: str,
    attempt: Annotated[int, Path(ge=1, le=2**31 - 1)],
    map_index: Annotated[int, Query(ge=-1, le=2**31 - 1)] = -1,
    before: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
) -> Response:
    """Show the end of a log, or what stands before a byte."""
    name = InstanceName(dag_id, run_id, task_id, map_index)
    found = caller.read(lambda conn: attempt_of(caller, conn, name, attempt))
    log = log_of(name, found)
    size = log.place.size(log.relative) or 0
    end = size if before is None else min(before, size)
    start = max(0, end - _BYTES)
    lines = [line for piece, _ in log.pieces(start, end - start) for line in piece]
    if start > 0 and len(lines) > 1:
        start += len(lines[0]) + 1  # it may be half a line
        del lines[0]
    context = {"name": name, "listed": found, "lines": messages(lines), "start": start, "end": end}
    return page(request, "log.html", caller, {**context, "size": size})
