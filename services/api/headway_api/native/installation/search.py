"""Search DAGs, tasks and runs by name."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from headway.db.reads.pages import name_search
from headway.db.reads.pages.name_search import MatchedDag, MatchedRun, MatchedTask
from headway.domain.accounts import Permission
from headway_api.auth.caller import AnyCaller
from headway_api.http.routers import native_router

router = native_router("search")


class SearchResult(BaseModel):
    """What has the text in its name, the best first: DAGs, tasks in force, the latest runs."""

    dags: list[MatchedDag]
    tasks: list[MatchedTask]
    runs: list[MatchedRun]


@router.get("/search")
def search(
    caller: AnyCaller,
    text: Annotated[
        str,
        Query(alias="q", min_length=1, max_length=250, description="A part of a name."),
    ],
    limit: Annotated[int, Query(ge=1, le=100, description="The most of each kind.")] = 10,
) -> SearchResult:
    """Search DAGs by id, description and tag, tasks by id, and the latest runs by run id."""
    caller.require(Permission.READ)
    part = text.replace("\0", "")
    found = caller.read(lambda conn: name_search.search(conn, caller.bundles, part, limit))
    return SearchResult(dags=list(found.dags), tasks=list(found.tasks), runs=list(found.runs))
