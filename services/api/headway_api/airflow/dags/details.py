"""Show one DAG, in brief or with what its version in force says."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from headway.actions.lookup import current_dag
from headway.db.reads.pages.dag_pages import ListedDagRow
from headway.domain.accounts import Permission
from headway.domain.dag.spec import DagSpec
from headway_api.airflow.dags.listing import shown_dags
from headway_api.airflow.dags.models import ShownDag
from headway_api.airflow.named import DagId, dag_of
from headway_api.airflow.params_shown import ShownParam, shown_params
from headway_api.airflow.versions_shown import ShownVersion, shown_version
from headway_api.auth.caller import AnyCaller
from headway_api.http.documented import errors
from headway_api.http.routers import airflow_router

router = airflow_router("DAG")


class ShownDagDetails(ShownDag):
    """A DAG with what its version in force says."""

    active_runs_count: int
    catchup: bool
    concurrency: int
    dag_run_timeout: str | None
    default_args: dict[str, Any] | None = None
    doc_md: str | None
    start_date: datetime | None
    end_date: datetime | None
    is_favorite: bool = False
    is_paused_upon_creation: bool | None
    last_parsed: datetime | None
    latest_dag_version: ShownVersion | None
    params: dict[str, ShownParam]
    render_template_as_native_obj: bool = False
    template_search_path: list[str] | None = None
    timezone: str


@router.get("/dags/{dag_id}", responses=errors(404))
def get_dag(caller: AnyCaller, dag_id: DagId) -> ShownDag:
    """Show a DAG, also one that no file defines any more."""
    return caller.read(lambda conn: shown_dag(conn, dag_of(caller, conn, dag_id, Permission.READ)))


@router.get("/dags/{dag_id}/details", responses=errors(404))
def get_dag_details(caller: AnyCaller, dag_id: DagId) -> ShownDagDetails:
    """Show a DAG with what its version in force says; 404 for one that no file defines."""

    def read(conn: Connection) -> ShownDagDetails:
        dag = dag_of(caller, conn, dag_id, Permission.READ)
        return _details(shown_dag(conn, dag), dag, current_dag(conn, dag_id).spec)

    return caller.read(read)


def shown_dag(conn: Connection, it: ListedDagRow) -> ShownDag:
    """Return a DAG as it is shown."""
    [dag] = shown_dags(conn, [it])
    return dag


def _details(dag: ShownDag, it: ListedDagRow, spec: DagSpec) -> ShownDagDetails:
    return ShownDagDetails(
        **dict(dag),
        active_runs_count=it.dag.running,
        catchup=spec.catchup,
        concurrency=spec.max_active_tasks,
        dag_run_timeout=_duration(spec.dagrun_timeout),
        doc_md=spec.doc_md,
        start_date=spec.start_date,
        end_date=spec.end_date,
        is_paused_upon_creation=spec.is_paused_upon_creation,
        last_parsed=it.parsed_at,
        latest_dag_version=_version(it),
        params=shown_params(spec),
        timezone=spec.timezone,
    )


def _version(it: ListedDagRow) -> ShownVersion | None:
    if it.version_id is None or it.dag.version is None or it.version_created_at is None:
        return None
    name, where = (it.dag.dag_id, it.dag.version), (it.dag.bundle, it.commit)
    return shown_version(it.version_id, name, where, it.version_created_at)


def _duration(seconds: float | None) -> str | None:
    """Return a length of time as ISO 8601 writes it."""
    if seconds is None:
        return None
    whole = timedelta(seconds=seconds)
    return f"P{whole.days}DT{whole.seconds}.{whole.microseconds:06}S"
