"""SQL on claims of DAG files: each is parsed by one parser, and nobody's death keeps one."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, text

from headway.db.parsing.files import FileKey

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
           SET claimed = true, parse_requested = false, parser_id = :parser
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

# Why it was claimed nobody may know any more, so whoever comes first is parse_requested for it.
RELEASE = text("""
    UPDATE dag_file SET claimed = false, parse_requested = true
     WHERE parser_id = :parser AND claimed
       AND (bundle, relative_path) IN (
           SELECT * FROM unnest(CAST(:bundles AS text[]), CAST(:paths AS text[])))
""")

RELEASE_ALL = text("""
    UPDATE dag_file SET claimed = false, parse_requested = true
     WHERE parser_id = :parser AND claimed
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
