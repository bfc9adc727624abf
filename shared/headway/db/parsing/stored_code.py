"""SQL on what versions are made of: source files, manifests and task definitions, by their hash.

Each is stored once, and whoever stores it holds it until the end of the transaction, whether
it was new or not: in between it cannot be pruned, and after that its version names it.  Holders
do not exclude each other, and nothing is written for what is there, but its time twice an hour.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from json import dumps
from typing import Final

from sqlalchemy import Connection, TextClause, text

MOST_BYTES: Final = 8 * 2**20
"""Bytes of contents that are stored by one statement."""


HOLD_FILES = text("""
    SELECT hash, stored_at < now() - interval '30 minutes' AS stale
      FROM code_file
     WHERE hash = ANY (:hashes)
     ORDER BY hash
       FOR KEY SHARE
""")


# Another parser may have stored one since they were looked for.
ADD_FILES = text("""
    INSERT INTO code_file (hash, content)
    SELECT file.*
      FROM unnest(CAST(:hashes AS text[]), CAST(:contents AS bytea[])) AS file
     ORDER BY 1
        ON CONFLICT (hash) DO UPDATE SET stored_at = now()
""")


# Here and below: who else is writing the time is as good, and is not waited for.
REFRESH_FILES = text("""
    WITH stale AS MATERIALIZED (
        SELECT hash FROM code_file WHERE hash = ANY (:hashes) ORDER BY hash
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE code_file AS file SET stored_at = now() FROM stale WHERE file.hash = stale.hash
""")


HOLD_MANIFESTS = text("""
    SELECT hash, stored_at < now() - interval '30 minutes' AS stale
      FROM code_manifest
     WHERE hash = ANY (:hashes)
     ORDER BY hash
       FOR KEY SHARE
""")


ADD_MANIFESTS = text("""
    INSERT INTO code_manifest (hash, files)
    SELECT it.*
      FROM unnest(CAST(:hashes AS text[]), CAST(:files AS json[])) AS it
     ORDER BY 1
        ON CONFLICT (hash) DO UPDATE SET stored_at = now()
""")


REFRESH_MANIFESTS = text("""
    WITH stale AS MATERIALIZED (
        SELECT hash FROM code_manifest WHERE hash = ANY (:hashes) ORDER BY hash
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE code_manifest AS it SET stored_at = now() FROM stale WHERE it.hash = stale.hash
""")


HOLD_DEFINITIONS = text("""
    SELECT hash, stored_at < now() - interval '30 minutes' AS stale
      FROM task_definition
     WHERE hash = ANY (:hashes)
     ORDER BY hash
       FOR KEY SHARE
""")


ADD_DEFINITIONS = text("""
    INSERT INTO task_definition (hash, definition)
    SELECT it.*
      FROM unnest(CAST(:hashes AS text[]), CAST(:definitions AS json[])) AS it
     ORDER BY 1
        ON CONFLICT (hash) DO UPDATE SET stored_at = now()
""")


REFRESH_DEFINITIONS = text("""
    WITH stale AS MATERIALIZED (
        SELECT hash FROM task_definition WHERE hash = ANY (:hashes) ORDER BY hash
           FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE task_definition AS it SET stored_at = now() FROM stale WHERE it.hash = stale.hash
""")


def add_code(
    conn: Connection, manifests: Mapping[str, Mapping[str, str]], contents: Mapping[str, bytes]
) -> None:
    """Store source files, by content hash, and the manifests (path to hash) that name them."""
    add_files(conn, contents)
    add_manifests(conn, manifests)


def add_files(conn: Connection, contents: Mapping[str, bytes]) -> None:
    """Store source files by their content hash."""
    unknown = unknown_files(conn, contents)
    for part in _parts(unknown, contents):
        conn.execute(ADD_FILES, {"hashes": part, "contents": [contents[digest] for digest in part]})


def unknown_files(conn: Connection, hashes: Collection[str]) -> list[str]:
    """Return those of these files that are not stored, sorted; hold the others."""
    return _unknown(conn, hashes, HOLD_FILES, REFRESH_FILES)


def unknown_manifests(conn: Connection, hashes: Collection[str]) -> list[str]:
    """Return those of these manifests that are not stored, sorted; hold the others."""
    return _unknown(conn, hashes, HOLD_MANIFESTS, REFRESH_MANIFESTS)


def add_manifests(conn: Connection, manifests: Mapping[str, Mapping[str, str]]) -> None:
    """Store manifests, relative path to content hash, by their own hash."""
    unknown = unknown_manifests(conn, manifests)
    if unknown:
        files = [dumps(dict(manifests[digest])) for digest in unknown]
        conn.execute(ADD_MANIFESTS, {"hashes": unknown, "files": files})


def add_definitions(conn: Connection, definitions: Mapping[str, str]) -> None:
    """Store task definitions, each JSON, by their hash."""
    unknown = _unknown(conn, definitions, HOLD_DEFINITIONS, REFRESH_DEFINITIONS)
    if unknown:
        parameters = {"hashes": unknown, "definitions": [definitions[digest] for digest in unknown]}
        conn.execute(ADD_DEFINITIONS, parameters)


def _parts(hashes: Sequence[str], contents: Mapping[str, bytes]) -> Iterator[list[str]]:
    """Divide hashes, so that no statement has much more than `MOST_BYTES` of contents."""
    part: list[str] = []
    size = 0
    for key in hashes:
        part.append(key)
        size += len(contents[key])
        if size >= MOST_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _unknown(
    conn: Connection, hashes: Collection[str], hold: TextClause, refresh: TextClause
) -> list[str]:
    """Hold what is there, and return what is not."""
    if not hashes:
        return []
    held = {row.hash: row.stale for row in conn.execute(hold, {"hashes": list(hashes)})}
    stale = [key for key, is_stale in held.items() if is_stale]
    if stale:
        conn.execute(refresh, {"hashes": stale})
    return sorted(set(hashes) - held.keys())
