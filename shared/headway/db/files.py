"""SQL on DAG files: who parses which, when each was parsed, and what was wrong with it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from json import dumps
from typing import NamedTuple

from sqlalchemy import Connection, text

BOARD = text("""
    SELECT bundle, relative_path, signature, paths, coalesce(due_at <= now(), false) AS due,
           asked, claimed, parser_id, failures
      FROM dag_file
     WHERE bundle = ANY (:bundles)
""")

# While the database was away nobody could beat: that time is held against no one.
PARSERS = text("""
    SELECT process.id
      FROM process
      JOIN process_beat AS beat ON beat.process_id = process.id
     WHERE process.kind = 'parser' AND process.ended_at IS NULL
       AND greatest(beat.beat_at, pg_postmaster_start_time())
           >= now() - make_interval(secs => :threshold)
""")

# A file is claimed as this parser has seen it: who comes second finds another signature, or
# the claim of who came first.  The row is locked, and looked at again, in one statement.
CLAIM = text("""
    WITH wanted AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:bundles AS text[]), CAST(:paths AS text[]),
                             CAST(:signatures AS text[])) AS it (bundle, relative_path, signature)
    ), free AS MATERIALIZED (
        SELECT file.bundle, file.relative_path
          FROM wanted
          JOIN dag_file AS file USING (bundle, relative_path)
         WHERE file.signature = wanted.signature
           AND NOT (file.claimed AND file.parser_id = ANY (CAST(:others AS bigint[])))
         ORDER BY file.bundle, file.relative_path
           FOR NO KEY UPDATE OF file SKIP LOCKED
    ), claimed AS (
        UPDATE dag_file AS file
           SET claimed = true, asked = false, parser_id = :parser
          FROM free
         WHERE (file.bundle, file.relative_path) = (free.bundle, free.relative_path)
     RETURNING file.bundle, file.relative_path
    ), entered AS (
        INSERT INTO dag_file (bundle, relative_path, claimed, parser_id)
        SELECT bundle, relative_path, true, :parser
          FROM wanted
         WHERE signature = ''
         ORDER BY bundle, relative_path
            ON CONFLICT DO NOTHING
     RETURNING bundle, relative_path
    )
    SELECT * FROM claimed UNION ALL SELECT * FROM entered
""")

RELEASE = text("""
    UPDATE dag_file SET claimed = false
     WHERE parser_id = :parser AND claimed
       AND (bundle, relative_path) IN (
           SELECT * FROM unnest(CAST(:bundles AS text[]), CAST(:paths AS text[])))
""")

RELEASE_ALL = text("UPDATE dag_file SET claimed = false WHERE parser_id = :parser AND claimed")

# Of claims that another parser has taken over nothing is written.
PARSED = text("""
    WITH it AS MATERIALIZED (
        SELECT *
          FROM unnest(CAST(:bundles AS text[]), CAST(:relative_paths AS text[]),
                      CAST(:signatures AS text[]), CAST(:paths AS json[]),
                      CAST(:seconds AS float8[]), CAST(:due_in AS float8[]),
                      CAST(:errors AS text[]), CAST(:warnings AS text[]))
               AS it (bundle, relative_path, signature, paths, seconds, due_in, error, warning)
    ), file AS (
        UPDATE dag_file AS file
           SET claimed = false, signature = it.signature,
               paths = ARRAY(SELECT json_array_elements_text(it.paths)),
               seconds = it.seconds, parsed_at = now(),
               due_at = now() + make_interval(secs => it.due_in),
               failures = CASE WHEN it.error IS NULL THEN 0 ELSE failures + 1 END,
               warning = it.warning
          FROM it
         WHERE (file.bundle, file.relative_path) = (it.bundle, it.relative_path)
           AND claimed AND parser_id = :parser
     RETURNING file.bundle, file.relative_path, it.error
    ), mended AS (
        DELETE FROM import_error AS old
         USING file
         WHERE file.error IS NULL
           AND (old.bundle, old.relative_path) = (file.bundle, file.relative_path)
    ), broken AS (
        INSERT INTO import_error (bundle, relative_path, error)
        SELECT bundle, relative_path, error FROM file WHERE error IS NOT NULL
         ORDER BY bundle, relative_path
            ON CONFLICT (bundle, relative_path) DO UPDATE
           SET error = excluded.error, at = now()
    )
    SELECT bundle, relative_path FROM file
""")

# In a statement of its own, and in order: who waits finds what the one before has left.
HOLD = text("""
    SELECT bundle, relative_path
      FROM dag_file
     WHERE (bundle, relative_path) IN (
           SELECT * FROM unnest(CAST(:bundles AS text[]), CAST(:paths AS text[])))
       AND claimed AND parser_id = :parser
     ORDER BY bundle, relative_path
       FOR NO KEY UPDATE
""")

FORGET = text("""
    WITH gone AS (
        DELETE FROM dag_file
         WHERE bundle = :bundle AND relative_path = ANY (:paths)
           AND NOT coalesce(parser_id = ANY (CAST(:others AS bigint[])), false)
     RETURNING relative_path
    ), mended AS (
        DELETE FROM import_error
         WHERE bundle = :bundle AND relative_path IN (SELECT relative_path FROM gone)
    )
    UPDATE dag SET active = false
     WHERE bundle = :bundle AND relative_path IN (SELECT relative_path FROM gone) AND active
 RETURNING dag_id
