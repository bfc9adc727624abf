"""A version of a DAG as it is shown with what has it: a run, a task instance, a DAG."""

from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from headway.db.reads.pages.run_pages import ListedRun
from headway.db.reads.pages.task_pages import ListedTask
from headway_api.airflow.ids import uuid_of

_KEPT: Final = 1_024
"""Versions that are kept as they are shown: many rows of a list have the same."""


class ShownVersion(BaseModel):
    """A version of a DAG; `bundle_version` is the commit at which it was seen first."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    version_number: int
    dag_id: str
    dag_display_name: str
    bundle_name: str | None
    bundle_version: str | None
    bundle_url: str | None = None
    created_at: datetime


def version_of_run(it: ListedRun) -> ShownVersion:
    """Return the version that a run has."""
    name = (it.run.dag_id, it.run.version)
    return shown_version(it.version_id, name, (it.bundle, it.commit), it.version_created_at)


def version_of_task(it: ListedTask) -> ShownVersion:
    """Return the version of a task instance's run."""
    name = (it.task.dag_id, it.version)
    return shown_version(it.version_id, name, (it.bundle, it.commit), it.version_created_at)


@lru_cache(_KEPT)
def shown_version(
    number_of_all: int, name: tuple[str, int], where: tuple[str, str | None], at: datetime
) -> ShownVersion:
    """Return the version of that number, of a DAG with its own number, in a bundle."""
    (dag_id, number), (bundle, commit) = name, where
    return ShownVersion(
        id=uuid_of("dag_version", number_of_all),
        version_number=number,
        dag_id=dag_id,
        dag_display_name=dag_id,
        bundle_name=bundle,
        bundle_version=commit,
        created_at=at,
    )
