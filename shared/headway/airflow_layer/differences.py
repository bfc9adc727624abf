"""Where a DAG file that loads may do other things than in Airflow, told by what it uses."""

import ast
from collections.abc import Callable, Mapping
from typing import Final

INTERVAL: Final = (
    "Nobody has said what ds and logical_date are where the schedule is a cron string or a "
    "preset, so they are the start of the interval that a run is about, as in Airflow 2: the run "
    "that starts at midnight has the day before. In Airflow 3 they are the time of the run. "
    "Choose by the setting cron_semantics of the bundle, or HEADWAY_PARSER_CRON_SEMANTICS, or the "
    'DAG\'s argument cron_semantics: "interval" for this, "trigger" for that.'
)
"""What a file is told that has a schedule by cron string, where nobody chooses."""

DELTA: Final = (
    "ds and logical_date are the start of the period that a run is about where the schedule is a "
    "timedelta, as in Airflow 2. In Airflow 3 they are the time of the run: for that, take "
    "data_interval_end."
)
"""What a file is told that has a timedelta as its schedule."""

CHOICES: Final = frozenset({INTERVAL, DELTA})
"""What a file is told of its dates."""


def _names(node: ast.AST) -> str:
    """Return the last part of a name that is called or looked up."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _expands(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _names(node.func) in ("expand", "expand_kwargs")


def _triggers(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _names(node.func) == "TriggerDagRunOperator"


_SIGNS: Final[Mapping[str, Callable[[ast.AST], bool]]] = {
    "xcom_pull of one id of a mapped task gives a list, also where it has one instance.": _expands,
    "TriggerDagRunOperator triggers DAGs of its own bundle; a run exists if it has the same run "
    "id, whatever its logical date.": _triggers,
}


def differences(source: bytes) -> list[str]:
    """Return what may differ, a sentence each; nothing for a source that is no Python."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [said for said, shows in _SIGNS.items() if any(map(shows, nodes))]
