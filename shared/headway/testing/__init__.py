"""What authors test their tasks and DAGs with: `from headway.testing import run_task, run_dag`.

These names live in `headway.testing.authors`.  The other folders are the support for Headway's
own tests; they are no part of the package that is installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from headway.testing.authors.dag_files import load_dags
    from headway.testing.authors.results import DagResult, TaskResult
    from headway.testing.authors.trials import run_dag, run_task

__all__ = ["DagResult", "TaskResult", "load_dags", "run_dag", "run_task"]

_HOMES: Final = {
    "DagResult": "headway.testing.authors.results",
    "TaskResult": "headway.testing.authors.results",
    "load_dags": "headway.testing.authors.dag_files",
    "run_dag": "headway.testing.authors.trials",
    "run_task": "headway.testing.authors.trials",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
