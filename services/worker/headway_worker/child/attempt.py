"""What an attempt's child process does: load the DAG file, run the task, say how it ended."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from socket import socket
from threading import Event, Lock
from typing import Any, Final, Protocol

from headway.airflow_layer import finder
from headway.domain.arguments import JsonValue
from headway.domain.connection import Connection
from headway.domain.dag.run_request import RunAnswer, RunWanted
from headway.domain.errors import DagError
from headway.domain.interval import PriorRun
from headway.domain.states import Outcome, RunState
from headway.domain.xcoms import XComItem
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.processes.frames import Frame, receive_frame, send_frame
from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.bundle.bundle_code import BundleCode
from headway.sdk.bundle.bundle_imports import importing
from headway.sdk.exceptions import AirflowException, RefusedException
from headway.sdk.harness.execution import Result, end_application, execute
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.running.task_runtime import RunName, SparkApplication
from headway.sdk.running.tracebacks import message_of, traceback_of
from headway.sdk.values.state_store import check_state_size
from headway.sdk.values.xcom import check_size
from headway_worker.child.loading import may_have_changed, secrets_of
from headway_worker.child.records import send_records
from headway_worker.protocol.order import TaskOrder, prior_from_frame
from headway_worker.protocol.result_codec import result_to_frame
from headway_worker.protocol.run_request import answer_from_frame, wanted_to_frame
from headway_worker.protocol.supply import code_of

FIRST_LOOK: Final = 0.05
LAST_LOOK: Final = 1.0
"""Seconds between two looks for the answer to a request: they double from the first to the last."""


class Spark(Protocol):
    """The attempt's way to Spark."""

    def spark_session(self, conn_id: str) -> Any:
        """Return the attempt's own session on that connection."""

    def spark_driver(self, conn_id: str) -> Any:
        """Return the session of a driver of the attempt's own."""

    def submit_spark(self, application: SparkApplication) -> None:
        """Run an application with spark-submit."""

    def explain(self, error: str) -> str | None:
        """Return what to tell a user instead of an error, when it is about Spark's server."""

    def close(self) -> None:
        """End the session and what is left of its jobs."""


@dataclass(slots=True)
class Asking:
    """User code's way to its supervisor: over the channel, one question at a time."""

    channel: socket
    _asking: Lock = field(default_factory=Lock, init=False)
    _sending: Lock = field(default_factory=Lock, init=False)

    @property
    def virtualenvs(self) -> Path | None:
        """None: only tasks make virtual environments."""
        return None

    def pull_xcom(
        self, task_id: str, key: str, map_index: int = -1, of: RunName | None = None
    ) -> JsonValue:
        """Return what another task of the run left; KeyError when nothing."""
        answer = self._ask_xcom("pull_xcom", task_id, key, map_index=map_index, **_named(of))
        return _found(answer, (task_id, key))

    def pull_xcoms(self, task_id: str, key: str, of: RunName | None = None) -> list[JsonValue]:
        """Return what the instances of a mapped task left; it comes page by page."""
        found: list[JsonValue] = []
        last: int | None = -1
        while last is not None:
            answer = self._ask_xcom("pull_xcoms", task_id, key, after=last, **_named(of))
            found += answer["values"]
            last = answer["last"]
        return found

    def latest_run(self, task_id: str, key: str, until: RunName) -> str | None:
        """Return the id of the last run up to that one in which the task left something."""
        found: str | None = self._ask_xcom("latest_run", task_id, key, **_named(until))["run_id"]
        return found

    def xcom_length(self, task_id: str, key: str) -> int:
        """Return how many items there are in what a task left."""
        return int(self._ask_xcom("xcom_length", task_id, key)["length"])

    def xcom_item(self, task_id: str, key: str, index: int) -> XComItem:
        """Return one item of what a task left; the others stay where they are."""
        answer = self._ask_xcom("xcom_item", task_id, key, index=index)
        item: JsonValue = answer["item"]
        if answer["pair"]:
            name, value = answer["item"]
            return name, value
        return item

    def last_success(self) -> PriorRun | None:
        """Return the last run of the schedule before this one that has succeeded."""
        return prior_from_frame(self.ask({"ask": "last_success"}))

    def read_store(self, key: str) -> JsonValue:
        """Return what the task instance keeps under `key`; KeyError when nothing."""
        return _found(self.ask({"ask": "read_store", "key": key}), key)

    def _ask_xcom(self, ask: str, task_id: str, key: str, **more: Any) -> Frame:
        return self.ask({"ask": ask, "task_id": task_id, "key": key, **more})

    def ask(self, question: Frame) -> Frame:
        """Return the supervisor's answer; RuntimeError when it has none."""
        with self._asking:  # a task may have threads, and answers carry no name
            self._tell(question)
            answer = receive_frame(self.channel)
        if answer is None:
            raise ConnectionError("The worker has gone.")
        if "error" in answer:
            raised = RefusedException if answer.get("refused") else AirflowException
            raise raised(answer["error"])
        return answer

    def _tell(self, frame: Frame) -> None:
        with self._sending:
            send_frame(self.channel, frame)


