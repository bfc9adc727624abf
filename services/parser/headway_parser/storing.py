"""Store what a DAG file defines: everything of one file in one transaction."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from headway.db import dags, files, processes, versions
from headway.db.processes import Identity
from headway.runtime.seam import nothing
from headway_parser.answer import ParsedFile

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FileKey:
    """A DAG file: its bundle, and its path in there."""

    bundle: str
    path: str


@dataclass(frozen=True, slots=True)
class Parse:
    """One parse of a file: what came of it, how the file looked, how many seconds it took."""

    file: FileKey
    result: ParsedFile
    signature: str
    seconds: float


def store(
    engine: Engine,
    me: Identity,
    parse: Parse,
    *,
    new_ones_paused: bool,
    before_commit: Callable[[], None] = nothing,
) -> str | None:
    """Put a file's DAGs in force; after an error those of the last good parse stay in force.

    A DAG id that another file has already is an error of this file, whose other
    DAGs are taken over none the less.
    """
    with engine.begin() as conn:
        processes.confirm(conn, me)
        error = parse.result.error
        if error is None:
            error = _store_dags(conn, parse, new_ones_paused=new_ones_paused)
        files.set_error(conn, parse.file.bundle, parse.file.path, error)
        files.parsed(conn, parse.file.bundle, parse.file.path, parse.signature, parse.seconds)
        before_commit()
    if error is not None:
        log.warning("action=import_error file=%s error=%r", parse.file.path, _last_line(error))
    return error


def forget(engine: Engine, me: Identity, bundle: str, paths: list[str]) -> None:
    """Deactivate the DAGs of files that are gone."""
    with engine.begin() as conn:
        processes.confirm(conn, me)
        gone = files.forget(conn, bundle, paths)
    log.info("action=forget files=%s dags=%s", ",".join(paths), ",".join(gone))


def _store_dags(conn: Connection, parse: Parse, *, new_ones_paused: bool) -> str | None:
    """Store the DAGs in the order of their ids, so that two parsers never lock crosswise."""
    result, here = parse.result, parse.file
    versions.add_code(conn, result.manifest_hash, result.files, result.contents)
    conflicts: list[str] = []
    present: list[str] = []
    for version in sorted(result.versions, key=lambda version: version.spec.dag_id):
        spec = version.spec
        paused = spec.is_paused_upon_creation
        paused = new_ones_paused if paused is None else paused
        if not dags.store(conn, here.bundle, spec, paused=paused):
            conflicts.append(_conflict(spec.dag_id, dags.owner(conn, spec.dag_id), here))
            continue
        present.append(spec.dag_id)
        if versions.current_fingerprint(conn, spec.dag_id) != version.fingerprint:
            dags.set_version(conn, spec.dag_id, versions.add(conn, version))
            log.info("action=store_version dag=%s tasks=%d", spec.dag_id, len(spec.tasks))
    dags.deactivate_missing(conn, here.bundle, here.path, present)
    return "\n".join(conflicts) or None


def _conflict(dag_id: str, owner: tuple[str, str] | None, here: FileKey) -> str:
    assert owner is not None
    return (
        f"The DAG id {dag_id!r} in {here.path} is taken by the file {owner[1]} (bundle "
        f"{owner[0]}), which keeps it. Rename one of the two."
    )


def _last_line(error: str) -> str:
    return error.strip().splitlines()[-1]
