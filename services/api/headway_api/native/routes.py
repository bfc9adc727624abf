"""All operations under /headway/v1."""

from fastapi import APIRouter
from fastapi.routing import APIRoute

from headway_api.http.documented import USUAL
from headway_api.native.dags import (
    calendar,
    differences,
    files,
    grid,
    timetable,
    version_graphs,
    versions,
)
from headway_api.native.installation import (
    backfills,
    callbacks,
    processes,
    queues,
    search,
    simulate,
    spark_cost,
)
from headway_api.native.runs import (
    charts,
    clearing,
    deadlines,
    explain,
    marking,
    run_graphs,
    spark,
    stopping,
)
from headway_api.native.users import accounts, tokens


def operation_id(route: APIRoute) -> str:
    """Return what clients call an operation."""
    return f"headway_{route.name}"


router = APIRouter(
    prefix="/headway/v1",
    responses=USUAL,
    generate_unique_id_function=operation_id,
)

for part in (
    *(grid, calendar, timetable, versions, version_graphs, differences, files),
    *(charts, run_graphs, explain, spark, deadlines, clearing, marking, stopping),
    *(queues, simulate, spark_cost, processes, callbacks, backfills, search),
    *(tokens, accounts),
):
    router.include_router(part.router)
