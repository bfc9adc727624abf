"""The list of DAGs, with their latest runs as bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Query, Request
from markupsafe import Markup
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from headway.actions.dags.summaries import summaries
from headway.db.reads.charts import recent_runs
from headway.db.reads.charts.recent_runs import RecentRun
from headway.db.reads.pages import dag_pages, paging
from headway.db.reads.pages.dag_pages import DagFilter, DagOrder, ListedDagRow
from headway.db.reads.pages.paging import Asked, ListPage
from headway.domain.states import RunState
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.pages.dags.run_bars import bars
from headway_api.pages.frame import addresses
from headway_api.pages.frame.exports import ExportFormat, exported
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_PAGE: Final = 50
_RUNS: Final = 14


class DagsQuery(BaseModel):
    """Which DAGs are wanted, as the controls of the page say; what is empty is not wanted."""

    q: str = ""
    tag: str = ""
    paused: Literal["", "yes", "no"] = ""
    state: RunState | Literal[""] = ""
    cursor: str | None = None

    def filter(self) -> DagFilter:
        """Return the DAGs that are wanted."""
        return DagFilter(
            dag_id_like=paging.contains(self.q) if self.q else None,
            any_tag=[self.tag] if self.tag else None,
            paused=self.paused == "yes" if self.paused else None,
            last_states=[self.state] if self.state else None,
        )


@dataclass(frozen=True, slots=True)
class DagsPage:
    """A page of DAGs with their schedules in words, the bars of their latest runs, and all tags."""

    page: ListPage[ListedDagRow]
    schedules: dict[str, str]
    bars: dict[str, Markup]
    tags: list[str]


@router.get(addresses.DAGS)
def show_dags(
    request: Request, caller: AnyCaller, query: Annotated[DagsQuery, Query()]
) -> Response:
    """List the DAGs that are wanted."""
    found = caller.read(lambda conn: _list(caller, conn, query))
    states = [str(state) for state in RunState]
    context = {"found": found, "query": query, "states": states}
    return page(request, "dags.html", caller, context)


def _list(caller: Caller, conn: Connection, query: DagsQuery) -> DagsPage:
    asked = caller.page(_PAGE, query.cursor or None)
    rows = dag_pages.page(conn, asked, query.filter(), DagOrder.ID)
    latest: dict[str, list[RecentRun]] = recent_runs.latest(
        conn, [row.dag.dag_id for row in rows.rows], _RUNS
    )
    tags = dag_pages.tags(conn, caller.page(paging.MOST_ROWS)).rows
    return DagsPage(
        rows,
        _schedules(conn, rows.rows),
        {dag_id: bars(dag_id, runs) for dag_id, runs in latest.items()},
        list(tags),
    )


def _schedules(conn: Connection, rows: Sequence[ListedDagRow]) -> dict[str, str]:
    keys = {row.version_id: row.fingerprint for row in rows if row.version_id and row.fingerprint}
    known = summaries(conn, keys)
    return {row.dag.dag_id: known[row.version_id].schedule for row in rows if row.version_id}


@router.get(addresses.DAGS + ".{form}")
def export_dags(
    request: Request, caller: AnyCaller, form: ExportFormat, query: Annotated[DagsQuery, Query()]
) -> Response:
    """Send the DAGs that the page lists."""

    def read(conn: Connection, asked: Asked) -> ListPage[ListedDagRow]:
        return dag_pages.page(conn, asked, query.filter(), DagOrder.ID)

    return exported(request, caller, form, ListedDagRow, read)
