"""The worker's dealings with the database, one transaction each.

Nothing here may be called from the thread that watches the attempts: the database
may be slow or away, and attempts must be stopped in time even then.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from headway.db.core import processes, stored_versions
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.engine import is_transient, reader
from headway.db.core.notices import CALLBACK, SCHEDULER, Notice, nobody
from headway.db.core.processes import Identity
from headway.db.core.stored_versions import Piece
from headway.db.execution import (
    attempts,
    callbacks,
    handles,
    leases,
    other_runs,
    prior_runs,
    run_requests,
    spark_work,
    state_store,
    xcoms,
)
from headway.db.execution.attempts import Claimed, Report
from headway.db.execution.callback_claims import ClaimedCallback
from headway.db.execution.spark_work import PriorAttempt, SparkNews
from headway.domain.arguments import JsonValue
from headway.domain.dag.run_request import MOST_REQUESTS, RunAnswer, RunWanted
from headway.domain.dag.spec import DagSpec, TaskSpec
from headway.domain.errors import ConflictError, HeadwayError, RequestError
from headway.domain.interval import PriorRun
from headway.domain.states import Outcome, RunState
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.database_clock import DatabaseClock
from headway.runtime.daemon.loop import cause_of
from headway.runtime.settings.worker import WorkerSettings
from headway.sdk.harness.execution import Result
from headway.serialization import codec
from headway_worker.database.code import CodeCache
from headway_worker.database.items import MappedItems
from headway_worker.protocol.supply import Code
from headway_worker.supervision.lease_keeper import Renewal
from headway_worker.supervision.outcome import report_of

log = logging.getLogger(__name__)

LONGEST_PIECE = 4 * 2**20
"""Bytes of a content that an attempt is sent at a time."""

MOST_DAGS = 1000
"""Versions of DAGs that are held in memory; the one that came first goes first."""

_UNPREPARED = HeadwayError, OSError, SQLAlchemyError, KeyError
"""Errors for which an attempt that was claimed cannot be prepared."""


@dataclass(frozen=True, slots=True)
class AttemptWork:
    """A claimed attempt with the task to run, and its version's code."""

    claimed: Claimed
    dag: DagSpec
    task: TaskSpec
    code: Code

    @property
    def name(self) -> str:
        """What the log calls it."""
        its = self.claimed
        attempt = its.key.attempt
        return f"dag={its.dag_id} run={its.run_id} task={its.task_id} attempt={attempt}"


def nothing_to_say() -> None:
    """Have nothing to say of the machine."""


def untraced(_ended: Collection[AttemptKey]) -> None:
    """End attempts that nobody traces."""


