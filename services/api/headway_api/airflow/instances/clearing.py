"""Clear task instances of a run: have them run again."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from headway.actions.dags.history import graph_of_run
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.version_choice import LATEST, OWN
from headway.decide.changes.clear import Selection, above
from headway.decide.scheduling.graph import DagGraph
from headway.domain.accounts import Permission
from headway.domain.errors import RequestError, StillActiveError
from headway_api.airflow.instances.affected import after_change, would_change
from headway_api.airflow.instances.models import ShownTaskInstances
from headway_api.airflow.named import DagId
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.auth.changing import changed
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("Task Instance")

Index = Annotated[int, Field(ge=0, le=2**31 - 1)]


class InstancesClear(BaseModel):
    """What to clear of a run; nothing is, unless `dry_run` is false.

    A task is named by its id, or an instance of a mapped one as [id, index]; without names all
    tasks are meant.  The note is the reason that the journal tells.
    """

    model_config = ConfigDict(extra="forbid")

    dry_run: bool = True
    dag_run_id: str | None = None
    task_ids: Annotated[list[str | tuple[str, Index]], Field(min_length=1)] | None = None
    only_failed: bool = True
    only_running: Literal[False] = False
    reset_dag_runs: Literal[True] = True
    include_upstream: bool = False
    include_downstream: bool = False
    include_future: Literal[False] = False
    include_past: Literal[False] = False
    start_date: None = None
    end_date: None = None
    run_on_latest_version: bool | None = None
    prevent_running_task: bool = False
    note: Annotated[str, Field(max_length=1000)] | None = None

    def selections(self, graph: DagGraph) -> Iterator[Selection]:
        """Return what to clear: the tasks that are named, then each instance that is."""
        whole = [name for name in self.task_ids or () if isinstance(name, str)]
        single = [name for name in self.task_ids or () if not isinstance(name, str)]
        if self.include_upstream:
            named = {*whole, *(task_id for task_id, _ in single)} & graph.tasks.keys()
            whole += sorted(above(graph, named) - set(whole))
        if whole or not single:
            yield self._selection(whole)
        for task_id, index in single:
            yield self._selection([task_id], index)

    def _selection(self, tasks: Sequence[str], index: int | None = None) -> Selection:
        return Selection(
            tasks, index, downstream=self.include_downstream, only_failed=self.only_failed
        )


@router.post(
    "/dags/{dag_id}/clearTaskInstances",
    response_model=ShownTaskInstances,
    responses=errors(404, 409),
)
def post_clear_task_instances(
    caller: AnyCaller, request: Request, dag_id: DagId, body: InstancesClear
) -> Response | ShownTaskInstances:
    """Have task instances of a run run again; a dry run shows them as they stand."""
    if body.dag_run_id is None:
        raise RequestError("Give dag_run_id: the tasks of one run at a time are cleared.")
    run_id = body.dag_run_id

    def clear(conn: Connection) -> None:
        _clear(caller, conn, (dag_id, run_id), body)

    if body.dry_run:
        return would_change(caller, dag_id, run_id, clear)
    return changed(
        caller,
        request,
        lambda conn: after_change(caller, conn, (dag_id, run_id), clear),
        asked=body,
    )


def _clear(caller: Caller, conn: Connection, where: tuple[str, str], body: InstancesClear) -> None:
    caller.check_dag(conn, Permission.OPERATE, where[0])
    graph = graph_of_run(conn, *where).graph
    version = LATEST if body.run_on_latest_version else OWN
    for selection in body.selections(graph):
        change = clear_tasks(conn, *where, selection, caller.author(body.note), version)
        if body.prevent_running_task and change.stopping:
            raise StillActiveError(
                "A task instance that would be cleared runs, and prevent_running_task is set: "
                "nothing was cleared."
            )
