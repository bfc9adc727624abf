"""All operations under /headway/v1."""

from typing import Final

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

ROUTERS: Final = [
    each.router
    for each in (
        *(grid, calendar, timetable, versions, version_graphs, differences, files),
        *(charts, run_graphs, explain, spark, deadlines, clearing, marking, stopping),
        *(queues, simulate, spark_cost, processes, callbacks, backfills, search),
        *(tokens, accounts),
    )
]
