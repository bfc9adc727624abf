"""Why a task instance is not running."""

from dataclasses import replace
from typing import Annotated, Any, Final

from fastapi import Query
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.explain.explain import ExplainRequest
from headway.actions.explain.explain import explain as find
from headway.db.core.server import now
from headway.decide.explain.explanation import Explanation, Holder, QueuePlace, Reason
from headway.domain.accounts import Permission
from headway.runtime.settings.configuration import read as read_settings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http.documented import errors
from headway_api.http.routers import native_router
from headway_api.native.access import visible_dags

router = native_router("tasks")

BEFORE_IT: Final = "Other tasks are before it in the queue order, and take what is left."


class ExplanationView(BaseModel):
    """The one reason why a task instance is not running, and what would change that.

    `held_by` are the first of those that hold what it waits for, `place` is its place in the
    queue order, and `because` explains in turn what it waits for.  An account that is limited to
    some bundles sees holders of these alone, and no place.
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    state: str | None
    reason: Reason
    sentence: str
    change: str
    held_by: list[Holder]
    place: QueuePlace | None
    facts: list[str]
    because: "ExplanationView | None"


@router.get("/explain/{dag_id}/{run_id}/{task_id}", responses=errors(404))
def explain(
    dag_id: str,
    run_id: str,
    task_id: str,
    caller: AnyCaller,
    map_index: Annotated[
        int | None,
        Query(ge=0, description="The instance of a mapped task; by default one that waits."),
    ] = None,
) -> ExplanationView:
    """Say why a task instance is not running, what holds it, and what would change that.

    The settings of the schedulers are taken to be those of the api service.
    """
    return caller.read(
        lambda conn: read_explanation(caller, conn, dag_id, run_id, task_id, map_index)
    )


def read_explanation(
    caller: Caller,
    conn: Connection,
    dag_id: str,
    run_id: str,
    task_id: str,
    map_index: int | None,
) -> ExplanationView:
    """Return why a task instance is not running, as far as the account may see it."""
    caller.check_dag(conn, Permission.READ, dag_id)
    settings = read_settings(SchedulerSettings)
    wanted = ExplainRequest(dag_id, run_id, task_id, map_index)
    return _view(caller, conn, find(conn, wanted, settings, now(conn)))


def _view(caller: Caller, conn: Connection, found: Explanation) -> ExplanationView:
    assert found.subject is not None
    shown = found if caller.bundles is None else _within_bundles(caller, conn, found)
    fields: dict[str, Any] = {
        "reason": shown.reason,
        "sentence": shown.sentence,
        "change": shown.change,
        "held_by": list(shown.held_by),
        "place": shown.place,
        "facts": list(shown.facts),
        "because": None if found.because is None else _view(caller, conn, found.because),
    }
    return ExplanationView(**found.subject._asdict(), **fields)


def _within_bundles(caller: Caller, conn: Connection, found: Explanation) -> Explanation:
    """Take away what tells of DAGs of other bundles: their tasks, and how many wait."""
    visible = visible_dags(caller, conn, (holder.dag_id for holder in found.held_by))
    sentence = BEFORE_IT if found.reason is Reason.BEHIND else found.sentence
    held_by = tuple(holder for holder in found.held_by if holder.dag_id in visible)
    return replace(found, sentence=sentence, held_by=held_by, place=None)
