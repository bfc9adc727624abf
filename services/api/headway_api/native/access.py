"""What an account may see: of the whole installation, of DAGs, and of the runs that it names."""

from collections.abc import Iterable
from typing import Annotated, TypeAlias

from fastapi import Path, Query
from sqlalchemy import Connection

from headway.actions.dags.history import check_known
from headway.actions.lookup import run_of
from headway.db.reads import dag_views
from headway.domain.accounts import Permission, may
from headway.domain.errors import RequestError
from headway_api.auth.caller import Caller
from headway_api.http.refusals import RoleError

BigId: TypeAlias = Annotated[int, Path(ge=1, le=2**63 - 1)]
OfDag: TypeAlias = Annotated[str | None, Query(description="Only those of this DAG.")]
OfRun: TypeAlias = Annotated[str | None, Query(description="Only those of this run of the DAG.")]


def require_every_bundle(caller: Caller, what: str) -> None:
    """RoleError unless the account sees every bundle: `what` tells of all of them together."""
    caller.require(Permission.READ)
    if caller.bundles is not None:
        raise RoleError(
            f"{what} is about the whole installation, and {caller.account.name} sees some bundles "
            "alone."
        )


def visible_dags(caller: Caller, conn: Connection, dag_ids: Iterable[str]) -> set[str]:
    """Return those of the DAGs that the account may see."""
    wanted = set(dag_ids)
    if caller.bundles is None:
        return wanted
    found = (dag_views.dag(conn, dag_id) for dag_id in wanted)
    return {
        dag.dag_id
        for dag in found
        if dag is not None and may(caller.account, Permission.READ, dag.bundle)
    }


def check_named_run(
    caller: Caller, conn: Connection, dag_id: str | None, run_id: str | None
) -> None:
    """NotFoundError for a DAG, or a run of it, that is not there or that the account cannot see."""
    if dag_id is None:
        if run_id is not None:
            raise RequestError("A run is named together with its DAG: give dag_id as well.")
        return
    caller.check_dag(conn, Permission.READ, dag_id)
    if run_id is None:
        check_known(conn, dag_id)
    else:
        run_of(conn, dag_id, run_id)
