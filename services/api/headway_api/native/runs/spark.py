"""What the attempts of a run do in Spark."""

from collections.abc import Mapping

from pydantic import BaseModel
from sqlalchemy import Connection

from headway.actions.lookup import run_of
from headway.db.reads import task_views
from headway.db.reads.task_views import AttemptView
from headway.domain.accounts import Permission
from headway.domain.arguments import JsonValue
from headway.domain.spark_work import SparkFigures, SparkProgress
from headway.domain.states import Outcome
from headway_api.auth.caller import AnyCaller
from headway_api.http.documented import errors
from headway_api.http.routers import native_router

router = native_router("runs")


class SparkAttempt(BaseModel):
    """What an attempt does, or did, in Spark.

    `progress` says how far its jobs are, `figures` what they took: times in milliseconds, sizes
    in bytes.  Each is null where nothing is known, as is `application_id`.
    """

    task_id: str
    map_index: int
    attempt: int
    outcome: Outcome | None
    application_id: str | None
    progress: SparkProgress | None
    figures: SparkFigures | None


class RunSpark(BaseModel):
    """The attempts of a run that used Spark, in topological order of their tasks."""

    dag_id: str
    run_id: str
    attempts: list[SparkAttempt]


@router.get("/runs/{dag_id}/{run_id}/spark", responses=errors(404))
def show_run_spark(dag_id: str, run_id: str, caller: AnyCaller) -> RunSpark:
    """Show how far the Spark jobs of a run's attempts are, and what they took."""

    def read(conn: Connection) -> list[AttemptView]:
        caller.check_dag(conn, Permission.READ, dag_id)
        run_of(conn, dag_id, run_id)
        return task_views.spark_attempts(conn, dag_id, run_id)

    attempts = [spark_attempt(attempt) for attempt in caller.read(read)]
    return RunSpark(dag_id=dag_id, run_id=run_id, attempts=attempts)


def spark_attempt(attempt: AttemptView) -> SparkAttempt:
    """Return what is known of an attempt's work in Spark."""
    return SparkAttempt(
        task_id=attempt.task_id,
        map_index=attempt.map_index,
        attempt=attempt.attempt,
        outcome=attempt.outcome,
        application_id=(attempt.handle or {}).get("application_id"),
        progress=_progress(attempt.progress),
        figures=_figures(attempt.figures),
    )


def _progress(stored: Mapping[str, JsonValue] | None) -> SparkProgress | None:
    """Return what is stored; None for what an attempt has stored that is no progress."""
    try:
        return None if stored is None else SparkProgress.from_frame(dict(stored))
    except (TypeError, ValueError):
        return None


def _figures(stored: Mapping[str, JsonValue] | None) -> SparkFigures | None:
    try:
        return None if stored is None else SparkFigures.from_frame(dict(stored))
    except (TypeError, ValueError):
        return None
