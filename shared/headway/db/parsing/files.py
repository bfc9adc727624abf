"""SQL on DAG files: who parses which, when each was parsed, and with what outcome."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import NamedTuple

from sqlalchemy import Connection, text

BOARD = text("""
    SELECT file.bundle, file.relative_path, signature, paths,
           coalesce(due_at <= now(), false) AS due, parse_requested, claimed, parser_id, failures,
           lacking.relative_path IS NOT NULL AS incomplete
      FROM dag_file AS file
      LEFT JOIN (SELECT DISTINCT dag.bundle, dag.relative_path
                   FROM dag_version AS version
                   JOIN dag ON dag.version_id = version.id
                  WHERE NOT version.bundle_complete AND dag.active) AS lacking
        ON (lacking.bundle, lacking.relative_path) = (file.bundle, file.relative_path)
     WHERE file.bundle = ANY (:bundles)
""")


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


# Where its error speaks of a DAG id, a file may have failed for that.
RETRY_FAILED = text("""
    WITH failed AS MATERIALIZED (
        SELECT bundle, relative_path
          FROM import_error
          JOIN dag_file AS file USING (bundle, relative_path)
         WHERE EXISTS (SELECT FROM unnest(CAST(:dag_ids AS text[])) AS freed
                        WHERE position(freed IN error) > 0)
         ORDER BY bundle, relative_path
           FOR NO KEY UPDATE OF file SKIP LOCKED
    )
    UPDATE dag_file AS file
       SET due_at = now()
      FROM failed
     WHERE (file.bundle, file.relative_path) = (failed.bundle, failed.relative_path)
""")


class FileKey(NamedTuple):
    """A DAG file: its bundle, and its path in there."""

    bundle: str
    path: str


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as it is stored; `due` when its time for another parse has come.

    `parser_id` is who parses it while it is `claimed`, else who did so last; `failures` is how
    often it failed in a row.  `incomplete` says that a version in force of one of its DAGs lacks
    files of the bundle.
    """

    signature: str
    paths: tuple[str, ...]
    due: bool
    parse_requested: bool
    claimed: bool
    parser_id: int | None
    failures: int
    incomplete: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOutcome:
    """How the parse of a file ended; it is parsed again `due_in` seconds later at the latest."""

    signature: str
    paths: Sequence[str]
    seconds: float
    due_in: float
    error: str | None = None
    warning: str | None = None


def board(conn: Connection, bundles: Collection[str]) -> dict[FileKey, FileRow]:
    """Return every known file of these bundles."""
    # By position: by name it costs more, and it is done for every file at every look.
    found = conn.execute(BOARD, {"bundles": list(bundles)})
    return {
        FileKey(bundle, path): FileRow(signature, tuple(paths), *rest)
        for bundle, path, signature, paths, *rest in found
    }


def parsed(conn: Connection, parser: int, outcomes: Mapping[FileKey, ParseOutcome]) -> set[FileKey]:
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


def retry_failed(conn: Connection, freed: Collection[str]) -> None:
    """Have the files parsed again that may have failed because these DAG ids were taken."""
    conn.execute(RETRY_FAILED, {"dag_ids": list(freed)})
