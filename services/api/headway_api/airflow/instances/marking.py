"""Mark task instances as what their user says they are."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from headway.actions.dags.history import graph_of_run
from headway.actions.lookup import check_tasks
from headway.actions.runs.mark import Marking, mark_tasks
from headway.db.reads.pages.attempt_pages import InstanceName
from headway.decide.changes.clear import above, below
from headway.domain.accounts import Permission
from headway.domain.errors import AlreadyEndedError, RequestError
from headway.domain.states import TaskState
from headway_api.airflow.instances.affected import after_change, of_run, would_change
from headway_api.airflow.instances.models import ShownTaskInstances
from headway_api.airflow.named import PathOfInstance, PathOfTask
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router(
    "Task Instance", "/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances/{task_id}", errors(404, 409)
)


class InstancePatch(BaseModel):
    """What to mark task instances as, and which besides those of the path, of the same run."""

    model_config = ConfigDict(extra="forbid")

    new_state: Literal["success", "failed", "skipped"] | None = None
    note: Annotated[str, Field(max_length=1000)] | None = None
    include_upstream: bool = False
    include_downstream: bool = False
    include_future: Literal[False] = False
    include_past: Literal[False] = False

    def target(self) -> TaskState:
        """Return what to mark them as; RequestError when nothing can be done."""
        if self.new_state is None:
            raise RequestError(
                "Give new_state. A task instance has no notes; one that is given with a state is "
                "the reason that the journal tells."
            )
        return TaskState(self.new_state)


class MaskQuery(BaseModel):
    """Which fields of the body count, the state among them, and whether it is a rehearsal."""

    model_config = ConfigDict(extra="forbid")

    update_mask: list[Literal["new_state", "note"]] = Field([])
    dry_run: DryRun = False

    def check(self) -> None:
        """RequestError unless the state counts."""
        if self.update_mask and "new_state" not in self.update_mask:
            raise RequestError("A task instance has no notes: update_mask must name new_state.")


class PatchQuery(MaskQuery):
    """Which instance of a mapped task is meant, by default all; and which fields count."""

    map_index: Annotated[int, Field(ge=-1, le=2**31 - 1)] | None = None


@router.patch("", response_model=ShownTaskInstances)
def patch_task_instance(
    caller: AnyCaller,
    request: Request,
    name: PathOfTask,
    body: InstancePatch,
    query: Annotated[PatchQuery, Query()],
) -> Response:
    """Mark a task instance, or all instances of a mapped task; what runs is told to stop.

    What lies below and has failed is cleared, unless they are marked failed.
    """
    query.check()
    mark = InstanceMark(caller, name, query.map_index, body)
    return changed(caller, request, mark.shown, asked=body, dry_run=query.dry_run)


@router.patch("/{map_index:index}", response_model=ShownTaskInstances)
def patch_task_instance_by_map_index(
    caller: AnyCaller,
    request: Request,
    name: PathOfInstance,
    body: InstancePatch,
    query: Annotated[MaskQuery, Query()],
) -> Response:
    """Mark an instance of a mapped task."""
    query.check()
    mark = InstanceMark(caller, name, name.map_index, body)
    return changed(caller, request, mark.shown, asked=body, dry_run=query.dry_run)


@router.patch("/dry_run")
def patch_task_instance_dry_run(
    caller: AnyCaller,
    name: PathOfTask,
    body: InstancePatch,
    query: Annotated[PatchQuery, Query()],
) -> ShownTaskInstances:
    """Show which task instances would be marked or cleared, as they stand."""
    query.check()
    mark = InstanceMark(caller, name, query.map_index, body)
    return would_change(caller, of_run(*mark.where, mark))


@router.patch("/{map_index:index}/dry_run")
def patch_task_instance_dry_run_by_map_index(
    caller: AnyCaller,
    name: PathOfInstance,
    body: InstancePatch,
    query: Annotated[MaskQuery, Query()],
) -> ShownTaskInstances:
    """Show which task instances would be marked or cleared, as they stand."""
    query.check()
    mark = InstanceMark(caller, name, name.map_index, body)
    return would_change(caller, of_run(*mark.where, mark))


@dataclass(frozen=True, slots=True)
class InstanceMark:
    """Marks task instances of one run; without a map index all instances of the task."""

    caller: Caller
    name: InstanceName
    map_index: int | None
    body: InstancePatch

    @property
    def where(self) -> tuple[str, str]:
        """The DAG and the run."""
        return self.name.dag_id, self.name.run_id

    def shown(self, conn: Connection) -> ShownTaskInstances:
        """Mark them; return those that were marked or cleared."""
        return after_change(self.caller, conn, of_run(*self.where, self))

    def __call__(self, conn: Connection) -> None:
        """Mark them; AlreadyEndedError when they are in that state already."""
        self.caller.check_dag(conn, Permission.OPERATE, self.name.dag_id)
        state, task_id = self.body.target(), self.name.task_id
        author = self.caller.author(self.body.note)
        markings = [Marking([task_id], state, self.map_index)]
        related = self._related(conn)
        if related:
            markings.append(Marking(sorted(related), state))
        changes = [mark_tasks(conn, *self.where, marking, author) for marking in markings]
        if not any(changes):
            raise AlreadyEndedError(f"Task {task_id} is {state} in that run already.")

    def _related(self, conn: Connection) -> set[str]:
        graph, named = graph_of_run(conn, *self.where).graph, [self.name.task_id]
        check_tasks(graph, named)
        upstream = above(graph, named) if self.body.include_upstream else set()
        return upstream | (below(graph, named) if self.body.include_downstream else set())
