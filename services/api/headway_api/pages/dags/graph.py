"""The graph of a DAG's version, and that of a run as it was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Query, Request
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags.history import as_it_was, graph_of_run
from headway.actions.dags.outlines import DagOutline, outline_of
from headway.db.reads.charts import run_times
from headway.decide.charts.grid import CODED
from headway.decide.charts.neighbours import around
from headway.decide.charts.nested import nested
from headway.decide.charts.outline import outlined
from headway.domain.accounts import Permission
from headway.domain.dag.mapped_groups import mapped_groups
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import TaskNotFoundError
from headway.domain.states import TaskState
from headway_api.airflow.named import run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.dags.graph_svg import DrawnGraph, drawn
from headway_api.pages.frame import addresses
from headway_api.pages.frame.outline_rows import together
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

MOST_TASKS: Final = 300
"""Tasks of the largest graph that is shown as a whole unless that is asked for."""

_DAG = addresses.DAGS + "/{dag_id}"


class GraphQuery(BaseModel):
    """Which part of a large graph is shown: the tasks around one, or all; and which groups are not.

    What is in a group that is `folded` is not drawn.
    """

    version: int | None = Field(None, ge=1, le=2**31 - 1)
    task: str = ""
    depth: int = Field(2, ge=0, le=20)
    all: bool = False
    folded: list[str] = []


@dataclass(frozen=True, slots=True)
class GraphPart:
    """What is drawn of a graph of `total` tasks; `around` is the task in the middle of a part.

    `names` has what tasks and groups are called.
    """

    graph: DrawnGraph
    total: int
    around: str | None
    names: Mapping[str, str]
    outline: DagOutline


@router.get(_DAG + "/graph")
def show_graph(
    request: Request, caller: AnyCaller, dag_id: str, query: Annotated[GraphQuery, Query()]
) -> Response:
    """Show the graph of a version, by default of the one in force."""

    def read(conn: Connection) -> dict[str, Any]:
        caller.check_dag(conn, Permission.READ, dag_id)
        was = as_it_was(conn, dag_id, query.version)
        part = _part(was.spec, query)
        return {"dag_id": dag_id, "number": was.number, "part": part, "query": query}

    return page(request, "graph.html", caller, caller.read(read))


@router.get(_DAG + "/runs/{run_id}/graph")
def show_run_graph(
    request: Request,
    caller: AnyCaller,
    dag_id: str,
    run_id: str,
    query: Annotated[GraphQuery, Query()],
) -> Response:
    """Show the graph of a run with the states of its tasks."""
    context = caller.read(lambda conn: _of_run(caller, conn, (dag_id, run_id), query))
    return page(request, "run_graph.html", caller, context)


def _of_run(
    caller: Caller, conn: Connection, where: tuple[str, str], query: GraphQuery
) -> dict[str, Any]:
    listed = run_named(caller, conn, *where, Permission.READ)
    found = graph_of_run(conn, *where)
    counts = dict(run_times.state_counts(conn, *where))
    failed = (task for task in found.graph.tasks if TaskState.FAILED in counts.get(task, {}))
    part = _part(found.graph.dag, query, next(failed, ""), marked=True)
    for node in part.graph.nodes:
        if node.folded:
            counts[node.name] = together(counts.get(task, {}) for task in node.folded)
    return {
        "run": listed.run,
        "part": part,
        "query": query,
        "states": {task_id: _telling(its) for task_id, its in counts.items()},
        "counts": counts,
    }


def _part(dag: DagSpec, query: GraphQuery, first: str = "", *, marked: bool = False) -> GraphPart:
    """Return all of a graph, or of a large one the part around a task: else around the first."""
    upstream = {task.task_id: task.upstream for task in dag.tasks}
    if query.task and query.task not in upstream:
        raise TaskNotFoundError(f"This version has no task {query.task!r}.")
    total = len(upstream)
    middle = None
    shown: Mapping[str, Sequence[str]] = upstream
    if not query.all and upstream and (total > MOST_TASKS or query.task):
        middle = query.task or first or next(iter(upstream))
        shown = around(upstream, middle, query.depth)
    labels = {(each.upstream, each.downstream): each.label for each in dag.labels}
    outline = outline_of(dag)
    names = {row.name: outline.called(row) for row in outlined(list(upstream), dag.groups)}
    names |= {group: f"{names[group]} [ ]" for group in mapped_groups(dag) if group in names}
    graph = drawn(nested(shown, dag.groups, set(query.folded), labels), names, marked=marked)
    return GraphPart(graph, total, middle, names, outline)


def _telling(states: Mapping[TaskState, int]) -> str:
    """Return the state that says most of the instances of a task."""
    return str(max(states, key=CODED.index))
