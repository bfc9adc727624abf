"""SQL that lists the import errors and the warnings of DAG files."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

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


def errors(conn: Connection) -> list[ImportProblem]:
    """Return every import error in force."""
    return [ImportProblem(*row) for row in conn.execute(ERRORS)]


def warnings(conn: Connection) -> list[ImportProblem]:
    """Return what authors should know of files that were taken over."""
    return [ImportProblem(*row) for row in conn.execute(WARNINGS)]
