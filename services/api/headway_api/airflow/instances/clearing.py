"""Clear task instances: have them run again, in one run or in those of a range of dates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import Connection

from headway.actions.change import RunChange
from headway.actions.dags.history import graph_of_run
from headway.actions.lookup import run_of
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.clear_between import clear_runs, lock_runs
from headway.actions.runs.version_choice import LATEST, OWN
from headway.db.reads.pages.paging import TimeRange
from headway.decide.changes.clear import Selection, above
from headway.decide.scheduling.graph import DagGraph
from headway.domain.accounts import Permission
from headway.domain.errors import StillActiveError
from headway_api.airflow.filters import Instant, time_range
from headway_api.airflow.instances.affected import after_change, reached, would_change
from headway_api.airflow.instances.models import ShownTaskInstances
from headway_api.airflow.named import DagId
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.auth.changing import changed
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("Task Instance")

Index = Annotated[int, Field(ge=0, le=2**31 - 1)]


class InstancesClear(BaseModel):
    """What to clear; nothing is, unless `dry_run` is false.

    A task is named by its id, or an instance of a mapped one as [id, index]; without names all
    tasks are meant.  They are cleared in the run `dag_run_id`: with `include_past` also in the runs
    of earlier logical dates, with `include_future` in those of later ones.  Without a run they are
    cleared in those whose logical dates are between `start_date` and `end_date`, both included.
    With `only_running` only what runs is cleared, whatever `only_failed` is by default.  The note
    is the reason that the journal tells.
    """

    model_config = ConfigDict(extra="forbid")

    dry_run: bool = True
    dag_run_id: str | None = None
    task_ids: Annotated[list[str | tuple[str, Index]], Field(min_length=1)] | None = None
    only_failed: bool = True
    only_running: bool = False
    reset_dag_runs: bool = True
    include_upstream: bool = False
    include_downstream: bool = False
    include_future: bool = False
    include_past: bool = False
    start_date: Instant | None = None
    end_date: Instant | None = None
    run_on_latest_version: bool | None = None
    prevent_running_task: bool = False
    note: Annotated[str, Field(max_length=1000)] | None = None

    @model_validator(mode="after")
    def _sound(self) -> "InstancesClear":
        if self.only_running and self.only_failed and "only_failed" in self.model_fields_set:
            raise ValueError("what runs has not failed: give only_failed or only_running, not both")
        if not self.reset_dag_runs:
            raise ValueError(
                "a run of which tasks are cleared goes on, or is queued again: leave out "
                "reset_dag_runs, and afterwards mark the run failed to have it not go on"
            )
        dated = self.start_date is not None or self.end_date is not None
        if dated and self.dag_run_id is not None:
            raise ValueError("give dag_run_id, or start_date and end_date, not both")
        if not dated and self.dag_run_id is None:
            raise ValueError("say which runs: give dag_run_id, or start_date and end_date")
        if self.start_date and self.end_date and self.end_date < self.start_date:
            raise ValueError("end_date is before start_date")
        return self

    @property
    def version(self) -> str:
        """The version to run them with."""
        return LATEST if self.run_on_latest_version else OWN

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
            tasks,
            index,
            downstream=self.include_downstream,
            only_failed=self.only_failed and not self.only_running,
            only_running=self.only_running,
        )


@router.post(
    "/dags/{dag_id}/clearTaskInstances",
    response_model=ShownTaskInstances,
    responses=errors(404, 409),
)
def post_clear_task_instances(
    caller: AnyCaller, request: Request, dag_id: DagId, body: InstancesClear
) -> Response | ShownTaskInstances:
    """Have task instances run again; a dry run shows them as they stand.

    At most 1,000 runs, and 20,000 task instances, are cleared at a time.
    """
    clearing = InstanceClearing(caller, dag_id, body)
    if body.dry_run:
        return would_change(caller, clearing)
    return changed(caller, request, lambda conn: after_change(caller, conn, clearing), asked=body)


@dataclass(frozen=True, slots=True)
class InstanceClearing:
    """Clears task instances of one run, or of the runs of a range of logical dates."""

    caller: Caller
    dag_id: str
    body: InstancesClear

    def __call__(self, conn: Connection) -> Sequence[int]:
        """Clear them; return the numbers of those that are reached."""
        body, run_id = self.body, self.body.dag_run_id
        self.caller.check_dag(conn, Permission.OPERATE, self.dag_id)
        if run_id is not None and not (body.include_past or body.include_future):
            return reached(conn, self.dag_id, [run_id], lambda conn: self._one(conn, run_id))
        locked = lock_runs(conn, self.dag_id, self._dates(conn), body.selections, body.version)
        runs = [run.run_id for run in locked.runs]
        author = self.caller.author(body.note)

        def clear(conn: Connection) -> None:
            self._check(clear_runs(conn, locked, body.selections, author, body.version))

        return reached(conn, self.dag_id, runs, clear, locked.tasks)

    def _one(self, conn: Connection, run_id: str) -> None:
        author = self.caller.author(self.body.note)
        for selection in self.body.selections(graph_of_run(conn, self.dag_id, run_id).graph):
            self._check(
                [clear_tasks(conn, self.dag_id, run_id, selection, author, self.body.version)]
            )

    def _dates(self, conn: Connection) -> TimeRange:
        start, end = self.body.start_date, self.body.end_date
        if self.body.dag_run_id is not None:
            start = end = run_of(conn, self.dag_id, self.body.dag_run_id).logical_date
        return time_range(
            None if self.body.include_past else start,
            None,
            None if self.body.include_future else end,
            None,
        )

    def _check(self, changes: Sequence[RunChange]) -> None:
        if self.body.prevent_running_task and any(change.stopping for change in changes):
            raise StillActiveError(
                "A task instance that would be cleared runs, and prevent_running_task is set: "
                "nothing was cleared."
            )
