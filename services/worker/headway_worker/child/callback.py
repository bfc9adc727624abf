"""What a callback's child process does: load the DAG file, call the functions of one event."""

from datetime import timedelta
from socket import socket
from typing import Any

from headway.airflow_layer import finder
from headway.domain.arguments import JsonValue
from headway.domain.connection import Connection
from headway.domain.dag.run_request import RunAnswer, RunWanted
from headway.domain.errors import DagError
from headway.domain.states import Outcome, RunState
from headway.runtime.processes.frames import Frame, send_frame
from headway.sdk.authoring import callbacks
from headway.sdk.authoring.definition import DAG
from headway.sdk.bundle.bundle_code import BundleCode
from headway.sdk.bundle.bundle_imports import importing
from headway.sdk.context.build import build_context, build_run_context
from headway.sdk.exceptions import AirflowException
from headway.sdk.harness.execution import Result
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.running.context import Context, running_in
from headway.sdk.running.task_runtime import RunName, SparkApplication
from headway.sdk.running.tracebacks import message_of, traceback_of
from headway_worker.child.attempt import Asking
from headway_worker.child.loading import may_have_changed, secrets_of
from headway_worker.child.records import send_records
from headway_worker.protocol.callback_order import CallbackOrder
from headway_worker.protocol.result_codec import result_to_frame
from headway_worker.protocol.supply import code_of


class CallbackRuntime(Asking):
    """What a callback may ask of its supervisor: it may read what tasks have left."""

    def push_xcom(self, key: str, value: JsonValue) -> None:  # noqa: ARG002
        """Refuse: the attempt has ended."""
        raise AirflowException(f"A callback cannot leave the XCom {key!r}: its task has ended.")

    def write_store(
        self,
        key: str,
        value: JsonValue,  # noqa: ARG002
        retention: timedelta | None,  # noqa: ARG002
    ) -> None:
        """Refuse: the attempt has ended."""
        raise AirflowException(
            f"A callback cannot set {key!r} in task_state_store: its attempt has ended. Set it in "
            "the task."
        )

    def clear_store(self, key: str | None) -> None:  # noqa: ARG002
        """Refuse: the attempt has ended."""
        raise AirflowException(
            "A callback cannot remove keys of task_state_store: its attempt has ended. Remove them "
            "in the task."
        )

    def trigger_run(self, wanted: RunWanted) -> RunAnswer:
        """Refuse: the attempt has ended."""
        raise AirflowException(
            f"A callback cannot trigger the DAG {wanted.dag_id!r}; let a task with a trigger_rule "
            "do it."
        )

    def run_state(self, of: RunName) -> RunState | None:
        """Refuse, as a callback waits for no run."""
        raise AirflowException(f"A callback cannot wait for the run {of.run_id!r}.")

    def name_instance(self, name: str) -> None:
        """Refuse: the attempt has ended."""
        raise AirflowException(f"A callback cannot call the instance {name!r}: it has ended.")

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return a connection that the DAG is granted, None if there is none."""
        answer = self.ask({"ask": "connection", "name": conn_id})
        return None if answer["text"] is None else Connection.from_json(conn_id, answer["text"])

    def get_variable(self, key: str) -> str | None:
        """Return a variable that the DAG is granted, None if there is none."""
        value: str | None = self.ask({"ask": "variable", "name": key})["text"]
        return value

    def spark_session(self, conn_id: str) -> Any:  # noqa: ARG002
        """Refuse: a callback is short."""
        raise AirflowException("A callback has no Spark; let a task with a trigger rule use it.")

    def spark_driver(self, conn_id: str) -> Any:
        """Refuse: a callback is short."""
        self.spark_session(conn_id)

    def submit_spark(self, application: SparkApplication) -> None:
        """Refuse: a callback is short."""
        self.spark_session(application.conn_id)


def run(argument: Frame, channel: socket) -> None:
    """Call the functions of one event, and tell how that went as the last frame of the channel."""
    order = CallbackOrder.from_frame(argument)
    send_records()
    runtime = CallbackRuntime(channel)
    code = code_of(order.code, runtime.ask)
    with importing(code):
        problem = _call(order, code, runtime)
    outcome = Outcome.SUCCESS if problem is None else Outcome.FAILED
    result = Result(outcome=outcome, error=problem)
    send_frame(channel, {"result": result_to_frame(result)})


def _call(order: CallbackOrder, code: BundleCode, runtime: CallbackRuntime) -> str | None:
    try:
        dag = _load(order, code, runtime)
        given, context = (
            _about_run(order, dag, runtime) if order.of_run else _about_task(order, dag, runtime)
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001 - here one callback is isolated
        print(traceback_of(error, __file__) or message_of(error), flush=True)  # noqa: T201
        return f"The DAG file of this version gives nothing to call: {message_of(error)}"
    callbacks.tell_why(context, order.event, order.reason, order.cause)
    with running_in(context):
        problems = callbacks.call(given, context)
    return "\n".join(problems) or None


def _load(order: CallbackOrder, code: BundleCode, runtime: CallbackRuntime) -> DAG:
    finder.install(order.airflow_layer)
    path, secrets = code.root / order.relative_path, secrets_of(order.parse_secrets, runtime)
    for dag in load_dag_file(path, code.root, code, order.cron_semantics, secrets):
        if dag.dag_id == order.facts.dag_id:
            return dag
    changed = may_have_changed(order.parse_secrets)
    raise DagError(f"it makes no DAG {order.facts.dag_id!r}.{changed}")


def _about_run(
    order: CallbackOrder, dag: DAG, runtime: CallbackRuntime
) -> tuple[tuple[callbacks.Callback, ...], Context]:
    given = dag.calls_on.get(order.event)
    if given is None:
        raise DagError(f"its DAG has no on_{order.event}_callback.")
    task = dag.task_dict.get(order.facts.task_id)
    if task is None:
        return given, build_run_context(dag, order.facts, runtime)
    return given, build_context(task, order.facts, runtime)


def _about_task(
    order: CallbackOrder, dag: DAG, runtime: CallbackRuntime
) -> tuple[tuple[callbacks.Callback, ...], Context]:
    task = dag.get_task(order.facts.task_id)
    given = task.calls_on.get(order.event)
    if given is None:
        raise DagError(f"its task {task.task_id!r} has no on_{order.event}_callback.")
    return given, build_context(task, order.facts, runtime)
