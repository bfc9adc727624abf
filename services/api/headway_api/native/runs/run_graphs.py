"""The graph of a run as it was."""

from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.dags.history import graph_of_run
from headway.db.reads.charts import run_times
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller
from headway_api.http.documented import errors
from headway_api.http.routers import native_router
from headway_api.native.graphs import GraphEdge, GraphGroup, RunNode, edges, groups, run_nodes

router = native_router("runs")


class RunGraphView(BaseModel):
    """The tasks of a run as its version has them, with the states of their instances.

    `in_force` is the number of the version in force, null if there is none.  A run that is not
    `pinned` may get another version when it starts.
    """

    dag_id: str
    run_id: str
    version: int
    in_force: int | None
    pinned: bool
    nodes: list[RunNode]
    edges: list[GraphEdge]
    groups: list[GraphGroup]


@router.get("/runs/{dag_id}/{run_id}/graph", responses=errors(404))
def show_run_graph(dag_id: str, run_id: str, caller: AnyCaller) -> RunGraphView:
    """Show the graph of a run as its version has it, in layers, with the states of its tasks."""

    def read(conn: Connection) -> RunGraphView:
        caller.check_dag(conn, Permission.READ, dag_id)
        found = graph_of_run(conn, dag_id, run_id)
        states = run_times.state_counts(conn, dag_id, run_id)
        dag = found.graph.dag
        return RunGraphView(
            dag_id=dag_id,
            run_id=run_id,
            version=found.number,
            in_force=found.in_force,
            pinned=found.pinned,
            nodes=run_nodes(dag, states),
            edges=edges(dag),
            groups=groups(dag),
        )

    return caller.read(read)
