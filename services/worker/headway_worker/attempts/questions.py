"""What a running task asks of its worker, and the answers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError

from headway.db.core.engine import is_transient
from headway.db.execution.attempts import Claimed
from headway.db.execution.callback_claims import ClaimedCallback
from headway.db.execution.notification_claims import ClaimedNotification
from headway.domain.arguments import JsonValue
from headway.domain.connection import Connection
from headway.domain.dag.names import check_key
from headway.domain.errors import RefusalError
from headway.domain.variable import SecretKind
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace
from headway.runtime.processes.frames import Frame
from headway_worker.database.callback_database import CallbackWork, NotificationWork
from headway_worker.database.secret_resolver import Reader, SecretResolver
from headway_worker.database.worker_database import AttemptWork, WorkerDatabase
from headway_worker.notifications.hidden import hidden_of
from headway_worker.protocol.order import prior_to_frame
from headway_worker.protocol.run_request import answer_to_frame, wanted_from_frame
from headway_worker.spark.service.prior_apps import PriorApps, prior_of
from headway_worker.spark.service.spark_service import SparkService
from headway_worker.supervision.background_call import RETRYING

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """What a task is told, and the secrets in that, to be masked before it is told."""

    frame: Frame = field(repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)


@dataclass(frozen=True, slots=True)
class Questions:
    """Answer questions, in a thread that may wait for the database or for Spark.

    While the database is away a question is asked again until `stop`: the task
    knows nothing of it, and its lease decides.
    """

    database: WorkerDatabase
    resolver: SecretResolver
    spark: SparkService
    clock: Clock
    stop: Event
    pace: Pace = RETRYING

    def answer(
        self, work: AttemptWork | CallbackWork | NotificationWork, question: Frame
    ) -> TaskAnswer:
        """Return the answer, which is an error when the question cannot be answered."""
        try:
            if question["ask"] in ("connection", "variable"):
                return self._read_secret(work.claimed, question)
            if isinstance(work, NotificationWork):
                return TaskAnswer({"error": f"A notification may not ask for {question['ask']!r}."})
            if question["ask"] == "spark" and not isinstance(work, CallbackWork):
                return self._tell_of_spark(work.claimed, question)
            return TaskAnswer(self._answer_any(work, question))
        except Exception as error:  # noqa: BLE001 - here one question is isolated
            told = {"error": str(error) or type(error).__name__}
            refused = {"refused": True} if isinstance(error, RefusalError) else {}
            return TaskAnswer({**told, **refused})

    def _answer_any(self, work: AttemptWork | CallbackWork, question: Frame) -> Frame:
        if question["ask"] in ("bundle", "code", "contents"):
            return self._patiently(lambda: self._read_code(work.claimed, question))
        if isinstance(work, CallbackWork):
            return self._answer_callback(work.claimed, question)
        return self._answer(work.claimed, question)

    def _answer(self, claimed: Claimed, question: Frame) -> Frame:
        match question["ask"]:
            case "pull_xcom" | "pull_xcoms" | "xcom_length" | "xcom_item":
                return self._patiently(lambda: self._read_xcom(claimed, question))
            case "latest_run" | "last_success" | "read_store":
                return self._patiently(lambda: self._look_up(claimed, question))
            case "push_xcom" | "name_instance" | "write_store" | "clear_store":
                self._patiently(lambda: self._save(claimed, question))
                return {"saved": True}
            case "trigger_run" | "run_state":
                return self._patiently(lambda: self._trigger(claimed, question))
            case "save_handle" | "prior_handle":
                return self._handle(claimed, question)
            case unknown:
                return {"error": f"The worker does not know the question {unknown!r}."}

    def _save(self, claimed: Claimed, question: Frame) -> None:
        match question["ask"]:
            case "name_instance":
                self.database.name_instance(claimed, str(question["name"]))
            case "push_xcom":
                self.database.push_xcom(claimed, str(question["key"]), question["value"])
            case "write_store":
                seconds = question["seconds"]
                retention = None if seconds is None else timedelta(seconds=float(seconds))
                key, value = str(question["key"]), question["value"]
                self.database.write_store(claimed, key, value, retention)
            case _:
                key = question["key"]
                self.database.clear_store(claimed, None if key is None else str(key))

    def _trigger(self, claimed: Claimed, question: Frame) -> Frame:
        if question["ask"] == "run_state":
            return {"state": self.database.run_state(claimed, _run_of(question["of"]))}
        number, wanted = int(question["number"]), wanted_from_frame(question["wanted"])
        return answer_to_frame(self.database.ask_for_run(claimed, number, wanted))

    def _handle(self, claimed: Claimed, question: Frame) -> Frame:
        if question["ask"] == "save_handle":
            handle: dict[str, JsonValue] = dict(question["handle"])
            self._patiently(lambda: self.database.save_handle(claimed, handle))
            return {"saved": True}
        prior = prior_of(self._patiently(lambda: self.database.prior_attempts(claimed)))
        if prior is None:
            return {"found": False}
        outcome = None if prior.outcome is None else str(prior.outcome)
        return {"found": True, "handle": dict(prior.handle), "outcome": outcome}

    def _answer_callback(self, claimed: ClaimedCallback, question: Frame) -> Frame:
        match question["ask"]:
            case "pull_xcom" | "pull_xcoms":
                return self._patiently(lambda: self._pull_xcom(claimed, question))
            case "latest_run" | "last_success" | "read_store":
                return self._patiently(lambda: self._look_up(claimed, question))
            case other:
                return {"error": f"The worker has no answer to {other!r} for a callback."}

    def _look_up(self, claimed: Claimed | ClaimedCallback, question: Frame) -> Frame:
        if question["ask"] == "last_success":
            return prior_to_frame(self.database.last_success(claimed))
        if question["ask"] == "read_store":
            return _found(self.database.read_store(claimed, str(question["key"])))
        left = str(question["task_id"]), str(question["key"])
        return {"run_id": self.database.latest_run(claimed, _run_of(question["of"]), left)}

    def _pull_xcom(self, claimed: Claimed | ClaimedCallback, question: Frame) -> Frame:
        task_id, key = str(question["task_id"]), str(question["key"])
        of = _run_of(question["of"]) if "of" in question else None
        if question["ask"] == "pull_xcom":
            map_index = int(question["map_index"])
            return _found(self.database.pull_xcom(claimed, task_id, key, map_index, of))
        page = self.database.pull_xcoms(claimed, task_id, key, int(question["after"]), of)
        return {"values": list(page.values()), "last": max(page, default=None)}

    def _tell_of_spark(self, claimed: Claimed, question: Frame) -> TaskAnswer:
        conn_id, session = str(question["conn_id"]), bool(question["session"])
        if session:
            before = PriorApps(self.database, self.spark, self.clock)
            uncertain = self._patiently(lambda: before.settle(claimed))
            if uncertain is not None:
                return TaskAnswer({"wait": uncertain})
        where = self._patiently(lambda: self.spark.locate(claimed, conn_id, for_session=session))
        return TaskAnswer(where.to_frame(), where.secrets())

    def _read_secret(self, claimed: Reader, question: Frame) -> TaskAnswer:
        kind, name = SecretKind(question["ask"]), check_key(question["ask"], question["name"])
        found = self._patiently(lambda: self.resolver.read(claimed, kind, name))
        match found:
            case None:
                return TaskAnswer({"text": None})
            case Connection():
                told = isinstance(claimed, ClaimedNotification)
                hidden = hidden_of(found) if told else found.secrets()
                return TaskAnswer({"text": found.to_json()}, hidden)
            case _:
                return TaskAnswer({"text": found.value}, found.secrets())

    def _read_xcom(self, claimed: Claimed, question: Frame) -> Frame:
        task_id, key = str(question["task_id"]), str(question["key"])
        match question["ask"]:
            case "pull_xcom" | "pull_xcoms":
                return self._pull_xcom(claimed, question)
            case "xcom_length":
                return {"length": self.database.items.length(claimed, task_id, key)}
            case _:
                item = self.database.items.item(claimed, task_id, key, int(question["index"]))
                return {"item": item, "pair": isinstance(item, tuple)}

    def _read_code(self, claimed: Claimed | ClaimedCallback, question: Frame) -> Frame:
        if question["ask"] == "bundle":
            return {"hash": self.database.bundle(claimed.version_id)}
        if question["ask"] == "contents":
            self.database.provide(claimed, [str(it) for it in question["hashes"]])
            return {}
        found = self.database.piece(claimed, str(question["hash"]), int(question["start"]))
        return {"piece": found.piece, "size": found.size}

    def _patiently(self, call: Callable[[], T]) -> T:
        failures = 0
        while True:
            try:
                return call()
            except SQLAlchemyError as error:
                if not is_transient(error) or self.stop.is_set():
                    raise
                failures += 1
                self.clock.wait(self.stop, self.pace.retry_after(failures))


def _found(value: tuple[JsonValue] | None) -> Frame:
    return {"found": False} if value is None else {"found": True, "value": value[0]}


def _run_of(named: list[str]) -> tuple[str, str]:
    dag_id, run_id = named
    return str(dag_id), str(run_id)
