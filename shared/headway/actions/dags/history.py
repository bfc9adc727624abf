"""Look at what a DAG was: its versions, the code of one, the version of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from headway.actions.lookup import current_dag, run_of
from headway.db.changes import repins
from headway.db.core import stored_versions
from headway.db.reads import dag_views, deadline_views, history, task_views
from headway.db.reads.deadline_views import DeadlineView
from headway.db.reads.history import VersionView
from headway.db.reads.run_views import RunView
from headway.db.reads.task_views import TaskView
from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import RunNotFoundError, VersionNotFoundError
from headway.serialization import codec


@dataclass(frozen=True, slots=True)
class AsItWas:
    """A version of a DAG: its number, what it is as data, and its manifest: path to hash."""

    number: int
    spec: DagSpec
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class RunGraph:
    """The tasks of a run as its version has them, and the number of the one in force."""

    graph: DagGraph
    number: int
    in_force: int | None
    pinned: bool


@dataclass(frozen=True, slots=True)
class RunDetail:
    """A run with its graph, its task instances in topological order, and their deadlines."""

    run: RunView
    graph: RunGraph
    tasks: Sequence[TaskView]
    deadlines: Sequence[DeadlineView]


def versions_of(conn: Connection, dag_id: str) -> list[VersionView]:
    """Return the versions of a DAG, also of one that no file defines any more."""
    check_known(conn, dag_id)
    return history.versions(conn, dag_id)


def as_it_was(conn: Connection, dag_id: str, number: int | None) -> AsItWas:
    """Return a version, or the one in force; NotFoundError, naming those there are, without it."""
    check_known(conn, dag_id)
    stored = history.one(conn, dag_id, number)
    if stored is None:
        there = ", ".join(map(str, repins.numbers(conn, dag_id)))
        raise VersionNotFoundError(
            f"DAG {dag_id} has no version {number}; it has {there or 'none'}."
        )
    files = stored_versions.manifest(conn, stored.manifest_hash)
    return AsItWas(stored.number, codec.decode(stored.serialized), files)


def sources(conn: Connection, *versions: AsItWas) -> list[dict[str, bytes]]:
    """Return the files of each version by their path."""
    wanted = {key for version in versions for key in version.files.values()}
    found = stored_versions.contents(conn, sorted(wanted))
    return [{path: found[key] for path, key in version.files.items()} for version in versions]


def changed_sources(conn: Connection, old: AsItWas, new: AsItWas) -> list[dict[str, bytes]]:
    """Return of both versions the files that are not the same in the other one."""
    return sources(
        conn,
        replace(old, files=_without(old.files, new.files)),
        replace(new, files=_without(new.files, old.files)),
    )


def graph_of_run(conn: Connection, dag_id: str, run_id: str) -> RunGraph:
    """Return the graph that a run has, or will have when it starts."""
    found = history.of_run(conn, dag_id, run_id)
    if found is None:
        run_of(conn, dag_id, run_id)
        raise RunNotFoundError(f"Run {run_id} of {dag_id} was deleted just now.")
    graph = DagGraph(codec.decode(found.serialized))
    return RunGraph(graph, found.number, found.in_force, found.pinned)


def run_detail(conn: Connection, dag_id: str, run_id: str) -> RunDetail:
    """Return all that is shown of a run; NotFoundError, naming the nearest, without it."""
    run = run_of(conn, dag_id, run_id)
    tasks = task_views.tasks(conn, dag_id, run_id)
    deadlines = deadline_views.deadlines(conn, dag_id, run_id)
    return RunDetail(run, graph_of_run(conn, dag_id, run_id), tasks, deadlines)


def check_known(conn: Connection, dag_id: str) -> None:
    """Raise NotFoundError, naming the nearest, unless the DAG is there, in a DAG file or not."""
    if dag_views.dag(conn, dag_id) is None:
        current_dag(conn, dag_id)


def _without(files: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    return {path: key for path, key in files.items() if others.get(path) != key}
