"""The page of what an attempt does in Spark: how far it is, what it took, what went wrong."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

from fastapi import Query, Request
from sqlalchemy import Connection
from starlette.responses import Response

from headway.db.reads import task_views
from headway.domain.accounts import Permission
from headway.domain.errors import TaskNotFoundError
from headway.domain.sizes import in_bytes
from headway.domain.spark_work import SKEWED, SparkFigures
from headway_api.airflow.named import run_named
from headway_api.auth.caller import AnyCaller, Caller
from headway_api.native.runs.spark import SparkAttempt, spark_attempt
from headway_api.pages.frame import addresses
from headway_api.pages.frame.rendering import page
from headway_api.pages.frame.routing import page_router

router = page_router()

_PATH: Final = (
    addresses.DAGS + "/{dag_id}/runs/{run_id}/tasks/{task_id}/attempts/{attempt:int}/spark"
)


@router.get(_PATH)
def show_spark(  # noqa: PLR0913, PLR0917 - what names the attempt
    request: Request,
    caller: AnyCaller,
    dag_id: str,
    run_id: str,
    task_id: str,
    attempt: int,
    map_index: Annotated[int, Query(ge=-1)] = -1,
) -> Response:
    """Show what an attempt does in Spark."""
    name = task_id, map_index, attempt
    found = caller.read(lambda conn: _attempt(caller, conn, (dag_id, run_id), name))
    context: dict[str, Any] = {
        "it": found,
        "dag_id": dag_id,
        "run_id": run_id,
        "warnings": list(_warnings(found.figures)) if found.figures else [],
    }
    return page(request, "spark.html", caller, context)


def _attempt(
    caller: Caller, conn: Connection, where: tuple[str, str], name: tuple[str, int, int]
) -> SparkAttempt:
    run_named(caller, conn, *where, Permission.READ)
    for each in task_views.spark_attempts(conn, *where):
        if (each.task_id, each.map_index, each.attempt) == name:
            return spark_attempt(each)
    raise TaskNotFoundError("This attempt has not used Spark.")


def _warnings(figures: SparkFigures) -> Iterator[str]:
    """Yield what went badly, and what people do about it."""
    if figures.spilled_bytes:
        yield (
            f"{in_bytes(figures.spilled_bytes)} did not fit into the memory of the executors and "
            "were spilled to disk. More memory for each task, or more partitions, avoid that."
        )
    if figures.skew is not None and figures.skew >= SKEWED:
        stage = "" if figures.skew_stage is None else f" of stage {figures.skew_stage}"
        yield (
            f"The longest task{stage} took {figures.skew:g} times as long as its median one: the "
            "data is skewed. Another key to partition by, or salting, spreads it."
        )
    if figures.tasks_failed:
        yield f"{figures.tasks_failed:,} of Spark's tasks failed, and were tried again."
