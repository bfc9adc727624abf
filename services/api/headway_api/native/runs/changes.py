"""What changes to a run ask for and answer with."""

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from headway.actions.change import RunChange, Versions, held_by_dag
from headway.domain.states import UNFINISHED_RUN, RunState, TaskState
from headway_api.http.problems import as_data

MapIndex = Annotated[
    int | None, Field(ge=0, description="Only this instance of a mapped task; null: all of them.")
]
TaskIds = Annotated[list[str], Field(max_length=10_000)]


class Reasoned(BaseModel):
    """Why something is done; the journal shows it."""

    model_config = ConfigDict(extra="forbid")

    reason: str | None = Field(default=None, max_length=2_000)


class ProviderVersions(BaseModel):
    """A provider package: the version that is `noted`, and the one that is `installed` now."""

    package: str
    noted: str
    installed: str


class VersionNumbers(BaseModel):
    """Which version a run had, which it has, and which one is in force, if any.

    `providers` are the provider packages that were others when the version that it has was made.
    """

    before: int
    after: int
    in_force: int | None
    providers: list[ProviderVersions]


class RunChanged(BaseModel):
    """What was done to a run: how many of its task instances went to which state.

    Those in `stopping` go there when their attempts have stopped.  The run was in state `was`, is
    in `state`, and will end as `ends`, null if its tasks decide that.  `remade` counts mapped tasks
    that are to be expanded anew, and `added` tasks that the run did not have.  `changed` is false
    if everything was as it was asked for.  `held` says what keeps the run from going on.
    """

    dag_id: str
    run_id: str
    changed: bool
    was: RunState
    state: RunState
    moved: dict[TaskState, int]
    stopping: dict[TaskState, int]
    remade: int
    added: int
    ends: RunState | None
    versions: VersionNumbers | None
    held: list[Any] | None


def _numbers(versions: Versions) -> VersionNumbers:
    return VersionNumbers(
        before=versions.before,
        after=versions.after,
        in_force=versions.in_force,
        providers=[ProviderVersions(**asdict(each)) for each in versions.providers],
    )


def told(conn: Connection, where: tuple[str, str], done: RunChange) -> RunChanged:
    """Return what a request answers that has changed the run `where` (DAG and run id)."""
    dag_id, run_id = where
    goes_on = not done.ends and done.run in UNFINISHED_RUN
    held = held_by_dag(conn, dag_id) if goes_on else None
    numbers = done.versions
    return RunChanged(
        dag_id=dag_id,
        run_id=run_id,
        changed=bool(done),
        was=done.was,
        state=done.run,
        moved={state: number for state, number in done.moved.items() if number},
        stopping={state: number for state, number in done.stopping.items() if number},
        remade=done.remade,
        added=done.added,
        ends=done.ends,
        versions=None if numbers is None else _numbers(numbers),
        held=None if held is None else as_data(held),
    )
