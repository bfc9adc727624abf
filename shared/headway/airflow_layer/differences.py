"""Where a DAG file that loads may do other things than in Airflow, told by what it uses."""

import ast
from collections.abc import Callable, Mapping
from typing import Final

INTERVAL: Final = (
    "ds and logical_date are the start of the interval that a run is about, as in Airflow 2: the "
    "run that starts at midnight has the day before. In Airflow 3 they are the time of the run. "
    "For that, write schedule=CronTriggerTimetable(…); for this, "
    "schedule=CronDataIntervalTimetable(…)."
)
"""What a file is told that has a schedule by time and does not choose."""

_OF_RUNS: Final = frozenset({"on_failure_callback", "on_success_callback"})


def _names(node: ast.AST) -> str:
    """Return the last part of a name that is called or looked up."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _short_circuits(node: ast.AST) -> bool:
    return _names(node) in ("ShortCircuitOperator", "short_circuit")


def _calls_back_for_runs(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or _names(node.func) not in ("DAG", "dag"):
        return False
    return any(keyword.arg in _OF_RUNS for keyword in node.keywords)


def _expands(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _names(node.func) in ("expand", "expand_kwargs")


def _reads_airflow_environment(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and "AIRFLOW_CTX_" in str(node.value)


_SIGNS: Final[Mapping[str, Callable[[ast.AST], bool]]] = {
    "A short circuit skips the tasks right after it. Those further down follow by their trigger "
    "rules: one with all_done runs, which Airflow skips.": _short_circuits,
    "A callback of a DAG has no task_instance in its context: it is about the run.": (
        _calls_back_for_runs
    ),
    "xcom_pull of one id of a mapped task gives a list, also where it has one instance.": _expands,
    "Tasks have no environment variables AIRFLOW_CTX_…; use templates such as {{ dag.dag_id }} "
    "and {{ run_id }}.": _reads_airflow_environment,
}


def differences(source: bytes) -> list[str]:
    """Return what may differ, a sentence each; nothing for a source that is no Python."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [said for said, shows in _SIGNS.items() if any(map(shows, nodes))]
