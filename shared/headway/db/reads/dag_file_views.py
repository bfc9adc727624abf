"""Import errors and warnings of DAG files, alone and beside the DAGs.  Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, text

from headway.db.reads import dag_views
from headway.db.reads.dag_views import DagView

ERRORS = text("SELECT bundle, relative_path, error, at FROM import_error ORDER BY 1, 2")


WARNINGS = text("""
    SELECT bundle, relative_path, warning, parsed_at FROM dag_file
     WHERE warning IS NOT NULL
     ORDER BY 1, 2
""")


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """Why a DAG file could not be taken over; what it defined before stays in force.

    Or, for a warning, what its author should know though it was taken over.
    """

    bundle: str
    relative_path: str
    error: str
    at: datetime


@dataclass(frozen=True, slots=True)
class DagFileView:
    """A DAG file, and what is wrong with it, if anything: its import error, its warning."""

    bundle: str
    relative_path: str
    import_error: str | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class ListedDag:
    """A DAG with its file; or, without a DAG, a file with a problem that no listed DAG is of."""

    dag: DagView | None
    file: DagFileView


@dataclass(frozen=True, slots=True)
class DagList:
    """DAGs by id, then the files with a problem that none of these DAGs is of.

    The import errors and warnings are those of all files, by bundle and path.
    """

    entries: Sequence[ListedDag]
    errors: Sequence[ImportProblem]
    warnings: Sequence[ImportProblem]

    @property
    def dags(self) -> list[DagView]:
        """The DAGs alone."""
        return [entry.dag for entry in self.entries if entry.dag is not None]


def errors(conn: Connection) -> list[ImportProblem]:
    """Return every import error in force."""
    return [ImportProblem(*row) for row in conn.execute(ERRORS)]


def warnings(conn: Connection) -> list[ImportProblem]:
    """Return what authors should know of files that were taken over."""
    return [ImportProblem(*row) for row in conn.execute(WARNINGS)]


def dag_list(conn: Connection, *, inactive: bool = False) -> DagList:
    """Return the active DAGs, or with `inactive` all, and what is wrong with DAG files."""
    dags = dag_views.dags(conn, inactive=inactive)
    failed, warned = errors(conn), warnings(conn)
    files = _files(failed, warned)
    entries = [ListedDag(dag, files.get(_of(dag)) or DagFileView(*_of(dag))) for dag in dags]
    listed = {_of(dag) for dag in dags}
    entries += [ListedDag(None, file) for place, file in files.items() if place not in listed]
    return DagList(entries, failed, warned)


def _of(dag: DagView) -> tuple[str, str]:
    return dag.bundle, dag.relative_path


def _files(
    failed: Sequence[ImportProblem], warned: Sequence[ImportProblem]
) -> Mapping[tuple[str, str], DagFileView]:
    """Return the files with a problem by bundle and path, those with an import error first."""
    files = {
        (problem.bundle, problem.relative_path): DagFileView(
            problem.bundle, problem.relative_path, problem.error
        )
        for problem in failed
    }
    for problem in warned:
        place = problem.bundle, problem.relative_path
        files[place] = replace(files.get(place) or DagFileView(*place), warning=problem.error)
    return files
