"""How many runs of DAGs are in each state."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel
from sqlalchemy import Connection

from headway.db.reads.pages import dag_pages
from headway.db.reads.pages.dag_pages import DagStats
from headway.db.reads.pages.paging import MOST_ROWS
from headway.domain.states import RunState
from headway_api.auth.caller import AnyCaller
from headway_api.http.routers import airflow_router

router = airflow_router("dags")


class StateCount(BaseModel):
    """How many runs are in a state."""

    state: RunState
    count: int


class DagStatsResponse(BaseModel):
    """The runs of a DAG by state.  Of a DAG with more than 1,000 runs, the latest are counted."""

    dag_id: str
    dag_display_name: str
    stats: list[StateCount]


class DagStatsCollectionResponse(BaseModel):
    """The runs of some DAGs by state."""

    dags: list[DagStatsResponse]
    total_entries: int


@router.get("/dagStats")
def get_dag_stats(
    caller: AnyCaller,
    dag_ids: Annotated[list[str] | None, Query(max_length=MOST_ROWS)] = None,
) -> DagStatsCollectionResponse:
    """Count the runs of these DAGs by state, or those of the first 1,000 active DAGs."""

    def work(conn: Connection) -> DagStatsCollectionResponse:
        wanted = dag_ids
        if wanted is None:
            page = dag_pages.page(conn, caller.page(MOST_ROWS))
            wanted = [row.dag.dag_id for row in page.rows]
        found = [_stats(it) for it in dag_pages.stats(conn, caller.bundles, wanted)]
        return DagStatsCollectionResponse(dags=found, total_entries=len(found))

    return caller.read(work)


def _stats(it: DagStats) -> DagStatsResponse:
    counts = [StateCount(state=state, count=it.runs.get(state, 0)) for state in RunState]
    return DagStatsResponse(dag_id=it.dag_id, dag_display_name=it.dag_id, stats=counts)
