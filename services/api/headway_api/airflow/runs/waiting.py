"""Show a run, now or when it has ended, and tell how it stands until it has."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Final

import anyio
from fastapi import Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from headway.db.reads.pages import xcom_pages
from headway.db.reads.pages.paging import MOST_ROWS
from headway.db.reads.pages.run_pages import ListedRun
from headway.db.reads.pages.xcom_pages import XComFilter, XComName
from headway.domain.accounts import Permission
from headway.domain.arguments import JsonValue
from headway.domain.errors import HeadwayError
from headway.runtime.daemon.clock import SystemClock
from headway_api.airflow.named import DagId, RunId, run_named
from headway_api.airflow.runs.models import ShownRun
from headway_api.auth.caller import AnyCaller, Caller, signed_in
from headway_api.http.documented import errors
from headway_api.http.preferences import preferred_wait
from headway_api.http.routers import airflow_router

router = airflow_router("DagRun")

LONGEST_WAIT: Final = 60.0
"""Seconds for which a request with `Prefer: wait` is held at most."""

LOOK_EVERY: Final = 0.5
"""Seconds between two looks at a run whose end is waited for."""

RETURN_VALUE: Final = "return_value"

_NDJSON: Final = "application/x-ndjson"


class WaitQuery(BaseModel):
    """How often to look, and of which tasks to tell what they returned when the run has ended."""

    model_config = ConfigDict(extra="forbid")

    interval: float = Field(gt=0, le=3600, description="Seconds between two lines.")
    result: list[str] = Field([], max_length=100, description="Tasks whose results are told.")


@router.get("/dags/{dag_id}/dagRuns/{dag_run_id}", responses=errors(404))
async def get_dag_run(
    caller: AnyCaller,
    dag_id: DagId,
    dag_run_id: RunId,
    response: Response,
    prefer: Annotated[str | None, Header(description="`wait=30`: seconds to wait.")] = None,
) -> ShownRun:
    """Show a run; with the header `Prefer: wait=30` when it has ended, or after that time."""
    wait = min(preferred_wait(prefer), LONGEST_WAIT)
    clock = SystemClock()
    until = clock.monotonic() + wait
    if wait:
        response.headers["Preference-Applied"] = f"wait={wait:g}"
    while True:
        found = await run_in_threadpool(_look, caller, dag_id, dag_run_id)
        left = until - clock.monotonic()
        if found.run.ended or left <= 0:
            return ShownRun.of(found)
        await anyio.sleep(min(left, LOOK_EVERY))


@router.get(
    "/dags/{dag_id}/dagRuns/{dag_run_id}/wait",
    response_class=StreamingResponse,
    responses={
        200: {"content": {_NDJSON: {"schema": {"type": "string"}}}, "description": "Lines of JSON"},
        **errors(404),
    },
)
def wait_dag_run_until_finished(
    caller: AnyCaller,
    request: Request,
    dag_id: DagId,
    dag_run_id: RunId,
    query: Annotated[WaitQuery, Query()],
) -> StreamingResponse:
    """Tell the state of a run, a line of JSON each time, until it has ended.

    The last line has the results of the tasks that `result` names.
    """
    first = _look(caller, dag_id, dag_run_id)
    return StreamingResponse(_lines(caller, request, first, query), media_type=_NDJSON)


def _look(caller: Caller, dag_id: str, run_id: str) -> ListedRun:
    return caller.read(lambda conn: run_named(caller, conn, dag_id, run_id, Permission.READ))


async def _lines(
    caller: Caller, request: Request, it: ListedRun, query: WaitQuery
) -> AsyncIterator[str]:
    dag_id, run_id = it.run.dag_id, it.run.run_id

    def look() -> ListedRun:
        # Whoever has lost the right to look is told nothing more.
        return _look(signed_in(request), dag_id, run_id)

    while not it.run.ended:
        yield _line({"state": str(it.run.state)})
        await anyio.sleep(max(query.interval, LOOK_EVERY))
        try:
            it = await run_in_threadpool(look)
        except HeadwayError:
            return
    line: dict[str, JsonValue] = {"state": str(it.run.state)}
    if query.result:
        line["results"] = await run_in_threadpool(_results, caller, it, query.result)
    yield _line(line)


def _line(content: dict[str, JsonValue]) -> str:
    return json.dumps(content, separators=(",", ":")) + "\n"


def _results(caller: Caller, it: ListedRun, tasks: list[str]) -> dict[str, JsonValue]:
    """Return what each task returned: of a mapped one a list, of one that has not, nothing."""

    def read(conn: Connection) -> dict[str, JsonValue]:
        returned = {task_id: _returned(caller, conn, it, task_id) for task_id in tasks}
        return {
            task_id: values[-1] if -1 in values else [values[index] for index in sorted(values)]
            for task_id, values in returned.items()
            if values
        }

    return caller.read(read)


def _returned(
    caller: Caller, conn: Connection, it: ListedRun, task_id: str
) -> dict[int, JsonValue]:
    """Return what the instances of a task returned, by their map index."""
    dag_id, run_id = it.run.dag_id, it.run.run_id
    wanted = XComFilter(dag_id=dag_id, run_id=run_id, task_id=task_id, key=RETURN_VALUE)
    found: dict[int, JsonValue] = {}
    for row in xcom_pages.page(conn, caller.page(MOST_ROWS), wanted).rows:
        name = XComName(dag_id, run_id, task_id, row.map_index, RETURN_VALUE)
        for value in xcom_pages.value(conn, caller.bundles, name) or ():
            found[row.map_index] = value
    return found
