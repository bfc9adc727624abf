"""What became of earlier attempts in Spark: a task must not have two jobs at a time."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from threading import Event
from typing import Final

from headway.db.execution.attempts import Claimed
from headway.db.execution.spark_work import PriorAttempt
from headway.domain.errors import HeadwayError
from headway.domain.spark_work import CLUSTER
from headway.domain.states import Outcome
from headway.runtime.daemon.clock import Clock
from headway_worker.database.worker_database import WorkerDatabase
from headway_worker.spark.cluster.app_outcome import PriorApp
from headway_worker.spark.server.identity import kill, may_live
from headway_worker.spark.service.spark_service import SparkService
from headway_worker.spark.target.connection import SparkKind
from headway_worker.spark.target.endpoint import ConnectEndpoint

log = logging.getLogger(__name__)

_PATIENCE: Final = 20.0
_LOOK_SECONDS: Final = 0.05


class PriorAppRemedy(StrEnum):
    """What is to be done about an earlier attempt."""

    NOTHING = "nothing"
    """It is proved dead, or is not to be found by a session."""
    KILL = "kill"
    """Its worker is dead, and the server that was that worker's own; this makes sure of it."""
    RELEASE = "release"
    """Its server is no worker's own, and must be told."""


def remedy(attempt: PriorAttempt) -> PriorAppRemedy:
    """Return what is to be done.

    A worker reports an attempt only when nothing of it is left on the worker's own server.  One
    that lost it, and lives, has ended it before the lease ended; if the worker is stopped or dead,
    the server's nanny has killed the server by then.
    """
    if attempt.handle.get("kind") != "connect":
        return PriorAppRemedy.NOTHING
    if "process" not in attempt.handle:
        return PriorAppRemedy.RELEASE
    was_lost = attempt.outcome == Outcome.LOST
    return PriorAppRemedy.KILL if was_lost and attempt.worker_is_dead else PriorAppRemedy.NOTHING


def prior_of(attempts: Sequence[PriorAttempt]) -> PriorApp | None:
    """Return the last of these attempts, the oldest of which is first, that was in cluster mode.

    None if one since, or that one itself, has succeeded, or has seen to the end of what it had:
    that has settled what came before; but what has ended after a time-out may be a success.
    So has one since that has submitted in client mode, for that it did after asking.
    One that is called off counts as cancelled, even if it was lost before that was done.
    """
    for each in reversed(attempts):
        if each.outcome == Outcome.SUCCESS:
            return None
        outcome = _outcome(each)
        if "ended" in each.handle and outcome is not Outcome.TIMED_OUT:
            return None
        if each.handle.get("mode") == CLUSTER:
            return PriorApp(each.handle, outcome)
        if each.handle.get("kind") == "submit":
            return None
    return None


def _outcome(each: PriorAttempt) -> Outcome | None:
    if each.is_called_off:
        return Outcome.CANCELLED
    if "stopped" in each.handle:
        return Outcome(each.handle["stopped"])
    return None if each.outcome is None else Outcome(each.outcome)


@dataclass(frozen=True, slots=True)
class PriorApps:
    """See to it that nothing of the attempts before runs on a Connect server; it takes seconds."""

    database: WorkerDatabase
    spark: SparkService
    clock: Clock

    def settle(self, claimed: Claimed) -> str | None:
        """End what earlier attempts of the task have left; if that is uncertain, return why.

        Then the task has to wait, and this is to be called again.
        """
        for each in self.database.prior_attempts(claimed):
            match remedy(each):
                case PriorAppRemedy.KILL:
                    problem = self._kill(each)
                case PriorAppRemedy.RELEASE:
                    problem = self._release(claimed, each)
                case PriorAppRemedy.NOTHING:
                    problem = None
            if problem is not None:
                return _told(each, problem)
        return None

    def _kill(self, each: PriorAttempt) -> str | None:
        """End a server of which the worker is dead; of one on another machine the lease tells."""
        process, never = each.handle["process"], Event()
        kill(process)
        deadline = self.clock.monotonic() + _PATIENCE
        while may_live(process):
            if self.clock.monotonic() > deadline:
                return f"its server, process {process}, does not die. This one waits until it has."
            self.clock.wait(never, _LOOK_SECONDS)
        return None

    def _release(self, claimed: Claimed, each: PriorAttempt) -> str | None:
        """Have its session ended; one of long ago has ended by itself, whatever comes of that."""
        problem = self._ask(claimed, each.handle)
        if problem is None:
            log.info("action=settle task_instance=%d", claimed.key.task_instance_id)
        if problem is None or each.is_long_ago:
            return None
        seconds = self.database.settings.spark_detached_timeout
        return (
            f"{problem.rstrip('.')}. This one asks again until that is settled, or {seconds:g} s "
            "have passed since that attempt's end: by then a server has ended what no client "
            "follows."
        )

    def _ask(self, claimed: Claimed, handle: Mapping[str, str]) -> str | None:
        """Have a session ended; return why that is not certain, if it is not."""
        conn_id = handle.get("conn_id", "")
        try:
            connection = self.spark.connection(claimed, conn_id)
        except HeadwayError as error:
            return str(error)
        endpoint = ConnectEndpoint.of(connection) if connection.kind is SparkKind.CONNECT else None
        there = endpoint and (endpoint.url, endpoint.user)
        if endpoint is None or there != (handle.get("url"), handle.get("user")):
            return f"the connection {conn_id!r} is of another server by now"
        self.spark.await_forker()
        with closing(self.spark.release_at(endpoint, handle["session_id"])) as child:
            exited = child.wait(_PATIENCE)
        return None if exited and exited.succeeded else "the server does not answer"


def _told(each: PriorAttempt, problem: str) -> str:
    where, session = each.handle.get("url", "a worker's own"), each.handle.get("session_id")
    return (
        f"Attempt {each.attempt} of this task may still run in Spark ({where}, session {session}): "
        f"{problem}"
    )
