"""What is different between two versions of a DAG: its structure, and the code that it had."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from difflib import unified_diff
from enum import StrEnum
from hashlib import sha256
from io import BytesIO
from typing import Any, Final, TypeAlias
from zipfile import BadZipFile, ZipFile

from headway.domain.dag.spec import DagSpec, TaskSpec

LARGEST: Final = 512 * 1024
"""Bytes of a file beyond which it is compared by its hash alone."""

MOST_ENTRIES: Final = 10_000
"""Entries of a zip file beyond which these are not compared one by one."""

Changes: TypeAlias = Mapping[str, tuple[Any, Any]]
"""Old and new values by the name of the field; an entry of a mapping is called `field.entry`."""

Edge: TypeAlias = tuple[str, str]

ABSENT: Final = "(absent)"
"""Stands for the entry that one of two mappings does not have."""


@dataclass(frozen=True, slots=True)
class Structure:
    """How the second of two DAGs differs from the first."""

    attributes: Changes = field(default_factory=dict)
    added: Sequence[str] = ()
    removed: Sequence[str] = ()
    changed: Mapping[str, Changes] = field(default_factory=dict)
    edges_added: Sequence[Edge] = ()
    edges_removed: Sequence[Edge] = ()

    def __bool__(self) -> bool:
        """Tell whether there is any difference."""
        return any(getattr(self, each.name) for each in fields(self))


class TaskChange(StrEnum):
    """What became of a file."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class FileDifference:
    """What became of a file, and how its lines differ; None where it is not to be read as text.

    `entries` are those of a zip file that differ, each with its change.
    """

    path: str
    change: TaskChange
    lines: Sequence[str] | None
    before: str | None
    after: str | None
    entries: Mapping[str, TaskChange] = field(default_factory=dict)


def structure(old: DagSpec, new: DagSpec) -> Structure:
    """Compare two DAGs as data."""
    before = {task.task_id: task for task in old.tasks}
    after = {task.task_id: task for task in new.tasks}
    both = [task_id for task_id in before if task_id in after]
    changed = {
        task_id: _changes(before[task_id], after[task_id], without=("task_id", "upstream"))
        for task_id in both
        if before[task_id] != after[task_id]
    }
    old_edges, new_edges = _edges(old), _edges(new)
    return Structure(
        attributes=_changes(old, new, without=("tasks",)),
        added=[task_id for task_id in after if task_id not in before],
        removed=[task_id for task_id in before if task_id not in after],
        changed={task_id: changes for task_id, changes in changed.items() if changes},
        edges_added=sorted(new_edges - old_edges),
        edges_removed=sorted(old_edges - new_edges),
    )


def code(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> list[FileDifference]:
    """Compare two sets of files, by their paths."""
    return [
        _file(path, old.get(path), new.get(path))
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    ]


def _edges(dag: DagSpec) -> set[Edge]:
    return {(upstream, task.task_id) for task in dag.tasks for upstream in task.upstream}


def _changes(old: DagSpec | TaskSpec, new: DagSpec | TaskSpec, without: Sequence[str]) -> Changes:
    found: dict[str, tuple[Any, Any]] = {}
    for each in fields(old):
        before, after = _plain(getattr(old, each.name)), _plain(getattr(new, each.name))
        if each.name in without or before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            for key in {**before, **after}:
                values = before.get(key, ABSENT), after.get(key, ABSENT)
                if values[0] != values[1]:
                    found[f"{each.name}.{key}"] = values
        else:
            found[each.name] = before, after
    return found


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _file(path: str, old: bytes | None, new: bytes | None) -> FileDifference:
    change = (
        TaskChange.ADDED
        if old is None
        else TaskChange.REMOVED
        if new is None
        else TaskChange.CHANGED
    )
    before, after = _text(old), _text(new)
    lines = None
    if before is not None and after is not None:
        lines = list(unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm=""))
    entries = {} if lines is not None else _entries(old, new)
    return FileDifference(path, change, lines, _hash(old), _hash(new), entries)


def _hash(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


def _text(content: bytes | None) -> list[str] | None:
    """Return the lines of a file; None when it is none of text, or too large to compare."""
    if content is None:
        return []
    if len(content) > LARGEST or b"\0" in content:
        return None
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError:
        return None
    if lines[-1]:
        lines[-1] += "\n\\ No newline at end of file"
        return lines
    return lines[:-1]


def _entries(old: bytes | None, new: bytes | None) -> dict[str, TaskChange]:
    before, after = _listing(old), _listing(new)
    return {
        name: TaskChange.ADDED
        if name not in before
        else TaskChange.REMOVED
        if name not in after
        else TaskChange.CHANGED
        for name in sorted({**before, **after})
        if before.get(name) != after.get(name)
    }


def _listing(content: bytes | None) -> dict[str, tuple[int, int]]:
    """Return size and checksum of a zip file's entries, none of which is unpacked."""
    if content is None or not content.startswith(b"PK"):
        return {}
    try:
        with ZipFile(BytesIO(content)) as archive:
            found = archive.infolist()
    except (BadZipFile, ValueError, NotImplementedError):
        return {}
    return {info.filename: (info.file_size, info.CRC) for info in found[:MOST_ENTRIES]}
