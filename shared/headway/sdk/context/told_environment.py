"""What a task is told by its environment: which attempt it is, under the names of Airflow too."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from headway.sdk.authoring.notifiers import MAIL
from headway.sdk.running.context import Context

_PREFIXES: Final = ("AIRFLOW_CTX_", "HEADWAY_CTX_")


def variables(context: Context) -> dict[str, str]:
    """Return the variables of an attempt; those that say nothing are left out."""
    ti, run, task = context["ti"], context["dag_run"], context["task"]
    mailed = (it.to for it in task.spec.notifiers if it.connection == MAIL)
    told: Mapping[str, str] = {
        "DAG_ID": ti.dag_id,
        "TASK_ID": ti.task_id,
        "LOGICAL_DATE": run.logical_date.isoformat(),
        "DAG_RUN_ID": ti.run_id,
        "TRY_NUMBER": str(ti.try_number),
        "DAG_OWNER": task.owner or "",
        "DAG_EMAIL": ",".join(sorted({address for to in mailed for address in to})),
    }
    return {
        f"{prefix}{name}": value for prefix in _PREFIXES for name, value in told.items() if value
    }


@contextmanager
def told_by_environment(context: Context) -> Iterator[None]:
    """Have the attempt's variables in the environment of this process, and of its children."""
    environment = os.environ  # noqa: TID251 - the task's own, and no setting that we read
    told = variables(context)
    before = {name: environment[name] for name in _told(environment)}
    for name in before:
        del environment[name]
    environment.update(told)
    try:
        yield
    finally:
        for name in _told(environment):
            del environment[name]
        environment.update(before)


def inherited() -> dict[str, str]:
    """Return those variables of this process that tell which attempt it is."""
    environment = os.environ  # noqa: TID251 - as above
    return {name: environment[name] for name in _told(environment)}


def _told(environment: Mapping[str, str]) -> list[str]:
    return [name for name in environment if name.startswith(_PREFIXES)]
