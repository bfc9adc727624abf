"""Where a DAG file that loads may do other things than in Airflow, told by what it uses."""

import ast
from collections.abc import Callable, Mapping, Sequence
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


def _calls(nodes: Sequence[ast.AST], *names: str) -> list[ast.Call]:
    return [node for node in nodes if isinstance(node, ast.Call) and _names(node.func) in names]


def _pulls_from_mapped(nodes: Sequence[ast.AST]) -> bool:
    return bool(_calls(nodes, "expand", "expand_kwargs") and _calls(nodes, "xcom_pull"))


def _leaves_out_catchup(nodes: Sequence[ast.AST]) -> bool:
    """Whether a DAG has a schedule, and does not say what becomes of missed runs."""
    for call in _calls(nodes, "DAG", "dag"):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        schedule = given.get("schedule", given.get("schedule_interval"))
        has_none = isinstance(schedule, ast.Constant) and schedule.value in (None, "@once")
        if schedule is not None and not has_none and "catchup" not in given and None not in given:
            return True
    return False


def _branches_by_time_of_day(nodes: Sequence[ast.AST]) -> bool:
    targets = ("target_lower", "target_upper")
    return any(
        keyword.arg in targets and bool(_calls([keyword.value], "time"))
        for call in _calls(nodes, "BranchDateTimeOperator")
        for keyword in call.keywords
    )


def _has_links(nodes: Sequence[ast.AST]) -> bool:
    return any(_names(node) in ("operator_extra_links", "BaseOperatorLink") for node in nodes)


def _triggers(nodes: Sequence[ast.AST]) -> bool:
    return bool(_calls(nodes, "TriggerDagRunOperator"))


_SIGNS: Final[Mapping[str, Callable[[Sequence[ast.AST]], bool]]] = {
    "xcom_pull of one id of a mapped task gives a list, also where it has one instance.": (
        _pulls_from_mapped
    ),
    "catchup is False where a DAG does not say, as in Airflow 3; in Airflow 2 it is True.": (
        _leaves_out_catchup
    ),
    "BranchDateTimeOperator takes a time of the day in the time zone of the DAG, not in UTC.": (
        _branches_by_time_of_day
    ),
    "operator_extra_links load, and no page shows the link.": _has_links,
    "TriggerDagRunOperator triggers DAGs of its own bundle; a run exists if it has the same run "
    "id, whatever its logical date.": _triggers,
}


def differences(source: bytes) -> list[str]:
    """Return what may differ, a sentence each; nothing for a source that is no Python."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [said for said, shows in _SIGNS.items() if shows(nodes)]