@dataclass(slots=True)
class WorkerDatabase:
    """Claim, renew, report; and what tasks ask for.

    `look` tells what the machine has left, when that is news.  A worker that is `draining`
    says so with the next renewal.  `traced` hears of attempts whose end the database has.
    """

    engine: Engine
    me: Identity
    settings: WorkerSettings
    code: CodeCache
    notify: Callable[[Notice], None] = nobody
    look: Callable[[], Mapping[str, JsonValue] | None] = nothing_to_say
    draining: bool = False
    traced: Callable[[Collection[AttemptKey]], None] = untraced
    clock: DatabaseClock = field(default_factory=lambda: DatabaseClock(SystemClock()))
    items: MappedItems = field(init=False)
    _dags: dict[int, DagSpec] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.items = MappedItems(self.engine)

    @property
    def slots(self) -> int:
        """How many attempts may run at a time."""
        return self.settings.slots

    def any_queued(self) -> bool:
        """Whether there is anything to claim; it may be another worker's in a moment."""
        with reader(self.engine).connect() as conn:
            return attempts.any_queued(conn, self.settings.queues)

    def claim(self, free_slots: int) -> list[AttemptWork]:
        """Take queued attempts into free slots.  One that cannot be prepared fails by itself."""
        with self.engine.begin() as conn:
            processes.confirm(conn, self.me)
            claimed = attempts.claim(
                conn, self.me, self.settings.queues, free_slots, self.settings.lease_duration
            )
        self._load(claimed)
        prepared = [self._prepare(each) for each in claimed]
        return [work for work in prepared if work is not None]

    def renew(self, keys: Sequence[AttemptKey]) -> Renewal[AttemptKey]:
        """Say that this worker is alive, and extend the leases of its attempts."""
        with self.engine.begin() as conn:
            before = self.clock.own.now()
            beat = processes.beat_worker(conn, self.me, self.look(), self.clock.skew)
            self.clock.compare(before, beat.now)
            drain = beat.drain
            if self.draining and not drain:
                drain = processes.drain(conn, self.me.id)
            seconds = self.settings.lease_duration
            return Renewal(leases.renew(conn, keys, seconds) if keys else {}, drain)

    def report(self, reports: Sequence[Report]) -> None:
        """End attempts, or leave them to others in their place.

        One that was given away meanwhile is refused, which is only logged.
        """
        with self.engine.begin() as conn:
            processes.confirm(conn, self.me)
            ended = [report for report in reports if report.left is None]
            accepted = set(attempts.report(conn, ended))
            for report in ended:
                if report.key in accepted:
                    continue
                if attempts.reported(conn, report.key) is not report.outcome:
                    log.warning(
                        "action=refused task_instance=%d attempt=%d outcome=%s: it is no longer "
                        "this worker's",
                        report.key.task_instance_id,
                        report.key.attempt,
                        report.outcome,
                    )
        self.traced(accepted)
        self._give_up([report for report in reports if report.left is not None])
        self.notify(SCHEDULER)
        if any(report.callbacks for report in reports):
            self.notify(CALLBACK)

    def pull_xcom(
        self,
        claimed: Claimed | ClaimedCallback,
        task_id: str,
        key: str,
        map_index: int = -1,
        of: tuple[str, str] | None = None,
    ) -> tuple[JsonValue] | None:
        """Return what a task of the run, or `of` another, left, in a tuple; None when nothing."""
        with reader(self.engine).connect() as conn:
            run = _run(conn, claimed, of)
            return None if run is None else xcoms.pull(conn, run, task_id, key, map_index)

    def pull_xcoms(
        self,
        claimed: Claimed | ClaimedCallback,
        task_id: str,
        key: str,
        after: int,
        of: tuple[str, str] | None = None,
    ) -> dict[int, JsonValue]:
        """Return what instances of a mapped task left, by map_index: the next ones after that."""
        with reader(self.engine).connect() as conn:
            run = _run(conn, claimed, of)
            return {} if run is None else xcoms.pull_page(conn, run, task_id, key, after)

    def latest_run(
        self, claimed: Claimed | ClaimedCallback, until: tuple[str, str], left: tuple[str, str]
    ) -> str | None:
        """Return the last run of a DAG in which a task left something under a key."""
        with reader(self.engine).connect() as conn:
            own = claimed.dag_run_id, claimed.version_id
            return other_runs.latest(conn, own, until, left)

    def last_success(self, claimed: Claimed | ClaimedCallback) -> PriorRun | None:
        """Return the last run of the schedule before this one that has succeeded."""
        with reader(self.engine).connect() as conn:
            return prior_runs.last_success(conn, claimed.dag_run_id)

    def ask_for_run(self, claimed: Claimed, number: int, wanted: RunWanted) -> RunAnswer | None:
        """Ask for a run, unless it was asked for; return the answer, None before there is one."""
        if not 1 <= number <= MOST_REQUESTS:
            raise RequestError(
                f"An attempt may trigger {MOST_REQUESTS:,} runs; let a task do less."
            )
        with self.engine.begin() as conn:
            if (found := run_requests.answer(conn, claimed.key, number)) is not None:
                return found[0]
            if not run_requests.ask(conn, claimed.key, number, wanted):
                raise ConflictError(GIVEN_AWAY)
        self.notify(SCHEDULER)
        return None

    def run_state(self, claimed: Claimed, of: tuple[str, str]) -> RunState | None:
        """Return the state of a run of a DAG of the bundle; None if there is no such run."""
        with reader(self.engine).connect() as conn:
            return other_runs.state(conn, claimed.version_id, *of)

    def push_xcom(self, claimed: Claimed, key: str, value: JsonValue) -> None:
        """Leave a value of the attempt."""
        with self.engine.begin() as conn:
            if not xcoms.push(conn, claimed.key, key, value):
                raise ConflictError(GIVEN_AWAY)

    def read_store(self, claimed: Claimed | ClaimedCallback, key: str) -> tuple[JsonValue] | None:
        """Return what the task instance keeps under a key, in a tuple; None when nothing."""
        with reader(self.engine).connect() as conn:
            return state_store.get(conn, claimed.dag_run_id, _instance(claimed), key)

    def write_store(
        self, claimed: Claimed, key: str, value: JsonValue, retention: timedelta | None
    ) -> None:
        """Keep a value for the next attempts of the task instance; None: it never expires."""
        with self.engine.begin() as conn:
            if not state_store.put(conn, claimed.key, key, value, retention):
                raise ConflictError(GIVEN_AWAY)

    def clear_store(self, claimed: Claimed, key: str | None) -> None:
        """Forget what the task instance keeps under a key, or all of it."""
        with self.engine.begin() as conn:
            if not state_store.delete(conn, claimed.key, key):
                raise ConflictError(GIVEN_AWAY)

    def name_instance(self, claimed: Claimed, name: str) -> None:
        """Record what the task instance is called."""
        with self.engine.begin() as conn:
            if not attempts.name_instance(conn, claimed.key, name):
                raise ConflictError(GIVEN_AWAY)

    def save_handle(self, claimed: Claimed, handle: Mapping[str, JsonValue]) -> None:
        """Record what the attempt has running elsewhere."""
        with self.engine.begin() as conn:
            if not handles.save(conn, claimed.key, handle):
                raise ConflictError(GIVEN_AWAY)

    def tell(self, said: Sequence[SparkNews]) -> None:
        """Record what attempts do in Spark."""
        with self.engine.begin() as conn:
            spark_work.save(conn, said)

    def prior_attempts(self, claimed: Claimed) -> list[PriorAttempt]:
        """Return the attempts before this one that had something elsewhere."""
        if claimed.key.attempt == 1:
            return []
        with reader(self.engine).connect() as conn:
            return spark_work.prior_attempts(conn, claimed, self.settings.spark_detached_timeout)

    def fetch(self, version_id: int, manifest_hash: str) -> tuple[DagSpec, Code]:
        """Return the DAG of a version, and its code."""
        with self.engine.connect() as conn:
            dag = self._dag(conn, version_id)
            return dag, self.code.fetch(conn, manifest_hash)

    def bundle(self, version_id: int) -> str | None:
        """Return the manifest of what the bundle of a version had besides; None if it has none."""
        with reader(self.engine).connect() as conn:
            return self.code.bundle(conn, version_id)

    def provide(self, work: Claimed | ClaimedCallback, hashes: Sequence[str]) -> None:
        """Put contents of the version into the folder; PermissionError if one is none of it."""
        with reader(self.engine).connect() as conn:
            self._check_own(conn, work, hashes)
            self.code.provide(conn, hashes)

    def piece(self, work: Claimed | ClaimedCallback, content_hash: str, start: int) -> Piece:
        """Return a piece of a content of the version; PermissionError if it is none of it."""
        with reader(self.engine).connect() as conn:
            manifest = self.code.manifest(conn, work.version_id, content_hash)
            if manifest is not None:
                return Piece(manifest[start : start + LONGEST_PIECE], len(manifest))
            self._check_own(conn, work, [content_hash])
            if start == 0:
                self.code.mend(conn, content_hash)
            return stored_versions.piece(conn, content_hash, start, LONGEST_PIECE)

    def _check_own(
        self, conn: Connection, work: Claimed | ClaimedCallback, hashes: Sequence[str]
    ) -> None:
        unknown = set(hashes) - set(self.code.fetch(conn, work.manifest_hash).files.values())
        for content_hash in unknown - self.code.others(conn, work.version_id):
            raise PermissionError(f"The content {content_hash} is none of this version's.")

    def _give_up(self, reports: Sequence[Report]) -> None:
        """Leave attempts to others; in a transaction of its own, as it locks tasks."""
        if reports:
            with self.engine.begin() as conn:
                processes.confirm(conn, self.me)
                handles.give_up(conn, reports)

    def _load(self, claimed: Sequence[Claimed]) -> None:
        """Load the versions and code that attempts need and that are not known, all together.

        What cannot be loaded is left to `_prepare`, which does the same for one attempt, and
        reports its failure.
        """
        missing = {each.version_id for each in claimed} - self._dags.keys()
        hashes = {each.manifest_hash for each in claimed}
        with suppress(*_UNPREPARED), reader(self.engine).connect() as conn:
            if missing:
                for version_id, serialized in stored_versions.load(conn, sorted(missing)).items():
                    self._remember(version_id, codec.decode(serialized))
            self.code.learn(conn, hashes)

    def _prepare(self, claimed: Claimed) -> AttemptWork | None:
        try:
            dag, code = self.fetch(claimed.version_id, claimed.manifest_hash)
            return AttemptWork(claimed, dag, dag.task(claimed.task_id), code)
        except _UNPREPARED as error:
            # No traceback of a database that is away: it says nothing more, and there are many.
            number, bug = claimed.key.task_instance_id, not is_transient(error)
            log.error(
                "action=hand_back task_instance=%d: %s", number, cause_of(error), exc_info=bug
            )
            lost = Result(outcome=Outcome.LOST, error=f"The worker could not prepare it: {error}")
            self.report([report_of(claimed, self._stand_in(claimed), lost, began=False)])
            return None

    def _stand_in(self, claimed: Claimed) -> TaskSpec:
        """Return what is known of a task whose version may be beyond reading."""
        with self.engine.connect() as conn:
            having = callbacks.of_task(conn, claimed.version_id, claimed.task_id)
        return TaskSpec(task_id=claimed.task_id, operator="", callbacks=having)

    def _dag(self, conn: Connection, version_id: int) -> DagSpec:
        dag = self._dags.get(version_id)
        if dag is None:
            dag = codec.decode(stored_versions.load(conn, [version_id])[version_id])
            self._remember(version_id, dag)
        return dag

    def _remember(self, version_id: int, dag: DagSpec) -> None:
        with self._lock:  # attempts and callbacks are prepared by threads of their own
            while len(self._dags) >= MOST_DAGS:
                del self._dags[next(iter(self._dags))]
            self._dags[version_id] = dag


def _run(
    conn: Connection, claimed: Claimed | ClaimedCallback, of: tuple[str, str] | None
) -> int | None:
    """Return the number of the run that is named, by default that of the claimed one."""
    return claimed.dag_run_id if of is None else other_runs.find(conn, claimed.version_id, *of)


def _instance(claimed: Claimed | ClaimedCallback) -> tuple[str, int]:
    """Return the task and the map_index that it is about; of a run's end it may be about none."""
    if isinstance(claimed, ClaimedCallback) and claimed.instance is not None:
        return claimed.instance.task_id, claimed.instance.map_index
    return claimed.task_id or "", -1 if claimed.map_index is None else claimed.map_index


GIVEN_AWAY = "This attempt was given away, because its worker was silent for too long."
