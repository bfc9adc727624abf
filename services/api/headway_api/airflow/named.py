"""What a path names: DAGs, runs and task instances, `~` for all of them."""

from typing import Annotated, Final, TypeAlias

from fastapi import Depends, Path
from pydantic import Field
from sqlalchemy import Connection
from starlette.convertors import Convertor, register_url_convertor

from headway.actions.lookup import current_dag, run_of
from headway.db.reads.pages import dag_pages, run_pages
from headway.db.reads.pages.attempt_pages import InstanceName
from headway.db.reads.pages.dag_pages import DagFilter, ListedDagRow
from headway.db.reads.pages.run_pages import ListedRun
from headway.domain.accounts import Permission
from headway.domain.errors import DagNotFoundError, RunNotFoundError
from headway_api.auth.caller import Caller

ALL: Final = "~"
"""Every DAG, or every run."""

DagId: TypeAlias = Annotated[str, Path(max_length=250)]
RunId: TypeAlias = Annotated[str, Path(max_length=250)]
TaskId: TypeAlias = Annotated[str, Path(max_length=250)]
MapIndex: TypeAlias = Annotated[int, Path(ge=-1, le=2**31 - 1)]

Number: TypeAlias = Annotated[int, Field(ge=-1, le=2**31 - 1)]
"""A number of a version, an attempt or a map index that is filtered by: one that is stored."""


async def _whole(dag_id: DagId, dag_run_id: RunId, task_id: TaskId) -> InstanceName:
    return InstanceName(dag_id, dag_run_id, task_id)


async def _indexed(
    dag_id: DagId, dag_run_id: RunId, task_id: TaskId, map_index: MapIndex
) -> InstanceName:
    return InstanceName(dag_id, dag_run_id, task_id, map_index)


PathOfTask: TypeAlias = Annotated[InstanceName, Depends(_whole)]
"""The task of a run that a path names."""

PathOfInstance: TypeAlias = Annotated[InstanceName, Depends(_indexed)]
"""The instance of a mapped task that a path names."""


class IndexConvertor(Convertor[str]):
    """A map index in a path: a number, -1 for a task that is not mapped.

    So a path that goes on with a word, such as `tries`, is none with a map index.
    """

    regex = "-?[0-9]+"

    def convert(self, value: str) -> str:
        """Return it as it stands: the route says which numbers it takes."""
        return value

    def to_string(self, value: str) -> str:
        """Return it as it stands."""
        return value


register_url_convertor("index", IndexConvertor())


def or_all(name: str) -> str | None:
    """Return the name; None for all of them."""
    return None if name == ALL else name


def dag_of(caller: Caller, conn: Connection, dag_id: str, permission: Permission) -> ListedDagRow:
    """Return the DAG, also one that no file defines; DagNotFoundError without it."""
    caller.check_dag(conn, permission, dag_id)
    wanted = DagFilter(dag_id=dag_id, active=None)
    found = dag_pages.page(conn, caller.page(1), wanted).rows
    if not found:
        if caller.bundles is None:
            current_dag(conn, dag_id)
        raise DagNotFoundError(f"There is no DAG {dag_id!r}.")
    return found[0]


def run_named(
    caller: Caller, conn: Connection, dag_id: str, run_id: str, permission: Permission
) -> ListedRun:
    """Return the run of a DAG; NotFoundError without it."""
    caller.check_dag(conn, permission, dag_id)
    found = run_pages.one(conn, caller.bundles, dag_id, run_id)
    if found is None:
        run_of(conn, dag_id, run_id)
        raise RunNotFoundError(f"DAG {dag_id} has no run {run_id!r}.")
    return found


def check_named(caller: Caller, conn: Connection, dag_id: str, run_id: str = ALL) -> None:
    """Raise NotFoundError for a DAG, or a run of it, that is not there; `~` is always there."""
    if dag_id == ALL:
        caller.require(Permission.READ)
    elif run_id == ALL:
        dag_of(caller, conn, dag_id, Permission.READ)
    else:
        run_named(caller, conn, dag_id, run_id, Permission.READ)
