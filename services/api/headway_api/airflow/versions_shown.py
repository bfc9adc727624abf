"""A version of a DAG as it is shown with what has it: a run, a task instance, a DAG."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel

from headway.db.reads.pages.run_pages import ListedRun
from headway.db.reads.pages.task_pages import ListedTask
from headway_api.airflow.ids import uuid_of


class ShownVersion(BaseModel):
    """A version of a DAG; `bundle_version` is the commit at which it was seen first."""

    id: UUID
    version_number: int
    dag_id: str
    dag_display_name: str
    bundle_name: str | None
    bundle_version: str | None
    bundle_url: str | None = None
    created_at: datetime

    @classmethod
    def of(
        cls, number_of_all: int, name: tuple[str, int], where: tuple[str, str | None], at: datetime
    ) -> Self:
        """Return the version of that number, of a DAG with its own number, in a bundle."""
        (dag_id, number), (bundle, commit) = name, where
        return cls(
            id=uuid_of("dag_version", number_of_all),
            version_number=number,
            dag_id=dag_id,
            dag_display_name=dag_id,
            bundle_name=bundle,
            bundle_version=commit,
            created_at=at,
        )

    @classmethod
    def of_run(cls, it: ListedRun) -> Self:
        """Return the version that a run has."""
        name = (it.run.dag_id, it.run.version)
        return cls.of(it.version_id, name, (it.bundle, it.commit), it.version_created_at)

    @classmethod
    def of_task(cls, it: ListedTask) -> Self:
        """Return the version of a task instance's run."""
        name = (it.task.dag_id, it.version)
        return cls.of(it.version_id, name, (it.bundle, it.commit), it.version_created_at)
