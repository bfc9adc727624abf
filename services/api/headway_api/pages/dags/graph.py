"""The graph of a DAG's version, and that of a run as it was."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags.history import as_it_was, graph_of_run
from headway.db.reads.charts import run_times
from headway.decide.charts.grid import CODED
from headway.domain.accounts import Permission
from headway.domain.states import TaskState
from headway_api.airflow.named import run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.dags.graph_svg import drawn
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_DAG = addresses.DAGS + "/{dag_id}"


@router.get(_DAG + "/graph")
def show_graph(
    request: Request,
    caller: AnyCaller,
    dag_id: str,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Response:
    """Show the graph of a version, by default of the one in force."""

    def read(conn: Connection) -> dict[str, Any]:
        caller.check_dag(conn, Permission.READ, dag_id)
        was = as_it_was(conn, dag_id, version)
        upstream = {task.task_id: task.upstream for task in was.spec.tasks}
        return {"dag_id": dag_id, "number": was.number, "graph": drawn(upstream)}

    return page(request, "graph.html", caller, caller.read(read))


@router.get(_DAG + "/runs/{run_id}/graph")
def show_run_graph(request: Request, caller: AnyCaller, dag_id: str, run_id: str) -> Response:
    """Show the graph of a run with the states of its tasks."""
    context = caller.read(lambda conn: _of_run(caller, conn, dag_id, run_id))
    return page(request, "run_graph.html", caller, context)


def _of_run(caller: Caller, conn: Connection, dag_id: str, run_id: str) -> dict[str, Any]:
    listed = run_named(caller, conn, dag_id, run_id, Permission.READ)
    found = graph_of_run(conn, dag_id, run_id)
    upstream = {task_id: task.upstream for task_id, task in found.graph.tasks.items()}
    counts = run_times.state_counts(conn, dag_id, run_id)
    return {
        "run": listed.run,
        "graph": drawn(upstream),
        "states": {task_id: _telling(its) for task_id, its in counts.items()},
        "counts": counts,
    }


def _telling(states: Mapping[TaskState, int]) -> str:
    """Return the state that says most of the instances of a task."""
    return str(max(states, key=CODED.index))
