"""SQL on DAG files: when each was parsed, and what was wrong with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, text

PARSED = text("""
    INSERT INTO dag_file (bundle, relative_path, signature, seconds)
    VALUES (:bundle, :relative_path, :signature, :seconds)
        ON CONFLICT (bundle, relative_path) DO UPDATE
       SET signature = excluded.signature, seconds = excluded.seconds, parsed_at = now()
""")

SET_ERROR = text("""
    INSERT INTO import_error (bundle, relative_path, error)
    VALUES (:bundle, :relative_path, :error)
        ON CONFLICT (bundle, relative_path) DO UPDATE
       SET error = excluded.error, at = now()
""")

CLEAR_ERROR = text("""
    DELETE FROM import_error WHERE bundle = :bundle AND relative_path = :relative_path
""")

SIGNATURES = text("SELECT relative_path, signature FROM dag_file WHERE bundle = :bundle")

FORGET = text("""
    WITH gone AS (
        DELETE FROM dag_file WHERE bundle = :bundle AND relative_path = ANY (:paths)
    ), mended AS (
        DELETE FROM import_error WHERE bundle = :bundle AND relative_path = ANY (:paths)
    )
    UPDATE dag SET active = false
     WHERE bundle = :bundle AND relative_path = ANY (:paths) AND active
 RETURNING dag_id
""")

ERRORS = text("SELECT bundle, relative_path, error, at FROM import_error ORDER BY 1, 2")


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """Why a DAG file could not be taken over; what it defined before stays in force."""

    bundle: str
    relative_path: str
    error: str
    at: datetime


def parsed(
    conn: Connection, bundle: str, relative_path: str, signature: str, seconds: float
) -> None:
    """Note that the file, as `signature` tells it, was parsed in so many seconds."""
    conn.execute(
        PARSED,
        {
            "bundle": bundle,
            "relative_path": relative_path,
            "signature": signature,
            "seconds": seconds,
        },
    )


def set_error(conn: Connection, bundle: str, relative_path: str, error: str | None) -> None:
    """Store why the file could not be taken over; None when it could."""
    where = {"bundle": bundle, "relative_path": relative_path}
    if error is None:
        conn.execute(CLEAR_ERROR, where)
    else:
        conn.execute(SET_ERROR, {**where, "error": error})


def signatures(conn: Connection, bundle: str) -> dict[str, str]:
    """Return what every known file of the bundle looked like when it was last parsed."""
    return {
        row.relative_path: row.signature for row in conn.execute(SIGNATURES, {"bundle": bundle})
    }


def forget(conn: Connection, bundle: str, paths: Sequence[str]) -> list[str]:
    """Forget files that are gone and deactivate their DAGs; return the ids of those."""
    return list(conn.scalars(FORGET, {"bundle": bundle, "paths": list(paths)}))


def errors(conn: Connection) -> list[ImportProblem]:
    """Return every import error in force."""
    return [ImportProblem(*row) for row in conn.execute(ERRORS)]