@dataclass(slots=True)
class ChannelRuntime(Asking):
    """A task's runtime."""

    order: TaskOrder
    _spark: Spark | None = field(default=None, init=False)
    _requests: Iterator[int] = field(default_factory=lambda: count(1), init=False)
    _code: BundleCode | None = field(default=None, init=False)

    @property
    def code(self) -> BundleCode:
        """The files of the attempt's version."""
        if self._code is None:
            self._code = code_of(self.order.code, self.ask)
        return self._code

    @property
    def virtualenvs(self) -> Path:
        """The folder beside that of the code, where virtual environments are kept."""
        return self.order.code.store.parent / "virtualenvs"

    def push_xcom(self, key: str, value: JsonValue) -> None:
        """Leave a value for other tasks."""
        check_size(value, f"The XCom {key!r}", self.order.max_xcom_bytes)
        self.ask({"ask": "push_xcom", "key": key, "value": value})

    def write_store(self, key: str, value: JsonValue, retention: timedelta | None) -> None:
        """Keep a value for the next attempts; it is stored when this returns."""
        check_state_size(key, value, self.order.max_xcom_bytes)
        seconds = None if retention is None else retention.total_seconds()
        self.ask({"ask": "write_store", "key": key, "value": value, "seconds": seconds})

    def clear_store(self, key: str | None) -> None:
        """Forget what the task instance keeps under `key`, or all of it."""
        self.ask({"ask": "clear_store", "key": key})

    def trigger_run(self, wanted: RunWanted) -> RunAnswer:
        """Ask for a run, and look for the answer of a scheduler until there is one."""
        check_size(dict(wanted.conf), "The conf", self.order.max_xcom_bytes)
        number, wait = next(self._requests), FIRST_LOOK
        question = {"ask": "trigger_run", "number": number, "wanted": wanted_to_frame(wanted)}
        while (answer := answer_from_frame(self.ask(question))) is None:
            SystemClock().wait(Event(), wait)
            wait = min(2 * wait, LAST_LOOK)
        return answer

    def run_state(self, of: RunName) -> RunState | None:
        """Return the state of a run; None if there is no such run."""
        state: str | None = self.ask({"ask": "run_state", **_named(of)})["state"]
        return None if state is None else RunState(state)

    def name_instance(self, name: str) -> None:
        """Tell what the task instance is called."""
        self.ask({"ask": "name_instance", "name": name})

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return a connection, None if there is none; errors as for any question."""
        answer = self.ask({"ask": "connection", "name": conn_id})
        return None if answer["text"] is None else Connection.from_json(conn_id, answer["text"])

    def get_variable(self, key: str) -> str | None:
        """Return a variable, None if there is none; errors as for any question."""
        value: str | None = self.ask({"ask": "variable", "name": key})["text"]
        return value

    def spark_session(self, conn_id: str) -> Any:
        """Return the attempt's own Spark session on that connection."""
        return self._access().spark_session(conn_id)

    def spark_driver(self, conn_id: str) -> Any:
        """Return the session of a driver of the attempt's own, on that connection."""
        return self._access().spark_driver(conn_id)

    def submit_spark(self, application: SparkApplication) -> None:
        """Run an application with spark-submit."""
        self._access().submit_spark(application)

    def explained(self, result: Result) -> Result:
        """Return the result with what a user must know of it, when Spark's server has gone."""
        if self._spark is None or result.error is None or result.outcome is not Outcome.FAILED:
            return result
        told = self._spark.explain(result.error)
        return replace(result, error=told) if told else result

    def say(self, result: Result) -> None:
        """Tell the attempt's result; threads of the task may be telling something, too."""
        self._tell({"result": result_to_frame(result)})

    def close(self) -> None:
        """End what the task has of Spark."""
        if self._spark is not None:
            self._spark.close()

    def _access(self) -> Spark:
        if self._spark is None:
            # Here and not above: most tasks need no Spark, and it takes a second to import.
            from headway_worker.spark.target.installation import spark_home

            spark_home()  # EmbeddedError without pyspark, which the next line imports
            from headway_worker.spark.session.attempt import spark_of

            self._spark = spark_of(self.order, self.code, self.ask, self._tell)
        return self._spark


