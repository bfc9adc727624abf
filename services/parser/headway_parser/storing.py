"""Store what DAG files define: everything of one file in one transaction."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from sqlalchemy import Connection, Engine

from headway.db.access.guards import is_refusal
from headway.db.core import processes
from headway.db.core.engine import is_transient
from headway.db.core.processes import Identity
from headway.db.parsing import file_claims, files, pins
from headway.db.parsing.files import FileKey, ParseOutcome
from headway.domain.dag.notifiers import NotifierSpec
from headway.domain.errors import FencedError, HeadwayError
from headway.runtime.daemon.loop import cause_of
from headway.runtime.daemon.seam import nothing
from headway_parser.answer import ParsedFile, kept
from headway_parser.notifying import notifying
from headway_parser.pace import ReparsePace
from headway_parser.parse import StoredParse, apart
from headway_parser.taking import Published, publish

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
        taken: dict[FileKey, Published] = {}
        for part in apart(parses):
            taken |= self._part(part, before_commit)
        return taken

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
            return self._at_once([self._notifying(it) for it in parses], before_commit)
        except FencedError:
            raise
        except Exception as error:  # whatever it is that one file defines, others go on
            if is_transient(error) or is_refusal(error):
                raise
            if len(parses) == 1:
                log.exception("action=refuse file=%s", parses[0].file.path)
                return self._at_once([_refused(parses[0], error)], before_commit)
        taken: dict[FileKey, Published] = {}
        for parse in parses:
            taken |= self._part([parse], before_commit)
        return taken

    def _notifying(self, parse: StoredParse) -> StoredParse:
        return notifying(parse, self.notifiers.get(parse.file.bundle, ()))

    def _at_once(
        self, parses: Sequence[StoredParse], before_commit: Callable[[], None]
    ) -> dict[FileKey, Published]:
        with self.engine.begin() as conn:
            processes.confirm(conn, self.me, repeatable=True)
            held = file_claims.hold(conn, self.me.id, [parse.file for parse in parses])
            ours = [parse for parse in parses if parse.file in held]
            taken = publish(conn, ours, new_ones_paused=self.new_ones_paused)
            self._note(conn, ours, taken)
            before_commit()
        for key, what in taken.items():
            _tell(key, what)
        return taken

    def _note(
        self, conn: Connection, parses: Sequence[StoredParse], taken: Mapping[FileKey, Published]
    ) -> None:
        outcomes: dict[FileKey, ParseOutcome] = {}
        for parse in parses:
            what = taken[parse.file]
            if what.doubtful:
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
    said = cause_of(error).partition("\n")[0]
    ours = isinstance(error, HeadwayError)
    what = "What the file defines cannot be stored" if ours else _REFUSED
    result = ParsedFile(error=f"{what}: {said}")
    return replace(parse, result=replace(result, read=parse.result.read))


def _tell(file: FileKey, taken: Published) -> None:
    name = f"{file.bundle}/{file.path}"
    if taken.error is not None:
        log.warning("action=import_error file=%s error=%r", name, _last_line(taken.error))
    if taken.warning is not None:
        log.warning("action=warn file=%s warning=%r", name, taken.warning)
    if taken.changed:
        log.info("action=store_versions file=%s", name)


def _last_line(error: str) -> str:
    return error.strip().splitlines()[-1]
