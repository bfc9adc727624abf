"""Who waits for slots of a pool, in order."""

from collections.abc import Sequence
from typing import Annotated, cast

from fastapi import Query, Request, Response
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.installation.pools import no_pool
from headway.db.reads import pool_views
from headway.db.reads.explain import queue_order
from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import ListPage
from headway.decide.explain.ready import WaitingTask
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.http import lists
from headway_api.http.documented import errors
from headway_api.http.lists import STREAMED, AnyList, Listed
from headway_api.http.routers import native_router

router = native_router("queues")


class QueuedTask(BaseModel):
    """A task instance that is scheduled, and waits to be queued.

    `place` counts from 1 in the queue order of its pool; it is null for an account that is limited
    to some bundles, which is not told how many tasks of others wait.  `priority_class` is 0 for
    tasks outside of backfills, 1 for those of backfills, and 2 for those that take idle slots only.
    """

    pool: str
    place: int | None
    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    pool_slots: int
    queue: str
    priority_class: int
    backfill_id: int | None


@router.get("/queue", response_model=Listed[QueuedTask], responses={**errors(404), **STREAMED})
def list_queue(
    caller: AnyCaller,
    request: Request,
    query: AnyList,
    pool: Annotated[
        str | None, Query(description="Only those that wait for this pool; by default all.")
    ] = None,
) -> Response:
    """List the tasks that wait for slots of a pool, in the order in which they are queued.

    Tasks of paused DAGs are left out, and those that are far behind others of their DAG.
    """
    caller.require(Permission.READ)
    listing = PagedList("queue", (int,), filters={"pool": pool})

    def read(limit: int, cursor: str | None) -> ListPage[QueuedTask]:
        asked = caller.page(limit, cursor)
        (after,) = cast(tuple[int], listing.key(asked.cursor) or (0,))
        found = list(enumerate(caller.read(lambda conn: _waiting(conn, caller, pool)), start=1))
        rows = [each for each in found if each[0] > after][: limit + 1]
        page = paging.listed(rows, limit, listing, lambda row: (row[0],))
        return ListPage([task for _, task in page.rows], page.following)

    return lists.answer(request, query, QueuedTask, read)


def _waiting(conn: Connection, caller: Caller, pool: str | None) -> list[QueuedTask]:
    names = [each.name for each in pool_views.pools(conn)]
    if pool is not None and pool not in names:
        raise no_pool(pool)
    return [
        task
        for name in ([pool] if pool is not None else names)
        for task in _tasks(caller, queue_order.waiting(conn, name, bundles=caller.bundles))
    ]


def _tasks(caller: Caller, waiting: Sequence[WaitingTask]) -> list[QueuedTask]:
    return [
        QueuedTask(
            pool=each.task.pool,
            place=nth if caller.bundles is None else None,
            dag_id=each.task.dag_id,
            run_id=each.run_id,
            task_id=each.task.task_id,
            map_index=each.map_index,
            pool_slots=each.task.pool_slots,
            queue=each.task.queue,
            priority_class=each.task.priority_class,
            backfill_id=each.task.backfill_id,
        )
        for nth, each in enumerate(waiting, start=1)
    ]
