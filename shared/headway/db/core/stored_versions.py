"""SQL that reads DAG versions: the serialized DAG, its manifests and its files."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, text

MANIFEST = text("SELECT files FROM code_manifest WHERE hash = :hash")


MANIFESTS = text("SELECT hash, files FROM code_manifest WHERE hash = ANY (:hashes)")


CONTENTS = text("SELECT hash, content FROM code_file WHERE hash = ANY (:hashes)")


def manifest(conn: Connection, manifest_hash: str) -> dict[str, str]:
    """Return the files of a manifest: relative path to content hash."""
    files: dict[str, str] = conn.execute(MANIFEST, {"hash": manifest_hash}).scalar_one()
    return files


def manifests(conn: Connection, hashes: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the files of several manifests by the manifest's hash."""
    rows = conn.execute(MANIFESTS, {"hashes": list(hashes)})
    return {row.hash: row.files for row in rows}


def contents(conn: Connection, hashes: Collection[str]) -> dict[str, bytes]:
    """Return source files by their content hash."""
    rows = conn.execute(CONTENTS, {"hashes": list(hashes)})
    return {row.hash: bytes(row.content) for row in rows}


LOAD = text("SELECT id, serialized FROM dag_version WHERE id = ANY (:ids)")


LOAD_NAMING = text("""
    SELECT id, serialized
      FROM dag_version
     WHERE id = ANY (:ids)
       AND position(convert_to(:naming, 'UTF8') IN serialized) > 0
""")


BUNDLE = text("SELECT bundle_hash FROM dag_version WHERE id = :id")


PIECE = text("""
    SELECT substring(content FROM :start FOR :length) AS piece, length(content) AS size
      FROM code_file
     WHERE hash = :hash
""")


class Piece(NamedTuple):
    """Some bytes of a file, and the size of the whole file."""

    piece: bytes
    size: int


def load_naming(conn: Connection, ids: Sequence[int], naming: str) -> dict[int, bytes]:
    """Return the serialized DAGs of those versions that hold a text, by the version's id."""
    rows = conn.execute(LOAD_NAMING, {"ids": list(ids), "naming": naming})
    return {row.id: bytes(row.serialized) for row in rows}


def load(conn: Connection, ids: Sequence[int]) -> dict[int, bytes]:
    """Return the serialized DAGs of these versions, by version id."""
    return {row.id: bytes(row.serialized) for row in conn.execute(LOAD, {"ids": list(ids)})}


def bundle_hash(conn: Connection, version_id: int) -> str | None:
    """Return the manifest of what the bundle of a version had besides; None if nobody knows.

    It may change as long as files are missing from it.
    """
    found: str | None = conn.execute(BUNDLE, {"id": version_id}).scalar_one()
    return found


def piece(conn: Connection, content_hash: str, start: int, length: int) -> Piece:
    """Return so many bytes of a source file from there on, and how many it has."""
    row = conn.execute(PIECE, {"hash": content_hash, "start": start + 1, "length": length}).one()
    return Piece(bytes(row.piece), row.size)