""")

# What failed may have failed for a DAG id that has just come free.
RETRY_FAILED = text("""
    UPDATE dag_file AS file
       SET due_at = now()
      FROM import_error AS error
     WHERE (file.bundle, file.relative_path) = (error.bundle, error.relative_path)
""")

ERRORS = text("SELECT bundle, relative_path, error, at FROM import_error ORDER BY 1, 2")

WARNINGS = text("""
    SELECT bundle, relative_path, warning, parsed_at FROM dag_file
     WHERE warning IS NOT NULL
     ORDER BY 1, 2
""")


class FileKey(NamedTuple):
    """A DAG file: its bundle, and its path in there."""

    bundle: str
    path: str


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
class Row:
    """A file as it is stored; `due` when its time for another parse has come.

    `parser_id` is who parses it while it is `claimed`, else who did so last; `failures` is how
    often it failed in a row.
    """

    signature: str
    paths: tuple[str, ...]
    due: bool
    asked: bool
    claimed: bool
    parser_id: int | None
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How the parse of a file ended; it is parsed again `due_in` seconds later at the latest."""

    signature: str
    paths: Sequence[str]
    seconds: float
    due_in: float
    error: str | None = None
    warning: str | None = None


def board(conn: Connection, bundles: Collection[str]) -> dict[FileKey, Row]:
    """Return every known file of these bundles."""
    return {
        FileKey(row.bundle, row.relative_path): Row(
            row.signature,
            tuple(row.paths),
            row.due,
            row.asked,
            row.claimed,
            row.parser_id,
            row.failures,
        )
        for row in conn.execute(BOARD, {"bundles": list(bundles)})
    }


def parsers(conn: Connection, threshold: float) -> frozenset[int]:
    """Return the parsers that have beaten within `threshold` seconds."""
    return frozenset(conn.scalars(PARSERS, {"threshold": threshold}))


def claim(
    conn: Connection, parser: int, seen: Mapping[FileKey, str], others: Collection[int]
) -> set[FileKey]:
    """Claim files that this parser has seen stored with these signatures; return those it got.

    The signature of a file that is not stored yet is ''.  What one of the `others` has claimed
    stays theirs.
    """
    rows = conn.execute(
        CLAIM,
        {
            "bundles": [key.bundle for key in seen],
            "paths": [key.path for key in seen],
            "signatures": list(seen.values()),
            "parser": parser,
            "others": list(others),
        },
    )
    return {FileKey(row.bundle, row.relative_path) for row in rows}


def release(conn: Connection, parser: int, keys: Sequence[FileKey]) -> None:
    """Give up these claims of a parser."""
    parameters = {
        "parser": parser,
        "bundles": [key.bundle for key in keys],
        "paths": [key.path for key in keys],
    }
    conn.execute(RELEASE, parameters)


def release_all(conn: Connection, parser: int) -> None:
    """Give up all that a parser has claimed."""
    conn.execute(RELEASE_ALL, {"parser": parser})


def hold(conn: Connection, parser: int, keys: Collection[FileKey]) -> set[FileKey]:
    """Lock those of these files that the parser has claimed still, and return them."""
    parameters = {
        "parser": parser,
        "bundles": [key.bundle for key in keys],
        "paths": [key.path for key in keys],
    }
    return {FileKey(row.bundle, row.relative_path) for row in conn.execute(HOLD, parameters)}


def parsed(conn: Connection, parser: int, outcomes: Mapping[FileKey, Outcome]) -> set[FileKey]:
    """Note how claimed files were parsed; return those, for others may have taken some over."""
    ends = list(outcomes.values())
    rows = conn.execute(
        PARSED,
        {
            "parser": parser,
            "bundles": [key.bundle for key in outcomes],
            "relative_paths": [key.path for key in outcomes],
            "signatures": [end.signature for end in ends],
            "paths": [dumps(list(end.paths)) for end in ends],
            "seconds": [end.seconds for end in ends],
            "due_in": [end.due_in for end in ends],
            "errors": [end.error for end in ends],
            "warnings": [end.warning for end in ends],
        },
    )
    return {FileKey(row.bundle, row.relative_path) for row in rows}


def forget(
    conn: Connection, bundle: str, paths: Sequence[str], others: Collection[int] = ()
) -> list[str]:
    """Forget files that are gone and deactivate their DAGs; return the ids of those.

    A file that one of the `others` has parsed last is left to them.
    """
    parameters = {"bundle": bundle, "paths": list(paths), "others": list(others)}
    return list(conn.scalars(FORGET, parameters))


def retry_failed(conn: Connection) -> None:
    """Have the files with an error parsed again, because a DAG id has come free."""
    conn.execute(RETRY_FAILED)


def errors(conn: Connection) -> list[ImportProblem]:
    """Return every import error in force."""
    return [ImportProblem(*row) for row in conn.execute(ERRORS)]


def warnings(conn: Connection) -> list[ImportProblem]:
    """Return what authors should know of files that were taken over."""
    return [ImportProblem(*row) for row in conn.execute(WARNINGS)]
