"""List task instances: of a run, of a DAG, of all; and those of one mapped task."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Final

from fastapi import Query
from pydantic import Field
from sqlalchemy import Connection

from headway.actions.dags.history import graph_of_run
from headway.actions.lookup import check_tasks
from headway.db.reads.pages import task_pages
from headway.db.reads.pages.task_pages import ListedTask, TaskFilter
from headway.domain.accounts import Permission
from headway.domain.errors import RequestError
from headway_api.airflow import listing, ordering
from headway_api.airflow.filters import RunTimes, like
from headway_api.airflow.instances.models import ShownTaskInstances, seconds_between
from headway_api.airflow.listing import FARTHEST, CursorQuery, Limit, OffsetQuery
from headway_api.airflow.named import (
    DagId,
    Number,
    RunId,
    TaskId,
    check_named,
    or_all,
    run_named,
)
from headway_api.airflow.sorted_lists import SortKeys, sorted_page
from headway_api.airflow.states import state_of, task_states
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("Task Instance")

_KEYS: Final[SortKeys[ListedTask]] = {
    "id": lambda it: it.id,
    "state": lambda it: state_of(it.task.state),
    "start_date": lambda it: it.task.started_at,
    "end_date": lambda it: it.task.ended_at,
    "duration": lambda it: seconds_between(it.task.started_at, it.task.ended_at),
    "map_index": lambda it: it.task.map_index,
    "try_number": lambda it: it.task.attempt,
    "logical_date": lambda it: it.logical_date,
    "run_after": lambda it: it.run_after,
    "task_display_name": lambda it: it.task_display_name or it.task.task_id,
    "operator": lambda it: it.operator,
    "pool": lambda it: it.task.pool,
    "queue": lambda it: it.task.queue,
}
_ORDER_BY: Final = (
    "id; `-` reverses the order. A list of at most 1,000 task instances may also be ordered by "
    f"{', '.join(name for name in _KEYS if name != 'id')}, or by several attributes."
)


class InstanceFilters(OffsetQuery, RunTimes):
    """Which task instances are wanted."""

    state: list[str] = Field([], description="`none` is a state as well.")
    pool: list[str] = Field([])
    queue: list[str] = Field([])
    operator: list[str] = Field([])
    try_number: list[Number] = Field([])
    map_index: list[Number] = Field([])
    version_number: list[Number] = Field([])
    pool_name_pattern: str | None = None
    pool_name_prefix_pattern: str | None = None
    queue_name_pattern: str | None = None
    queue_name_prefix_pattern: str | None = None
    operator_name_pattern: str | None = None
    operator_name_prefix_pattern: str | None = None
    order_by: list[str] = Field([], description=_ORDER_BY)

    def filter(self) -> TaskFilter:
        """Return the task instances that are wanted."""
        return TaskFilter(
            states=task_states(self.state),
            pools=self.pool or None,
            queues=self.queue or None,
            operators=self.operator or None,
            attempts=self.try_number or None,
            map_indexes=self.map_index or None,
            versions=self.version_number or None,
            pool_like=like(self.pool_name_pattern, self.pool_name_prefix_pattern),
            queue_like=like(self.queue_name_pattern, self.queue_name_prefix_pattern),
            operator_like=like(self.operator_name_pattern, self.operator_name_prefix_pattern),
            run_after=self.within("run_after"),
            logical_date=self.within("logical_date"),
            started=self.within("start_date"),
            ended=self.within("end_date"),
            duration=self.lasted(),
        )


class InstanceQuery(InstanceFilters, CursorQuery):
    """Which task instances are wanted, in which order, and which page of them."""

    task_id: str | None = None
    task_display_name_pattern: str | None = None
    task_display_name_prefix_pattern: str | None = None
    dag_id_pattern: str | None = None
    dag_id_prefix_pattern: str | None = None
    run_id_pattern: str | None = None
    run_id_prefix_pattern: str | None = None

    def filter(self) -> TaskFilter:
        """Return the task instances that are wanted."""
        shown = like(self.task_display_name_pattern, self.task_display_name_prefix_pattern)
        return replace(
            super().filter(),
            task_id=self.task_id,
            name_like=shown,
            dag_id_like=like(self.dag_id_pattern, self.dag_id_prefix_pattern),
            run_id_like=like(self.run_id_pattern, self.run_id_prefix_pattern),
        )


class InstanceBatch(RunTimes):
    """Which task instances of all DAGs are wanted, and which page of them."""

    dag_ids: list[str] | None = None
    dag_run_ids: list[str] | None = None
    task_ids: list[str] | None = None
    state: list[str | None] | None = None
    pool: list[str] | None = None
    queue: list[str] | None = None
    order_by: str | None = Field(None, description=_ORDER_BY)
    page_offset: int = Field(0, ge=0, le=FARTHEST)
    page_limit: Limit = 100

    def filter(self) -> TaskFilter:
        """Return the task instances that are wanted."""
        dags, runs = self.dag_ids, self.dag_run_ids
        one_dag = dags[0] if dags is not None and len(dags) == 1 else None
        return TaskFilter(
            # Of one DAG, runs are found by an index.
            dag_id=one_dag,
            run_id=runs[0] if one_dag is not None and runs and len(runs) == 1 else None,
            dag_ids=dags,
            run_ids=runs,
            task_ids=self.task_ids,
            states=task_states(self.state or []),
            pools=self.pool,
            queues=self.queue,
            run_after=self.within("run_after"),
            logical_date=self.within("logical_date"),
            started=self.within("start_date"),
            ended=self.within("end_date"),
            duration=self.lasted(),
        )


@router.get("/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances", responses=errors(404))
def get_task_instances(
    caller: AnyCaller, dag_id: DagId, dag_run_id: RunId, query: Annotated[InstanceQuery, Query()]
) -> ShownTaskInstances:
    """List the task instances of a run; with `~` those of every run, or of every DAG."""
    wanted = replace(query.filter(), dag_id=or_all(dag_id), run_id=or_all(dag_run_id))

    def read(conn: Connection) -> ShownTaskInstances:
        found = _page(caller, conn, query, wanted, query.order_by)
        if not found.task_instances:  # what has instances that the caller sees is there
            check_named(caller, conn, dag_id, dag_run_id)
        return found

    return caller.read(read)


@router.post("/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/list", responses=errors(404))
def get_task_instances_batch(
    caller: AnyCaller, dag_id: DagId, dag_run_id: RunId, body: InstanceBatch
) -> ShownTaskInstances:
    """List task instances of all DAGs: the path has `~` for the DAG and for the run."""
    if or_all(dag_id) is not None or or_all(dag_run_id) is not None:
        raise RequestError("Write ~ for the DAG and the run in the path; the body says which.")
    query = OffsetQuery(limit=body.page_limit, offset=body.page_offset)
    order_by = [] if body.order_by is None else [body.order_by]

    def read(conn: Connection) -> ShownTaskInstances:
        check_named(caller, conn, dag_id)
        return _page(caller, conn, query, body.filter(), order_by)

    return caller.read(read)


@router.get(
    "/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}/listMapped",
    responses=errors(404),
)
def get_mapped_task_instances(
    caller: AnyCaller,
    dag_id: DagId,
    dag_run_id: RunId,
    task_id: TaskId,
    query: Annotated[InstanceFilters, Query()],
) -> ShownTaskInstances:
    """List the instances of a mapped task, by their index; none before it is expanded."""
    wanted = replace(query.filter(), dag_id=dag_id, run_id=dag_run_id, task_id=task_id, mapped=True)
    # Instances are created in the order of their indexes.
    by_id = {"map_index": "id", "-map_index": "-id"}
    order_by = [by_id.get(each, each) for each in query.order_by] or ["id"]

    def read(conn: Connection) -> ShownTaskInstances:
        run_named(caller, conn, dag_id, dag_run_id, Permission.READ)
        graph = graph_of_run(conn, dag_id, dag_run_id).graph
        check_tasks(graph, [task_id])
        if not graph.tasks[task_id].mapped_over:
            raise RequestError(f"Task {task_id!r} is not mapped: it has one instance in each run.")
        return _page(caller, conn, query, wanted, order_by)

    return caller.read(read)


def _page(
    caller: Caller,
    conn: Connection,
    query: OffsetQuery,
    wanted: TaskFilter,
    order_by: Sequence[str],
) -> ShownTaskInstances:
    orders = ordering.orderings(order_by, "id")
    if orders != [("id", orders[0].descending)]:
        read = partial(task_pages.page, conn, wanted=wanted)
        return ShownTaskInstances.page(sorted_page(caller, query, read, _KEYS, orders))
    page = listing.shown(
        caller,
        query,
        lambda asked: task_pages.page(conn, asked, wanted),
        lambda: task_pages.total(conn, caller.bundles, wanted),
        descending=orders[0].descending,
    )
    return ShownTaskInstances.page(page)