def _found(answer: Frame, key: object) -> JsonValue:
    if not answer["found"]:
        raise KeyError(key)
    value: JsonValue = answer["value"]
    return value


def _named(of: RunName | None) -> Frame:
    return {} if of is None else {"of": [of.dag_id, of.run_id]}


def run(argument: Frame, channel: socket) -> None:
    """Run one attempt, and tell its result as the last frame of the channel."""
    order = TaskOrder.from_frame(argument)
    send_records()
    runtime = ChannelRuntime(channel, order)
    code = runtime.code
    with importing(code):
        result = _advised(_run(order, runtime), code, order.relative_path)
    if result.traceback:
        print(result.traceback, file=sys.stderr, flush=True)  # noqa: T201 - for the task's log
    if result.outcome is Outcome.FAILED and not result.may_retry:
        print("It is not tried again, whatever retries are left.", flush=True)  # noqa: T201
    runtime.say(result)


def _run(order: TaskOrder, runtime: ChannelRuntime) -> Result:
    try:
        operator = _load(order, runtime)
    except DagError as error:
        return Result(outcome=Outcome.FAILED, error=str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - here one attempt is isolated
        message = f"The DAG file cannot be imported on this worker: {message_of(error)}"
        traceback = traceback_of(error, __file__)
        return Result(outcome=Outcome.FAILED, error=message, traceback=traceback)
    try:
        do = end_application if order.is_called_off else execute
        return runtime.explained(do(operator, order.facts, runtime))
    finally:
        runtime.close()


def _advised(result: Result, code: BundleCode, dag_file: str) -> Result:
    """Return the result with what to do about a file that the version lacks."""
    advice = None
    with suppress(AirflowException, RuntimeError, OSError):  # the worker has no answer
        advice = None if result.error is None else code.advice(result.error, dag_file)
    return replace(result, error=f"{result.error}\n{advice}") if advice else result


def _load(order: TaskOrder, runtime: ChannelRuntime) -> BaseOperator:
    facts, code = order.facts, runtime.code
    finder.install(order.airflow_layer)
    path, secrets = code.root / order.relative_path, secrets_of(order.parse_secrets, runtime)
    for dag in load_dag_file(path, code.root, code, order.cron_semantics, secrets):
        if dag.dag_id == facts.dag_id and facts.task_id in dag.task_dict:
            return dag.task_dict[facts.task_id]
    raise DagError(
        f"The code of this version, read again, makes no task {facts.task_id!r} in a DAG "
        f"{facts.dag_id!r}. Let the DAG file make the same tasks each time that it is read."
        + may_have_changed(order.parse_secrets)
    )
