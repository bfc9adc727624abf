"""Parses that a test makes up, and has stored."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Engine, text

from headway.db.core.processes import Identity
from headway.db.parsing import file_claims, files
from headway.db.parsing.files import FileKey
from headway.db.parsing.versions import NewVersion
from headway.domain.dag.spec import DagSpec
from headway.serialization import codec
from headway.serialization.manifest import content_hash, manifest_hash
from headway_parser.parse.answer import ParsedFile
from headway_parser.publish.pace import ReparsePace
from headway_parser.publish.publish import Published, Publisher
from headway_parser.publish.stored_parse import StoredParse

PACE = ReparsePace(dynamic=30, unchanged=3600)


def parse(
    path: str,
    *found: DagSpec,
    code: bytes = b"code",
    error: str | None = None,
    bundle: str = "main",
) -> StoredParse:
    specs = [replace(spec, relative_path=path) for spec in found]
    manifest = {path: content_hash(code)}
    identity = manifest_hash(manifest)
    encoded = [(spec, codec.encode(spec)) for spec in specs]
    versions = tuple(
        NewVersion(spec, data, codec.fingerprint(data, identity), identity)
        for spec, data in encoded
    )
    result = ParsedFile(versions, manifest, {content_hash(code): code}, error)
    return StoredParse(
        file=FileKey(bundle, path),
        result=result,
        signature=f"signature of {path}",
        paths=sorted(manifest),
        seconds=0.5,
    )


def claim(engine: Engine, me: Identity, *paths: str, bundle: str = "main") -> set[str]:
    """Claim these files as they are stored; return those that were got."""
    with engine.begin() as conn:
        stored, others = files.board(conn, [bundle]), file_claims.parsers(conn, 15) - {me.id}
        keys = [FileKey(bundle, path) for path in paths]
        seen = {key: stored[key].signature if key in stored else "" for key in keys}
        return {key.path for key in file_claims.claim(conn, me.id, seen, others)}


def store_of(engine: Engine, me: Identity, *, paused: bool = False) -> Publisher:
    return Publisher(engine, me, PACE, paused)


def take_over(engine: Engine, me: Identity, *parses: StoredParse) -> list[Published]:
    """Claim and store these parses, one after the other."""
    done = []
    for each in parses:
        claim(engine, me, each.file.path, bundle=each.file.bundle)
        done.append(store_of(engine, me).files([each])[each.file])
    return done


def versions(engine: Engine) -> Sequence[tuple[str, int]]:
    numbers = text("SELECT dag_id, number FROM dag_version ORDER BY 1, 2")
    with engine.connect() as conn:
        return [(row.dag_id, row.number) for row in conn.execute(numbers)]
