"""Which version of its DAG a run that is to run again has: its own, the one in force, or any."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection

from headway.actions.lookup import check_tasks
from headway.db.changes import repins
from headway.db.changes.repins import Version, VersionsOfRun
from headway.db.changes.run_changes import LockedRun
from headway.db.core import stored_versions
from headway.decide.changes.provider_changes import ProviderChange, provider_changes
from headway.decide.scheduling.graph import DagGraph
from headway.domain.errors import ConflictError, TaskNotFoundError, VersionNotFoundError
from headway.domain.hints import Action, Parameter, act, hint
from headway.serialization import codec

OWN: Final = "own"
"""The version that the run has."""

LATEST: Final = "latest"
"""The one in force."""

PROVIDER_PACKAGES: Final = "apache-airflow-providers-"
"""How the names of provider packages begin."""


def wanted(conn: Connection, run: LockedRun, version: str) -> tuple[VersionsOfRun, Version]:
    """Return the versions there are for a run, and of these the one that a user names.

    NotFoundError when there is none of that number, or when it is no number.
    """
    number = int(version) if version.isdecimal() and len(version) < 10 else None  # noqa: PLR2004
    known = repins.known(conn, run, number)
    if version == OWN:
        return known, known.own
    if version == LATEST:
        if known.in_force is None:
            raise ConflictError(f"No version of DAG {run.dag_id} is in force.")
        return known, known.in_force
    if known.numbered is None:
        there = ", ".join(map(str, repins.numbers(conn, run.dag_id)))
        raise VersionNotFoundError(
            f"DAG {run.dag_id} has no version {version!r}; say {OWN}, {LATEST}, or one of {there}.",
            hint=hint(act(Action.LIST_VERSIONS, dag_id=run.dag_id), " tells about them."),
        )
    return known, known.numbered


def changed_providers(
    conn: Connection, version: Version, in_force: Version | None
) -> tuple[ProviderChange, ...]:
    """Return the provider packages that were others when that version was made.

    What is installed now is what the version in force was made with: files are parsed again when
    another release of a package is installed.
    """
    if in_force is None or in_force.id == version.id:
        return ()
    stored = stored_versions.load_naming(conn, [version.id, in_force.id], PROVIDER_PACKAGES)
    noted = {number: codec.decode(data).providers for number, data in stored.items()}
    return provider_changes(noted.get(version.id, {}), noted.get(in_force.id, {}))


def check_tasks_of(
    conn: Connection, version: Version, graph: DagGraph, named: Sequence[str]
) -> None:
    """Raise NotFoundError for a task that the version lacks, with the one that has it, if any."""
    for task_id in named:
        if task_id in graph.tasks:
            continue
        newest = repins.newest_with(conn, graph.dag.dag_id, task_id)
        if newest is not None:
            raise TaskNotFoundError(
                f"Version {version.number} of DAG {graph.dag.dag_id} has no task {task_id!r}; "
                f"version {newest} has one.",
                hint=hint("Add ", Parameter("version", newest), " to run with that."),
            )
    check_tasks(graph, named)
