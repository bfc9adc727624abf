"""What a task is told by its environment: which attempt it is, under the names of Airflow too."""

import os
from collections.abc import Iterator
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


def tell_environment(context: Context) -> None:
    """Put the attempt's variables into the environment of this process, and of its children.

    They stay there.  Variables for which the attempt has no value are removed.
    """
    environment = os.environ  # noqa: TID251 - the task's own, and no setting that we read
    for end, told in zip(_ENDS, _told(context), strict=True):
        for prefix in _PREFIXES:
            if told:
                environment[f"{prefix}{end}"] = told
            else:
                environment.pop(f"{prefix}{end}", None)


@contextmanager
def environment_kept() -> Iterator[None]:
    """Undo what attempts in the block change of this process's environment."""
    before = inherited()
    try:
        yield
    finally:
        environment = os.environ  # noqa: TID251 - as above
        for name in inherited():
            del environment[name]
        environment.update(before)


def inherited() -> dict[str, str]:
    """Return those variables of this process that tell which attempt it is."""
    environment = os.environ  # noqa: TID251 - as above
    return {name: environment[name] for name in _NAMES if name in environment}


def _told(context: Context) -> tuple[str, ...]:
    facts, run, task = context["ti"].facts, context["dag_run"], context["task"]
    mailed = (it.to for it in task.spec.notifiers if it.connection == MAIL)
    return (
        facts.dag_id,
        task.task_id,
        run.logical_date.isoformat(),
        facts.run_id,
        str(facts.try_number),
        task.owner or "",
        ",".join(sorted({address for to in mailed for address in to})),
    )
