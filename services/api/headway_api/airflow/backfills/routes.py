"""List, show, plan, create, pause, resume and cancel backfills."""

from collections.abc import Callable
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field
from sqlalchemy import Connection

from headway.actions.backfills import control, create
from headway.db.reads.pages import backfill_pages
from headway.db.reads.pages.backfill_pages import ListedBackfill
from headway.domain.accounts import Permission
from headway.domain.backfill import DateDecision
from headway.domain.errors import BackfillNotFoundError
from headway.domain.hints import Action, act, hint
from headway.runtime.daemon.clock import SystemClock
from headway_api.airflow.backfills.models import (
    BackfillCollectionResponse,
    BackfillPostBody,
    BackfillResponse,
    PlannedRunCollectionResponse,
    PlannedRunResponse,
)
from headway_api.airflow.listing import OffsetQuery
from headway_api.airflow.named import ALL, check_named, or_all
from headway_api.airflow.ordering import known, ordering
from headway_api.airflow.short_lists import short
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.auth.changing import DryRun, changed
from headway_api.http.documented import errors

router = APIRouter(prefix="/backfills", tags=["backfills"])

BackfillId = Annotated[int, Path(ge=0, le=2**63 - 1)]

_ORDERS: Final = dict.fromkeys(("id",))
_TO_RUN: Final = frozenset({DateDecision.CREATE, DateDecision.RERUN})


class BackfillQuery(OffsetQuery):
    """Which backfills are wanted: those of a DAG, or of all."""

    order_by: list[str] = Field([])
    dag_id: str = Field(ALL, max_length=250)


@router.get("", responses=errors(404))
def list_backfills(
    caller: AnyCaller, query: Annotated[BackfillQuery, Query()]
) -> BackfillCollectionResponse:
    """List the backfills of a DAG, or of all DAGs."""
    order = ordering(query.order_by, "id")
    known(_ORDERS, order)

    def work(conn: Connection) -> BackfillCollectionResponse:
        check_named(caller, conn, query.dag_id)
        page = short(
            caller,
            query,
            lambda asked: backfill_pages.page(conn, asked, or_all(query.dag_id)),
            descending=order.descending,
        )
        return BackfillCollectionResponse(
            backfills=[BackfillResponse.of(it) for it in page.rows],
            total_entries=page.total_entries,
        )

    return caller.read(work)


@router.post("/dry_run", responses=errors(404))
def create_backfill_dry_run(
    caller: AnyCaller, body: BackfillPostBody
) -> PlannedRunCollectionResponse:
    """Tell which dates would get a run, or whose run would run again; nothing is created."""
    now = SystemClock().now()

    def work(conn: Connection) -> PlannedRunCollectionResponse:
        caller.check_dag(conn, Permission.OPERATE, body.dag_id)
        dates = create.plan(conn, body.asked(), now)
        runs = [PlannedRunResponse.of(it) for it in dates if it.decision in _TO_RUN]
        return PlannedRunCollectionResponse(backfills=runs, total_entries=len(runs))

    return caller.read(work)


@router.post("", response_model=BackfillResponse, responses=errors(404, 409))
def create_backfill(
    caller: AnyCaller, request: Request, body: BackfillPostBody, dry_run: DryRun = False
) -> Response:
    """Create a backfill with its runs; 409 if no date gets a run."""
    now = SystemClock().now()

    def work(conn: Connection) -> BackfillResponse:
        caller.check_dag(conn, Permission.OPERATE, body.dag_id)
        made = create.create_backfill(conn, body.asked(), now, caller.actor)
        return BackfillResponse.of(_backfill(caller, conn, made.id))

    return changed(caller, request, work, asked=body, dry_run=dry_run)


@router.get("/{backfill_id}", responses=errors(404))
def get_backfill(caller: AnyCaller, backfill_id: BackfillId) -> BackfillResponse:
    """Show a backfill."""
    return caller.read(lambda conn: BackfillResponse.of(_backfill(caller, conn, backfill_id)))


@router.put("/{backfill_id}/pause", response_model=BackfillResponse, responses=errors(404, 409))
def pause_backfill(
    caller: AnyCaller, request: Request, backfill_id: BackfillId, dry_run: DryRun = False
) -> Response:
    """Have a backfill start no more runs."""
    return _control(
        caller,
        request,
        backfill_id,
        lambda conn: control.set_backfill_paused(conn, backfill_id, caller.author(), paused=True),
        dry_run=dry_run,
    )


@router.put("/{backfill_id}/unpause", response_model=BackfillResponse, responses=errors(404, 409))
def unpause_backfill(
    caller: AnyCaller, request: Request, backfill_id: BackfillId, dry_run: DryRun = False
) -> Response:
    """Have a backfill that is paused go on."""
    return _control(
        caller,
        request,
        backfill_id,
        lambda conn: control.set_backfill_paused(conn, backfill_id, caller.author(), paused=False),
        dry_run=dry_run,
    )


@router.put("/{backfill_id}/cancel", response_model=BackfillResponse, responses=errors(404, 409))
def cancel_backfill(
    caller: AnyCaller, request: Request, backfill_id: BackfillId, dry_run: DryRun = False
) -> Response:
    """End a backfill: runs that have not begun are deleted, all others are cancelled."""
    return _control(
        caller,
        request,
        backfill_id,
        lambda conn: control.cancel_backfill(conn, backfill_id, caller.author()),
        dry_run=dry_run,
    )


def _control(
    caller: Caller,
    request: Request,
    number: int,
    do: Callable[[Connection], object],
    *,
    dry_run: bool,
) -> Response:
    caller.require(Permission.OPERATE)

    def work(conn: Connection) -> BackfillResponse:
        _backfill(caller, conn, number)
        do(conn)
        return BackfillResponse.of(_backfill(caller, conn, number))

    return changed(caller, request, work, dry_run=dry_run)


def _backfill(caller: Caller, conn: Connection, number: int) -> ListedBackfill:
    """Return the backfill; BackfillNotFoundError without it, or for one of a hidden DAG."""
    found = backfill_pages.one(conn, caller.bundles, number)
    if found is None:
        shown = hint(act(Action.LIST_BACKFILLS), " shows them all.")
        raise BackfillNotFoundError(f"There is no backfill {number}.", hint=shown)
    return found
