"""Take over what files define: which of their DAGs are entered, and which versions are new."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from headway.db.parsing import dag_registration, files
from headway.db.parsing.dag_registration import DagEntry, InForce
from headway.db.parsing.files import FileKey
from headway.db.parsing.versions import NewVersion
from headway_parser.doubts import HELD, StabilityCheck, StabilityVerdict, judge, warning_of
from headway_parser.enforcing import Found, put_in_force
from headway_parser.parse import StoredParse


@dataclass(frozen=True, slots=True)
class Published:
    """What was taken over of a file: whether anything is new, and what is to be said of it.

    Of one that is `doubtful` nothing was: it is to be parsed once more.  `freed` says that DAG
    ids have come free, for which others may have failed.
    """

    error: str | None = None
    warning: str | None = None
    changed: bool = False
    doubtful: bool = False
    freed: bool = False


def publish(
    conn: Connection, parses: Sequence[StoredParse], *, new_ones_paused: bool
) -> dict[FileKey, Published]:
    """Put the DAGs of files in force; of files with an error those of before stay in force.

    No DAG id may be in two of these files.  One that another file has already is an error of
    its file, whose other DAGs are taken over none the less.
    """
    good = [parse for parse in parses if parse.result.error is None]
    verdicts = _judge(conn, good)
    doubtful = [it for it in good if StabilityVerdict.PARSE_AGAIN in _of(it, verdicts)]
    sure = [it for it in good if it not in doubtful]
    freed = _leave_out(conn, sure)
    entered = _enter(conn, sure, new_ones_paused=new_ones_paused)
    current = dag_registration.in_force(conn, entered)
    new = {dag_id for dag_id in entered if verdicts[dag_id] is StabilityVerdict.TAKE}
    new |= entered - current.keys()  # what was deleted meanwhile
    overtaken = _overtaken(sure, verdicts, current)
    kept = {dag_id: current[dag_id].id for dag_id in entered - new - overtaken}
    gaps = put_in_force(conn, _found(sure, entered), kept, overtaken)
    conflicts = _conflicts(conn, sure, entered)
    return {
        **{it.file: Published(error=it.result.error) for it in parses},
        **{it.file: Published(doubtful=True) for it in doubtful},
        **{
            it.file: Published(
                error=conflicts.get(it.file),
                warning=_warning(it, verdicts, gaps),
                changed=not (new | overtaken).isdisjoint(it.dag_ids),
                freed=freed,
            )
            for it in sure
        },
    }


def _judge(conn: Connection, good: Sequence[StoredParse]) -> dict[str, StabilityVerdict]:
    found = {it.spec.dag_id: it for parse in good for it in parse.result.versions}
    if not found:
        return {}
    in_force = dag_registration.in_force(conn, found)
    others = [
        found[key] for key, it in in_force.items() if it.fingerprint != found[key].fingerprint
    ]
    past = dag_registration.past(conn, others) if others else {}
    return {
        dag_id: judge(
            new,
            in_force.get(dag_id),
            _check(parse, dag_id),
            past.get(dag_id, dag_registration.Past()),
        )
        for parse in good
        for dag_id, new in _by_id(parse.result.versions).items()
    }


def _leave_out(conn: Connection, sure: Sequence[StoredParse]) -> bool:
    """Deactivate the DAGs that these files no longer have; return whether there were any.

    This is before any is entered: one of these files may have taken a DAG over from another.
    """
    if not sure:
        return False
    freed = dag_registration.deactivate_missing(conn, {parse.file: parse.dag_ids for parse in sure})
    if freed:
        files.retry_failed(conn, freed)
    return bool(freed)


def _enter(conn: Connection, sure: Sequence[StoredParse], *, new_ones_paused: bool) -> set[str]:
    """Enter the DAGs of these files."""
    found = [DagEntry(*it.file, new.spec) for it in sure for new in it.result.versions]
    return dag_registration.enter(conn, found, paused=new_ones_paused) if found else set()


def _found(sure: Sequence[StoredParse], entered: set[str]) -> Found:
    return {
        it.spec.dag_id: (parse, replace(it, commit=parse.commit))
        for parse in sure
        for it in parse.result.versions
        if it.spec.dag_id in entered
    }


def _overtaken(
    sure: Sequence[StoredParse],
    verdicts: Mapping[str, StabilityVerdict],
    current: Mapping[str, InForce],
) -> set[str]:
    """Return the DAGs of which what is in force is of other code, though their own is held."""
    return {
        dag_id
        for parse in sure
        for dag_id, version in _by_id(parse.result.versions).items()
        if verdicts[dag_id] in HELD and dag_id in current
        if current[dag_id].manifest_hash != version.manifest_hash
    }


def _conflicts(
    conn: Connection, sure: Sequence[StoredParse], entered: set[str]
) -> dict[FileKey, str]:
    refused = {dag_id for parse in sure for dag_id in parse.dag_ids} - entered
    if not refused:
        return {}
    owners = dag_registration.owners(conn, refused)
    return {
        parse.file: "\n".join(_conflict(dag_id, parse.file, owners[dag_id]) for dag_id in theirs)
        for parse in sure
        if (theirs := [dag_id for dag_id in parse.dag_ids if dag_id in refused])
    }


def _conflict(dag_id: str, here: FileKey, owner: FileKey) -> str:
    return (
        f"The DAG id {dag_id!r} in {here.path} is taken by the file {owner.path} (bundle "
        f"{owner.bundle}), which keeps it. Rename one of the two."
    )


def _warning(
    parse: StoredParse, verdicts: Mapping[str, StabilityVerdict], gaps: Mapping[str, str]
) -> str | None:
    before = _before(parse)
    said = [
        warning_of(verdicts[dag_id], new, before.get(dag_id))
        for dag_id, new in _by_id(parse.result.versions).items()
        if verdicts[dag_id] in HELD
    ]
    missing = {gaps[dag_id] for dag_id in parse.dag_ids if dag_id in gaps}
    return "\n".join([*said, *missing, *parse.result.notes]) or None


def _of(parse: StoredParse, verdicts: Mapping[str, StabilityVerdict]) -> set[StabilityVerdict]:
    return {verdicts[dag_id] for dag_id in parse.dag_ids}


def _check(parse: StoredParse, dag_id: str) -> StabilityCheck | None:
    return None if parse.first is None else StabilityCheck(_before(parse).get(dag_id))


def _before(parse: StoredParse) -> dict[str, NewVersion]:
    return {} if parse.first is None else _by_id(parse.first.versions)


def _by_id(found: Sequence[NewVersion]) -> dict[str, NewVersion]:
    return {
        version.spec.dag_id: version for version in sorted(found, key=lambda it: it.spec.dag_id)
    }
