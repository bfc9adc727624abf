"""What a task is told by its environment: which attempt it is, under the names of Airflow too."""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Final

from headway.sdk.authoring.notifiers import MAIL
from headway.sdk.running.context import Context

_PREFIXES: Final = ("AIRFLOW_CTX_", "HEADWAY_CTX_")
_ENDS: Final = (
    "DAG_ID",
    "TASK_ID",
    "LOGICAL_DATE",
    "DAG_RUN_ID",
    "TRY_NUMBER",
    "DAG_OWNER",
    "DAG_EMAIL",
)
_NAMES: Final = tuple(f"{prefix}{end}" for prefix in _PREFIXES for end in _ENDS)


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
    return {f"{prefix}{end}": told[end] for prefix in _PREFIXES for end in _ENDS if told[end]}


@contextmanager
def told_by_environment(context: Context) -> Iterator[None]:
    """Have the attempt's variables in the environment of this process, and of its children."""
    environment = os.environ  # noqa: TID251 - the task's own, and no setting that we read
    before = inherited()
    _set(environment, variables(context))
    try:
        yield
    finally:
        _set(environment, before)


def inherited() -> dict[str, str]:
    """Return those variables of this process that tell which attempt it is."""
    environment = os.environ  # noqa: TID251 - as above
    return {name: environment[name] for name in _NAMES if name in environment}


def _set(environment: MutableMapping[str, str], told: Mapping[str, str]) -> None:
    """Have these variables of an attempt, and no other."""
    for name in _NAMES:
        if name in told:
            environment[name] = told[name]
        else:
            environment.pop(name, None)
