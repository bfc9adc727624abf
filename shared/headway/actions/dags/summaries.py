"""What lists of DAGs tell of their versions in force, without reading them again each time."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final

from sqlalchemy import Connection

from headway.db.core import stored_versions
from headway.db.reads import dag_views
from headway.domain.errors import SerializationError, TimetableError
from headway.serialization import codec
from headway.timetables import registry
from headway.timetables.kinds.simple import NullTimetable

MOST_REMEMBERED: Final = 20_000
"""Summaries that a process remembers: a few hundred bytes each."""


@dataclass(frozen=True, slots=True)
class VersionSummary:
    """A version of a DAG in brief: its schedule in a few words, its time zone, and what it has.

    `scheduled` tells whether it has runs of a schedule, `limited` whether the instances of one of
    its tasks are limited in number, `outlined` whether it has groups, or names of tasks for people
    (outlines.py).  `display_name` is what people call the DAG.
    """

    schedule: str
    timezone: str
    scheduled: bool
    limited: bool
    outlined: bool = False
    display_name: str | None = None


UNREADABLE: Final = VersionSummary("", "UTC", scheduled=False, limited=False)
"""What is told of a version that this release cannot read."""

_remembered: OrderedDict[str, VersionSummary] = OrderedDict()
_lock = Lock()


def summaries(conn: Connection, versions: Mapping[int, str]) -> dict[int, VersionSummary]:
    """Return the summaries of these versions, given by number with their fingerprints.

    The fingerprint says all that a version is, so what was read once is never read again.
    """
    with _lock:
        found = {key: _remembered[key] for key in versions.values() if key in _remembered}
    missing = [number for number, key in versions.items() if key not in found]
    for number, serialized in stored_versions.load(conn, missing).items() if missing else ():
        found[versions[number]] = _summary(serialized)
    with _lock:
        for key in versions.values():
            if key in found:
                _remembered[key] = found[key]
                _remembered.move_to_end(key)
        while len(_remembered) > MOST_REMEMBERED:
            _remembered.popitem(last=False)
    return {number: found.get(key, UNREADABLE) for number, key in versions.items()}


def in_force(conn: Connection, dag_id: str) -> VersionSummary:
    """Return the summary of the version in force of a DAG; UNREADABLE before its first one."""
    key = dag_views.key_in_force(conn, dag_id)
    return UNREADABLE if key is None else summaries(conn, dict([key]))[key[0]]


def of_version(conn: Connection, version_id: int) -> VersionSummary:
    """Return the summary of a version."""
    fingerprint = dag_views.fingerprint(conn, version_id)
    return summaries(conn, {version_id: fingerprint})[version_id]


def _summary(serialized: bytes) -> VersionSummary:
    try:
        spec = codec.decode(serialized)
        timetable = registry.decode(spec.timetable)
    except (SerializationError, TimetableError):
        return UNREADABLE  # of a release that knows more than this one
    limits = {task.max_active_tis_per_dag for task in spec.tasks}
    limits |= {task.max_active_tis_per_dagrun for task in spec.tasks}
    return VersionSummary(
        timetable.summary,
        spec.timezone,
        scheduled=not isinstance(timetable, NullTimetable),
        limited=bool(limits - {None}),
        outlined=bool(spec.groups) or any(task.task_display_name for task in spec.tasks),
        display_name=spec.dag_display_name,
    )
