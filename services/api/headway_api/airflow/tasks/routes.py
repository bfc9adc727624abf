"""List and show the tasks of a DAG, as its version in force defines them."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection

from headway.actions.dags.history import as_it_was
from headway.actions.lookup import check_tasks
from headway.decide.scheduling.graph import DagGraph
from headway.domain.accounts import Permission
from headway_api.airflow import ordering
from headway_api.airflow.named import DagId, TaskId, dag_of
from headway_api.airflow.tasks.models import ShownTask, ShownTasks
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("Task")


class TaskOrderQuery(BaseModel):
    """In which order tasks are listed."""

    model_config = ConfigDict(extra="forbid")

    order_by: str = "task_id"


@router.get("/dags/{dag_id}/tasks", responses=errors(404))
def get_tasks(
    caller: AnyCaller, dag_id: DagId, query: Annotated[TaskOrderQuery, Query()]
) -> ShownTasks:
    """List the tasks of a DAG, by their ids."""
    order = ordering.ordering([query.order_by], "task_id")
    ordering.known({"task_id": None}, order)
    graph = caller.read(lambda conn: _graph(caller, conn, dag_id))
    shown = [
        ShownTask.of(graph, graph.tasks[task_id])
        for task_id in sorted(graph.tasks, reverse=order.descending)
    ]
    return ShownTasks(tasks=shown, total_entries=len(shown))


@router.get("/dags/{dag_id}/tasks/{task_id}", responses=errors(404))
def get_task(caller: AnyCaller, dag_id: DagId, task_id: TaskId) -> ShownTask:
    """Show a task of a DAG."""
    graph = caller.read(lambda conn: _graph(caller, conn, dag_id))
    check_tasks(graph, [task_id])
    return ShownTask.of(graph, graph.tasks[task_id])


def _graph(caller: Caller, conn: Connection, dag_id: str) -> DagGraph:
    dag_of(caller, conn, dag_id, Permission.READ)
    return DagGraph(as_it_was(conn, dag_id, None).spec)
