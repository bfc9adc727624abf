"""The groups of a version's tasks, and what people call both, without reading them each time."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from sqlalchemy import Connection

from headway.db.core import stored_versions
from headway.db.reads import dag_views
from headway.decide.charts.outline import OutlineRow
from headway.domain.dag.spec import DagSpec
from headway.domain.dag.task_groups import GroupSpec
from headway.serialization import codec

MOST_REMEMBERED: Final = 200_000
"""Names of tasks and groups that a process remembers: about a hundred bytes each."""


@dataclass(frozen=True, slots=True)
class DagOutline:
    """The groups of a DAG, and the names of those tasks and groups that have one for people.

    `tooltips` is what there is to say of groups.
    """

    groups: Sequence[GroupSpec] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    tooltips: Mapping[str, str] = field(default_factory=dict)

    @property
    def outer(self) -> list[str]:
        """The groups that are in no other one."""
        return [group.group_id for group in self.groups if group.parent is None]

    def called(self, row: OutlineRow) -> str:
        """Return what a row is called: within a group, an id stands without that of the group."""
        short = row.name.removeprefix(f"{row.group}.") if row.group else row.name
        return self.names.get(row.name, short)


UNGROUPED: Final = DagOutline()

_remembered: OrderedDict[str, DagOutline] = OrderedDict()
_lock = Lock()


def in_force(conn: Connection, dag_id: str) -> DagOutline:
    """Return the outline of the version in force of a DAG; an empty one before its first."""
    key = dag_views.key_in_force(conn, dag_id)
    return UNGROUPED if key is None else _read(conn, *key)


def of_version(conn: Connection, version_id: int) -> DagOutline:
    """Return the outline of a version that this release can read."""
    return _read(conn, version_id, dag_views.fingerprint(conn, version_id))


def _read(conn: Connection, version_id: int, fingerprint: str) -> DagOutline:
    with _lock:
        if fingerprint in _remembered:
            _remembered.move_to_end(fingerprint)
            return _remembered[fingerprint]
    found = outline_of(codec.decode(stored_versions.load(conn, [version_id])[version_id]))
    with _lock:
        _remembered[fingerprint] = found
        while sum(map(_size, _remembered.values())) > MOST_REMEMBERED and len(_remembered) > 1:
            _remembered.popitem(last=False)
    return found


def outline_of(dag: DagSpec) -> DagOutline:
    """Return the outline of a DAG."""
    tasks = {it.task_id: it.task_display_name for it in dag.tasks}
    groups = {it.group_id: it.display_name for it in dag.groups}
    names = {name: shown for name, shown in (tasks | groups).items() if shown}
    tooltips = {it.group_id: it.tooltip for it in dag.groups if it.tooltip}
    return DagOutline(dag.groups, names, tooltips)


def _size(outline: DagOutline) -> int:
    return len(outline.names) + sum(1 + len(group.tasks) for group in outline.groups)
