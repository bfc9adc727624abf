"""Store what a DAG file defines: everything of one file in one transaction."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, Engine

from headway.db import entries, files, pins, processes, versions
from headway.db.entries import InForce
from headway.db.files import FileKey, Outcome
from headway.db.processes import Identity
from headway.db.versions import NewVersion
from headway.runtime.seam import nothing
from headway_parser.answer import ParsedFile
from headway_parser.doubts import Verdict, judge, warning_of
from headway_parser.pace import Pace

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parse:
    """One parse of a file: what came of it, and what is to be noted of it.

    `first` is the parse that this one is the check of; `runs` are those that wait for it;
    `failures` is how often the file has failed before, in a row.
    """

    file: FileKey
    result: ParsedFile
    signature: str
    paths: Sequence[str]
    seconds: float
    failures: int = 0
    commit: str | None = None
    first: ParsedFile | None = None
    runs: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a parse.

    With `doubtful` nothing is stored until the file was parsed once more; without `held`
    nothing is, because another parser has taken the file over.
    """

    error: str | None = None
    doubtful: bool = False
    held: bool = True


class _NotStoredError(Exception):
    """Take back what the transaction has done."""

    def __init__(self, outcome: Stored) -> None:
        self.outcome = outcome


def store(
    engine: Engine,
    me: Identity,
    parse: Parse,
    pace: Pace,
    *,
    new_ones_paused: bool,
    before_commit: Callable[[], None] = nothing,
) -> Stored:
    """Put a file's DAGs in force; after an error those of the last good parse stay in force.

    A DAG id that another file has already is an error of this file, whose other
    DAGs are taken over none the less.
    """
    try:
        with engine.begin() as conn:
            processes.confirm(conn, me, repeatable=True)
            taken = _take_over(conn, parse, new_ones_paused=new_ones_paused)
            pins.pin(conn, parse.runs, f"parser:{me.id}", taken.error or taken.warning)
            outcome = Outcome(
                signature=parse.signature,
                paths=parse.paths,
                seconds=parse.seconds,
                due_in=pace.due_in(parse, changed=taken.changed, failed=taken.error is not None),
                error=taken.error,
                warning=taken.warning,
            )
            if not files.parsed(conn, me.id, parse.file, outcome):
                raise _NotStoredError(Stored(held=False))
            before_commit()
    except _NotStoredError as reason:
        return reason.outcome
    _tell(parse.file, taken)
    return Stored(taken.error)


def forget(
    engine: Engine, me: Identity, bundle: str, paths: Sequence[str], others: Sequence[int] = ()
) -> None:
    """Deactivate the DAGs of files that are gone, but of those that `others` have parsed last."""
    with engine.begin() as conn:
        processes.confirm(conn, me)
        gone = files.forget(conn, bundle, paths, others)
        if gone:
            files.retry_failed(conn)
    log.info("action=forget bundle=%s files=%s dags=%s", bundle, ",".join(paths), ",".join(gone))


@dataclass(frozen=True, slots=True)
class _Taken:
    """What was taken over: whether anything of it is new, and what is to be said of it."""

    error: str | None = None
    warning: str | None = None
    changed: bool = False


def _take_over(conn: Connection, parse: Parse, *, new_ones_paused: bool) -> _Taken:
    result, here = parse.result, parse.file
    if result.error is not None:
        return _Taken(result.error)
    found = sorted(result.versions, key=lambda version: version.spec.dag_id)
    specs = [version.spec for version in found]
    in_force = entries.enter(conn, here.bundle, here.path, specs, paused=new_ones_paused)
    ours = [version for version in found if version.spec.dag_id in in_force]
    verdicts = _judge(conn, ours, in_force, parse.first)
    if Verdict.PARSE_AGAIN in verdicts.values():
        raise _NotStoredError(Stored(doubtful=True))
    wanted = [it for it in ours if verdicts[it.spec.dag_id] is Verdict.TAKE]
    _put_in_force(conn, wanted, parse)
    if entries.deactivate_missing(conn, here.bundle, here.path, list(in_force)):
        files.retry_failed(conn)
    return _Taken(
        _conflicts(conn, found, in_force, here),
        _warnings(ours, verdicts, parse.first),
        bool(wanted),
    )


def _judge(
    conn: Connection,
    found: Sequence[NewVersion],
    in_force: Mapping[str, InForce],
    first: ParsedFile | None,
) -> dict[str, Verdict]:
    before = {} if first is None else {it.spec.dag_id: it for it in first.versions}
    recent = entries.recent(conn, [it.spec.dag_id for it in found]) if before else {}
    return {
        it.spec.dag_id: judge(
            it,
            in_force[it.spec.dag_id],
            before.get(it.spec.dag_id),
            recent.get((it.spec.dag_id, it.manifest_hash), 0),
        )
        for it in found
    }


def _put_in_force(conn: Connection, wanted: Sequence[NewVersion], parse: Parse) -> None:
    """Store new versions.  A shape that the DAG has had before is that version again."""
    stored = False
    for version in wanted:
        dag_id = version.spec.dag_id
        version_id = versions.find(conn, dag_id, version.fingerprint)
        if version_id is None:
            if not stored:
                result = parse.result
                versions.add_code(conn, result.manifest_hash, result.files, result.contents)
                stored = True
            version_id = versions.add(conn, replace(version, commit=parse.commit))
        entries.put_in_force(conn, dag_id, version_id)


def _conflicts(
    conn: Connection, found: Sequence[NewVersion], in_force: Mapping[str, InForce], here: FileKey
) -> str | None:
    refused = [it.spec.dag_id for it in found if it.spec.dag_id not in in_force]
    if not refused:
        return None
    owners = entries.owners(conn, refused)
    return "\n".join(
        f"The DAG id {dag_id!r} in {here.path} is taken by the file {owners[dag_id][1]} (bundle "
        f"{owners[dag_id][0]}), which keeps it. Rename one of the two."
        for dag_id in refused
    )


def _warnings(
    found: Sequence[NewVersion], verdicts: Mapping[str, Verdict], first: ParsedFile | None
) -> str | None:
    before = {} if first is None else {it.spec.dag_id: it for it in first.versions}
    said = [
        warning_of(verdicts[it.spec.dag_id], it, before[it.spec.dag_id])
        for it in found
        if verdicts[it.spec.dag_id] in (Verdict.FLAPS, Verdict.DRIFTS)
    ]
    return "\n".join(said) or None


def _tell(file: FileKey, taken: _Taken) -> None:
    name = f"{file.bundle}/{file.path}"
    if taken.error is not None:
        log.warning("action=import_error file=%s error=%r", name, _last_line(taken.error))
    if taken.warning is not None:
        log.warning("action=warn file=%s warning=%r", name, taken.warning)
    if taken.changed:
        log.info("action=store_versions file=%s", name)


def _last_line(error: str) -> str:
    return error.strip().splitlines()[-1]
