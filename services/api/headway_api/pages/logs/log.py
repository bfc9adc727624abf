"""The page of an attempt's log: its end, what stands at a byte, or the lines that are wanted."""

from typing import Annotated, Final

from fastapi import Path, Query, Request
from starlette.responses import Response

from headway.db.reads.pages.attempt_pages import InstanceName
from headway_api.airflow.results.stored_logs import attempt_of, log_of
from headway_api.auth.caller import AnyCaller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router
from headway_api.pages.logs import log_window
from headway_api.pages.logs.log_kinds import LogKind
from headway_api.pages.logs.log_window import LogSearch

router = page_router()

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
    start: Annotated[int | None, Query(alias="from", ge=0, le=_LARGEST)] = None,
    q: Annotated[str, Query(max_length=200)] = "",
    only: Annotated[list[LogKind], Query()] = [],  # noqa: B006 - FastAPI makes a new one
) -> Response:
    """Show the end of a log, what stands before a byte or from it on, or the lines wanted."""
    name = InstanceName(dag_id, run_id, task_id, map_index)
    found = caller.read(lambda conn: attempt_of(caller, conn, name, attempt))
    log = log_of(name, found)
    wanted = LogSearch(q, only)
    if wanted:
        window = log_window.search(log, wanted, before)
    elif start is not None and before is None:
        window = log_window.after(log, start)
    else:
        window = log_window.before(log, before)
    runs = not wanted and found.attempt.ended_at is None
    context = {
        "name": name,
        "listed": found,
        "window": window,
        "wanted": wanted,
        "kinds": list(LogKind),
        "runs": runs,
        "follows": runs and window.end == window.size,
    }
    return page(request, "log.html", caller, context)
