"""The graph of a version."""

from fastapi import Request, Response
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.dags.history import AsItWas, as_it_was
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller
from headway_api.http.caching import tagged
from headway_api.http.documented import errors
from headway_api.http.routers import native_router
from headway_api.native.dags.versions import VersionNumber
from headway_api.native.graphs import GraphEdge, GraphGroup, GraphNode, edges, groups, nodes

router = native_router("DAGs")


class VersionGraph(BaseModel):
    """The tasks of a version in topological order, and which of them wait for which."""

    dag_id: str
    version: int
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    groups: list[GraphGroup]


@router.get(
    "/dags/{dag_id}/versions/{number}/graph", response_model=VersionGraph, responses=errors(404)
)
def show_version_graph(
    dag_id: str, number: VersionNumber, caller: AnyCaller, request: Request
) -> Response:
    """Show the graph of a version of a DAG, in layers."""

    def read(conn: Connection) -> AsItWas:
        caller.check_dag(conn, Permission.READ, dag_id)
        return as_it_was(conn, dag_id, number)

    spec = caller.read(read).spec
    graph = VersionGraph(
        dag_id=dag_id, version=number, nodes=nodes(spec), edges=edges(spec), groups=groups(spec)
    )
    return tagged(request, graph.model_dump_json().encode(), strong=True)
