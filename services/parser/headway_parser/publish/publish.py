"""Publish what a file defines, in one transaction: DAGs, versions, and where errors were."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from traceback import format_exc
from typing import Final

from sqlalchemy import Connection, Engine

from headway.db.access.guards import is_refusal
from headway.db.core import processes
from headway.db.core.engine import is_transient
from headway.db.core.processes import Identity
from headway.db.parsing import dag_registration, file_claims, files, pins
from headway.db.parsing.dag_registration import DagEntry, InForce
from headway.db.parsing.files import FileKey, ParseOutcome
from headway.db.parsing.versions import NewVersion
from headway.domain.dag.notifiers import NotifierSpec
from headway.domain.errors import FencedError, HeadwayError
from headway.runtime.daemon.loop import cause_of
from headway.runtime.daemon.seam import nothing
from headway_parser.parse.answer import ParsedFile, kept
from headway_parser.publish.bundle_notifiers import notifying
from headway_parser.publish.pace import ReparsePace
from headway_parser.publish.stability import (
    HELD,
    StabilityCheck,
    StabilityVerdict,
    judge,
    warning_of,
)
from headway_parser.publish.stored_parse import StoredParse, apart
from headway_parser.publish.versions_in_force import Found, put_in_force


@dataclass(frozen=True, slots=True)
class Published:
    """What was taken over of a file: whether anything is new, and what is to be said of it.

    Of one that is `unstable` nothing was: it is to be parsed once more.  `freed` says that DAG
    ids have come free, for which others may have failed.
    """

    error: str | None = None
    warning: str | None = None
    changed: bool = False
    unstable: bool = False
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
    unstable = [parse for parse in good if StabilityVerdict.PARSE_AGAIN in _of(parse, verdicts)]
    sure = [parse for parse in good if parse not in unstable]
    freed = _leave_out(conn, sure)
    entered = _enter(conn, sure, new_ones_paused=new_ones_paused)
    current = dag_registration.in_force(conn, entered)
    new = {dag_id for dag_id in entered if verdicts[dag_id] is StabilityVerdict.TAKE}
    new |= entered - current.keys()  # what was deleted meanwhile
    of_other_code = _of_other_code(sure, verdicts, current)
    kept = {dag_id: current[dag_id].id for dag_id in entered - new - of_other_code}
    gaps = put_in_force(conn, _found(sure, entered), kept, of_other_code)
    conflicts = _conflicts(conn, sure, entered)
    return {
        **{parse.file: Published(error=parse.result.error) for parse in parses},
        **{parse.file: Published(unstable=True) for parse in unstable},
        **{
            parse.file: Published(
                error=parse.mask(conflicts[parse.file]) if parse.file in conflicts else None,
                warning=_warning(parse, verdicts, gaps),
                changed=not (new | of_other_code).isdisjoint(parse.dag_ids),
                freed=freed,
            )
            for parse in sure
        },
    }


def _judge(conn: Connection, good: Sequence[StoredParse]) -> dict[str, StabilityVerdict]:
    found = {version.spec.dag_id: version for parse in good for version in parse.result.versions}
    if not found:
        return {}
    in_force = _in_force_here(conn, good, found)
    others = [
        found[key]
        for key, version in in_force.items()
        if version.fingerprint != found[key].fingerprint
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


def _in_force_here(
    conn: Connection, good: Sequence[StoredParse], found: Collection[str]
) -> dict[str, InForce]:
    """Return what is in force of these DAGs in their bundles: what another one had is not theirs.

    Its versions have the grants of that other bundle, though the code may be the same.
    """
    bundles = {dag_id: parse.file.bundle for parse in good for dag_id in parse.dag_ids}
    in_force = dag_registration.in_force(conn, found)
    return {dag_id: its for dag_id, its in in_force.items() if its.bundle == bundles[dag_id]}


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
    found = [DagEntry(*parse.file, new.spec) for parse in sure for new in parse.result.versions]
    return dag_registration.enter(conn, found, paused=new_ones_paused) if found else set()


def _found(sure: Sequence[StoredParse], entered: set[str]) -> Found:
    return {
        version.spec.dag_id: (parse, replace(version, commit=parse.commit))
        for parse in sure
        for version in parse.result.versions
        if version.spec.dag_id in entered
    }


def _of_other_code(
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
        warning_of(verdicts[dag_id], new, before.get(dag_id), parse.mask)
        for dag_id, new in _by_id(parse.result.versions).items()
        if verdicts[dag_id] in HELD
    ]
    missing = {gaps[dag_id] for dag_id in parse.dag_ids if dag_id in gaps}
    return parse.mask("\n".join([*said, *missing, *parse.result.notes])) or None


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


log = logging.getLogger(__name__)


_REFUSED: Final = "The database refuses what the file defines"


@dataclass(frozen=True, slots=True)
class Publisher:
    """Where a parser stores what it has parsed, and by which rules."""

    engine: Engine
    me: Identity
    pace: ReparsePace
    new_ones_paused: bool
    notifiers: Mapping[str, tuple[NotifierSpec, ...]] = field(default_factory=dict)

    def files(
        self, parses: Sequence[StoredParse], before_commit: Callable[[], None] = nothing
    ) -> dict[FileKey, Published]:
        """Store these parses, of which each is stored as a whole or not at all.

        Left out are files that another parser has taken over: nothing of them is stored.
        What cannot be stored is an error of its file, and of no other.
        """
        published: dict[FileKey, Published] = {}
        for part in apart(parses):
            published |= self._part(part, before_commit)
        return published

    def forget(self, bundle: str, paths: Sequence[str], others: Sequence[int] = ()) -> None:
        """Deactivate the DAGs of files that are gone, unless `others` have parsed them last."""
        with self.engine.begin() as conn:
            processes.confirm(conn, self.me)
            gone = files.forget(conn, bundle, paths, others)
            if gone:
                files.retry_failed(conn, gone)
        told = ",".join(paths), ",".join(gone)
        log.info("action=forget bundle=%s files=%s dags=%s", bundle, *told)

    def _part(
        self, parses: Sequence[StoredParse], before_commit: Callable[[], None]
    ) -> dict[FileKey, Published]:
        try:
            return self._at_once([self._notifying(parse) for parse in parses], before_commit)
        except FencedError:
            raise
        except Exception as error:  # whatever it is that one file defines, others go on
            if is_transient(error) or is_refusal(error):
                raise
            if len(parses) == 1:
                told = parses[0].file.path, parses[0].mask(format_exc())
                log.error("action=refuse file=%s\n%s", *told)
                return self._at_once([_refused(parses[0], error)], before_commit)
        published: dict[FileKey, Published] = {}
        for parse in parses:
            published |= self._part([parse], before_commit)
        return published

    def _notifying(self, parse: StoredParse) -> StoredParse:
        return notifying(parse, self.notifiers.get(parse.file.bundle, ()))

    def _at_once(
        self, parses: Sequence[StoredParse], before_commit: Callable[[], None]
    ) -> dict[FileKey, Published]:
        with self.engine.begin() as conn:
            processes.confirm(conn, self.me, repeatable=True)
            held = file_claims.hold(conn, self.me.id, [parse.file for parse in parses])
            ours = [parse for parse in parses if parse.file in held]
            published = publish(conn, ours, new_ones_paused=self.new_ones_paused)
            self._note(conn, ours, published)
            before_commit()
        for key, what in published.items():
            _tell(key, what)
        return published

    def _note(
        self,
        conn: Connection,
        parses: Sequence[StoredParse],
        published: Mapping[FileKey, Published],
    ) -> None:
        outcomes: dict[FileKey, ParseOutcome] = {}
        for parse in parses:
            what = published[parse.file]
            if what.unstable:
                continue
            pins.pin(conn, parse.runs, f"parser:{self.me.id}", parse.result.error)
            failed = what.error is not None
            outcomes[parse.file] = ParseOutcome(
                signature=parse.signature,
                paths=parse.paths,
                seconds=parse.seconds,
                due_in=self.pace.due_in(parse, changed=what.changed, failed=failed),
                error=what.error and kept(what.error),
                warning=what.warning and kept(what.warning),
            )
        if outcomes:
            files.parsed(conn, self.me.id, outcomes)


def _refused(parse: StoredParse, error: Exception) -> StoredParse:
    said = parse.mask(cause_of(error)).partition("\n")[0]
    ours = isinstance(error, HeadwayError)
    what = "What the file defines cannot be stored" if ours else _REFUSED
    result = ParsedFile(error=f"{what}: {said}", read=parse.result.read, mask=parse.result.mask)
    return replace(parse, result=result)


def _tell(file: FileKey, published: Published) -> None:
    name = f"{file.bundle}/{file.path}"
    if published.error is not None:
        log.warning("action=import_error file=%s error=%r", name, _last_line(published.error))
    if published.warning is not None:
        log.warning("action=warn file=%s warning=%r", name, published.warning)
    if published.changed:
        log.info("action=store_versions file=%s", name)


def _last_line(error: str) -> str:
    return error.strip().splitlines()[-1]
