"""A DagSpec as msgpack bytes and back.

The bytes hold a format version and plain data only.  What comes back is bounded
while it is decoded and validated by pydantic before anything else sees it; no
part of it is ever imported or called by name.
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from enum import Enum
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgpack

from headway.domain.arguments import MAPPINGS, PLAIN
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec
from headway.domain.errors import SerializationError
from headway.serialization import decoding as bounded
from headway.timetables.registry import MOST_LEVELS

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FORMAT_VERSION: Final = 2
COMBINED_FORMAT: Final = 3
GROUPED_FORMAT: Final = 4
READABLE: Final = (1, 2, 3, 4)
"""Formats that are read.  What the first one lacks has defaults.

The third is written for DAGs alone that expand a task over combined outputs: a release that does
not know these would take them for empty lists, and is to refuse the DAG.  The fourth is written for
DAGs alone that have mapped groups: a release that does not know these would let an instance in the
group wait for all instances of the others.
"""

LATER: Final = frozenset(
    {
        "dynamic",
        "reparse_on_run",
        "min_file_process_interval",
        "callbacks",
        "catchup_mode",
        "catchup_window",
        "overlap",
        "deadlines",
        "notifiers",
        "dag_display_name",
        "groups",
        "labels",
        "param_schemas",
        "parse_secrets",
        "providers",
    }
)
LATER_OF_TASKS: Final = frozenset(
    {
        "retry_jitter",
        "retry_on",
        "fail_fast_on",
        "callbacks",
        "slas",
        "notifiers",
        "owner",
        "on_failure_fail_dagrun",
        "task_display_name",
        "params",
        "param_schemas",
        "start_date",
        "end_date",
        "map_index_template",
        "mapped_group",
    }
)
"""What DAGs, and tasks, are written with only where it says something, so that all others stay what
they were.

A release that does not know these leaves them out of account, rather than refusing the DAG: its
workers run it, and its schedulers start the runs without waiting for a parse, catch up as
`catchup` alone says, and let runs queue.  It checks no conf by the schemas of params.  Its workers
refuse what a file reads of connections and variables while the file is loaded.
A release that does not know those of tasks tries them again after any exception, calls and tells
nobody, and knows no deadlines.  It runs a task whatever the task's own dates are.
"""

LATER_OF_INPUTS: Final = frozenset({"combined", "parts"})
"""The same of what mapped tasks are expanded over."""

LARGEST: Final = 64 * 2**20
"""Bytes of a serialized DAG beyond which it is refused."""

DEEPEST: Final = 3 + MOST_LEVELS
"""Levels of lists and maps: the envelope, the DAG, its timetable, and what that may have."""

MOST_ELEMENTS: Final = 5_000_000
MOST_CONTAINERS: Final = 600_000
"""Items of lists and maps in it, and lists and maps: enough for a hundred thousand tasks."""

_LATER: Final[Mapping[type, frozenset[str]]] = {
    DagSpec: LATER,
    TaskSpec: LATER_OF_TASKS,
    MapInput: LATER_OF_INPUTS,
}
_NOTHING: Final[frozenset[str]] = frozenset()


def encode(spec: DagSpec) -> bytes:
    """Return the canonical bytes of a DAG: equal specifications give equal bytes.

    This is done in every child that parses or runs user code; none of them needs pydantic.
    """
    data: bytes = msgpack.packb({"format": _format(spec), "dag": _plain(spec)})
    if len(data) > LARGEST:
        raise SerializationError(
            f"The DAG {spec.dag_id} takes {len(data):,} bytes; {LARGEST:,} is the limit. "
            "Split it, or pass its data by file."
        )
    return data


def budget() -> bounded.DecodeBudget:
    """Return what DAGs may hold that are decoded together."""
    return bounded.DecodeBudget(MOST_ELEMENTS, MOST_CONTAINERS)


def decode(data: bytes, left: bounded.DecodeBudget | None = None) -> DagSpec:
    """Return the DAG that `encode` made these bytes of; SerializationError for any other bytes.

    It is taken from the budget that is `left`, by default one of its own.
    """
    if len(data) > LARGEST:
        raise SerializationError(f"A serialized DAG of {len(data):,} bytes is over the limit.")
    try:
        envelope = bounded.decode(data, DEEPEST, left or budget())
    except SerializationError as error:
        raise SerializationError(f"These bytes are no serialized DAG: {error}") from error
    if not isinstance(envelope, dict) or "format" not in envelope:
        raise SerializationError("These bytes are no serialized DAG: they carry no format version.")
    if envelope["format"] not in READABLE:
        raise SerializationError(
            f"The serialized DAG is of format {envelope['format']!r}; this Headway reads formats "
            f"{READABLE[0]} to {READABLE[-1]}. Let the parser of this version read the DAG file "
            "again."
        )
    try:
        return _adapter().validate_python(envelope.get("dag"))
    except ValueError as error:
        raise SerializationError(f"The serialized DAG is malformed: {error}") from error


def fingerprint(data: bytes, manifest_hash: str) -> str:
    """Return what identifies a DAG's version: its serialized form and the code it was read from."""
    return sha256(sha256(data).digest() + manifest_hash.encode()).hexdigest()


def _format(spec: DagSpec) -> int:
    if any(task.mapped_group for task in spec.tasks):
        return GROUPED_FORMAT
    combines = any(each.combined for task in spec.tasks for each in task.mapped_over)
    return COMBINED_FORMAT if combines else FORMAT_VERSION


@cache
def _adapter() -> "TypeAdapter[DagSpec]":
    from pydantic import TypeAdapter

    return TypeAdapter(DagSpec)


def _plain(value: object) -> Any:
    """Return plain data, the keys of maps in order."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, MAPPINGS):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    kind: Any = type(value)
    later = _LATER.get(kind, _NOTHING)
    return {
        name: it if type(it) in PLAIN else _plain(it)
        for name in _names(kind)
        if (it := getattr(value, name)) or name not in later
    }


@cache
def _names(kind: Any) -> list[str]:
    return sorted(field.name for field in fields(kind))
