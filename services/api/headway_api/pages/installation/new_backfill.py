"""Create a backfill: its plan is shown date by date, and then done as it was shown."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Query, Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import RedirectResponse, Response

from headway.actions.backfills.create import (
    MOST_WEIGHT,
    BackfillRequest,
    CreatedBackfill,
    create_backfill,
    plan,
)
from headway.actions.lookup import current_dag
from headway.actions.runs.version_choice import LATEST, OWN
from headway.db.core.server import now
from headway.decide.changes.backfill import PlannedDate, Way, runs_again, runs_to_create
from headway.domain.accounts import Permission
from headway.domain.backfill import Direction, Reprocess
from headway.domain.errors import ConflictError, HeadwayError, RequestError
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.frame import addresses
from headway_api.pages.frame.fields import date, json_object, names, number
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import Form, page_router

router = page_router()

_SHOWN: Final = 1_000
"""Dates of a plan that the page shows at most."""

_CHOICES: Final = {
    "reprocess": [str(each) for each in Reprocess],
    "direction": [str(each) for each in Direction],
    "version": [OWN, LATEST],
}


class BackfillFields(BaseModel):
    """What the form of a new backfill has; what is empty is as the DAG has it."""

    dag: str = ""
    since: str = ""
    until: str = ""
    dates: str = ""
    reprocess: str = Reprocess.NONE
    direction: str = Direction.FORWARD
    rollup: str = ""
    most: str = ""
    weight: str = ""
    idle: str = ""
    version: str = OWN
    conf: str = ""

    @property
    def is_filled(self) -> bool:
        """Whether there is enough to make a plan of."""
        return bool(self.dag and (self.dates.strip() or (self.since and self.until)))

    def request(self, zone: str) -> BackfillRequest:
        """Return what is asked for, dates in `zone`; RequestError for what is not understood."""
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise RequestError(f"{name} is one of {', '.join(known)}.")
        given = (date(text, zone) for text in names(self.dates))
        together = number(self.rollup, "Intervals a run")
        weight = number(self.weight, "Share of each pool")
        way = Way(
            Reprocess(self.reprocess),
            Direction(self.direction),
            1 if together is None else together,
        )
        return BackfillRequest(
            self.dag.strip(),
            date(self.since, zone),
            date(self.until, zone),
            json_object(self.conf, "conf"),
            number(self.most, "Runs at a time"),
            [each for each in given if each is not None],
            way,
            MOST_WEIGHT if weight is None else weight,
            idle_only=bool(self.idle),
            version=self.version,
        )


@dataclass(frozen=True, slots=True)
class PlanShown:
    """A plan: its first dates, how many there are in all, and by what becomes of them.

    `sign` tells it from any other plan.
    """

    dates: Sequence[PlannedDate]
    total: int
    counts: dict[str, int]
    runs: int
    again: int
    sign: str

    @classmethod
    def of(cls, dates: Sequence[PlannedDate]) -> "PlanShown":
        """Return what is shown of these dates."""
        counts = Counter(str(each.decision) for each in dates)
        new, again = len(runs_to_create(dates)), len(runs_again(dates))
        return cls(dates[:_SHOWN], len(dates), dict(counts.most_common()), new, again, _sign(dates))


@router.get(addresses.NEW_BACKFILL)
def ask_backfill(
    request: Request, caller: AnyCaller, fields: Annotated[BackfillFields, Query()]
) -> Response:
    """Ask what is to be backfilled; show the plan as soon as there is enough for one."""
    return _form(request, caller, fields)


@router.post(addresses.NEW_BACKFILL)
def answer_backfill(request: Request, caller: AnyCaller, form: Form) -> Response:
    """Create a backfill whose plan is the one that was shown, and go to its page."""
    known = {name: form[name] for name in BackfillFields.model_fields if name in form}
    fields = BackfillFields(**known)

    def as_shown(dates: Sequence[PlannedDate]) -> None:
        if form.get("plan") != _sign(dates):
            raise ConflictError("The plan is another one by now, and nothing is created. See it.")

    def work(conn: Connection) -> CreatedBackfill:
        wanted = _wanted(caller, conn, fields)
        reason = form.get("reason") or None
        return create_backfill(conn, wanted, now(conn), caller.actor, reason, as_shown)

    try:
        made = caller.change(work)
    except HeadwayError as error:
        return _form(request, caller, fields, str(error))
    return RedirectResponse(addresses.backfill(made.id), HTTPStatus.SEE_OTHER)


def _sign(dates: Sequence[PlannedDate]) -> str:
    whole = blake2b(digest_size=16)
    for each in dates:
        name = "" if each.existing is None else each.existing.run_id
        whole.update(f"{each.info.run_after}\n{each.created}\n{each.decision}\n{name}\n".encode())
    return whole.hexdigest()


def _form(request: Request, caller: Caller, fields: BackfillFields, said: str = "") -> Response:
    caller.require(Permission.OPERATE)
    shown: PlanShown | None = None
    if fields.is_filled:
        try:
            shown = caller.read(lambda conn: _planned(caller, conn, fields))
        except HeadwayError as error:
            said = said or str(error)
    context: dict[str, Any] = {"fields": fields, "plan": shown, "said": said, "choices": _CHOICES}
    return page(request, "new_backfill.html", caller, context)


def _planned(caller: Caller, conn: Connection, fields: BackfillFields) -> PlanShown:
    return PlanShown.of(plan(conn, _wanted(caller, conn, fields), now(conn)))


def _wanted(caller: Caller, conn: Connection, fields: BackfillFields) -> BackfillRequest:
    dag_id = fields.dag.strip()
    caller.check_dag(conn, Permission.OPERATE, dag_id)
    return fields.request(current_dag(conn, dag_id).spec.timezone)
