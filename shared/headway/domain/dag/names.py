"""Identifiers: what may name a DAG, a task, a run or a pool."""

import re

from headway.domain.errors import DagError

LONGEST_NAME = 250
_KEY = re.compile(r"[A-Za-z0-9_.\-]+")


def check_key(kind: str, value: object) -> str:
    """Return `value` when it may name a `kind` ("DAG", "task", …), else raise DagError."""
    if not isinstance(value, str):
        raise DagError(f"A {kind} id must be a string, not {type(value).__name__}: {value!r}.")
    if not value or len(value) > LONGEST_NAME:
        raise DagError(
            f"A {kind} id must have 1 to {LONGEST_NAME} characters; "
            f"{value[:60]!r} has {len(value)}."
        )
    if not _KEY.fullmatch(value) or set(value) == {"."}:
        raise DagError(
            f"The {kind} id {value!r} may hold only letters of the English alphabet, digits, "
            "dashes, dots and underscores."
        )
    return value


def instance_name(task_id: str, map_index: int) -> str:
    """Return what a task instance is called within its run: "t", or "t[3]" if it is mapped."""
    return task_id if map_index < 0 else f"{task_id}[{map_index}]"


def check_run_id(value: str) -> str:
    """Return `value` when it may name a run: printable, without a slash, and not too long."""
    if not value.strip():
        raise DagError("The run id is empty; give the id of a run, or leave it out where you may.")
    if len(value) > LONGEST_NAME or not value.isprintable() or "/" in value:
        raise DagError(
            f"The run id {value[:60]!r} must have 1 to {LONGEST_NAME} printable characters, and "
            "no slash."
        )
    return value
