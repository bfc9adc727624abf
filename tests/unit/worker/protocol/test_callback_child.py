"""What the child of a callback calls, with which context, and what it says of it."""

import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headway.db.execution.callback_claims import CallbackKey, ClaimedCallback
from headway.db.execution.called_instances import EndedInstance
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.dag.spec import DagSpec, TimetableSpec
from headway.domain.interval import DataInterval
from headway.domain.states import RunType, TaskState
from headway.runtime.processes.frames import (
    Frame,
    FrameReader,
    encode_frame,
    receive_frame,
    send_frame,
)
from headway.testing.data.version_code import store
from headway_worker.callbacks.order_from_claim import order_of
from headway_worker.child import callback
from headway_worker.protocol.callback_order import CallbackOrder
from headway_worker.protocol.supply import Code

DAG = DagSpec(
    dag_id="etl",
    relative_path="etl.py",
    timetable=TimetableSpec(name="cron"),
    timezone="UTC",
    tasks=(),
)
DAG_FILE = """
from headway.sdk import DAG, BaseHook, BashOperator, Variable, get_current_context
from headway_worker.protocol.supply import Code
from headway.testing.data.version_code import store

def tell(context):
    ti, run = context.get("ti"), context["dag_run"]
    print("told", ti and (ti.task_id, ti.map_index, ti.try_number, str(ti.state)), str(run.state))
    print(context["reason"], repr(context.get("exception")), context["ds"], sorted(context)[0])
    print(get_current_context() is context)

def pull(context):
    print(context["ti"].xcom_pull("other"))

def push(context):
    context["ti"].xcom_push("key", 1)

def spark(context):
    context["spark"]

def log_in(context):
    print("logs in as", BaseHook.get_connection("chat").login)

def look_up(context):
    print("looks up", Variable.get("channel", default="none"))

with DAG("etl", on_failure_callback=tell):
    BashOperator(
        task_id="t",
        bash_command="true",
        on_failure_callback=[tell, pull],
        on_success_callback=[push, spark, log_in, look_up, tell],
    )
    BashOperator.partial(task_id="mapped", on_retry_callback=tell).expand(bash_command=["a", "b"])
"""
SECRETS = {"chat": '{"conn_type": "slack", "login": "ann"}', "channel": "ops"}
NIGHT = datetime(2013, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _restored_path() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


def claimed(event: str, task_id: str | None = "t", **given: Any) -> ClaimedCallback:
    of_task = task_id is not None
    about: dict[str, Any] = {
        "key": CallbackKey(5, UUID(int=1)),
        "tries": 1,
        "event": CallbackEvent(event),
        "reason": "failed",
        "cause": None,
        "task_id": task_id,
        "map_index": -1 if of_task else None,
        "attempt": 2 if of_task else None,
        "dag_run_id": 1,
        "dag_id": "etl",
        "run_id": "r",
        "run_type": RunType.MANUAL,
        "conf": {},
        "version_id": 1,
        "manifest_hash": "",
        "interval": DataInterval.exact(NIGHT),
        "run_after": NIGHT,
        "run_started_at": None,
    }
    return ClaimedCallback(**{**about, **given})


def called(folder: Path, its: ClaimedCallback, text: str = DAG_FILE) -> Frame:
    """Run the child in a thread, answering what it asks; return its last words."""
    code = Code(folder, store(folder, {"etl.py": text.encode()}))
    order = order_of(its, code, DAG)
    mine, childs = socket.socketpair()
    with mine, childs, ThreadPoolExecutor(1) as thread:
        running = thread.submit(callback.run, order.to_frame(), childs)
        while (frame := receive_frame(mine)) is not None and "result" not in frame:
            secret = frame["ask"] in {"connection", "variable"}
            xcom = {"found": True, "value": [frame["ask"], frame.get("task_id")]}
            send_frame(mine, {"text": SECRETS[frame["name"]]} if secret else xcom)
        running.result()
    assert frame is not None
    result: Frame = frame["result"]
    return result


def test_the_functions_of_a_tasks_event_are_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = called(tmp_path, claimed("failure", cause="KeyError: 'x'"))

    assert (result["outcome"], result["error"]) == ("success", None)
    assert capsys.readouterr().out.splitlines() == [
        "told ('t', -1, 2, 'failed') running",
        """failed AirflowException("KeyError: 'x'") 2013-01-01 conn""",
        "True",
        "['pull_xcom', 'other']",
    ]


@pytest.mark.parametrize(
    ("reason", "raised"),
    [
        ("timed_out", "AirflowTaskTimeout"),
        ("lost", "AirflowTaskTerminated"),
        ("cancelled", "AirflowTaskTerminated"),
        ("skipped", "AirflowSkipException"),
    ],
)
def test_what_the_worker_has_seen_is_an_exception_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reason: str, raised: str
) -> None:
    called(tmp_path, claimed("failure", reason=reason, cause="so"))

    assert f"{reason} {raised}('so')" in capsys.readouterr().out


def test_those_of_a_run_have_a_context_without_a_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = called(tmp_path, claimed("failure", task_id=None, reason="timed_out"))

    assert result["outcome"] == "success"
    assert capsys.readouterr().out.splitlines()[:2] == [
        "told None failed",
        "timed_out None 2013-01-01 dag",
    ]


def test_those_of_a_run_are_told_of_the_task_that_decided_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = DAG_FILE.replace(
        "def look_up",
        "def about(context):\n"
        "    ti, run = context['task_instance'], context['dag_run']\n"
        "    print(ti.key[1:], ti.state, run.state, ti.hostname, ti.duration, ti.log_url)\n"
        "    print(ti.end_date, run.end_date, context['task'].task_id)\n\n"
        "def look_up",
    ).replace('"etl", on_failure_callback=tell', '"etl", on_failure_callback=about')
    its = EndedInstance("t", -1, 3, TaskState.FAILED, NIGHT, NIGHT + timedelta(seconds=5), "far")

    called(tmp_path, claimed("failure", None, instance=its, run_ended_at=NIGHT), text)

    page = "http://localhost:8793/dags/etl/runs/r/tasks/t/attempts/3/log"

    assert capsys.readouterr().out.splitlines()[:2] == [
        f"('t', 'r', 3, -1) failed failed far 5.0 {page}",
        "2013-01-01 00:00:05+00:00 2013-01-01 00:00:00+00:00 t",
    ]


def test_those_of_a_mapped_task_are_called_for_one_instance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called(tmp_path, claimed("retry", "mapped", map_index=1))

    assert "told ('mapped', 1, 2, 'up_for_retry') running" in capsys.readouterr().out


def test_nothing_can_be_left_there_is_no_spark_and_what_is_granted_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = called(tmp_path, claimed("success", reason="success", cause="not told of"))

    assert result["outcome"] == "failed"
    assert result["error"].splitlines() == [
        "push: A callback cannot leave the XCom 'key': its task has ended.",
        "spark: A callback has no Spark; let a task with a trigger rule use it.",
    ]
    printed = capsys.readouterr().out
    assert "success None" in printed
    assert "logs in as ann\nlooks up ops\n" in printed


@pytest.mark.parametrize(
    ("its", "text", "error"),
    [
        (claimed("skipped"), DAG_FILE, "its task 't' has no on_skipped_callback."),
        (claimed("success", None), DAG_FILE, "its DAG has no on_success_callback."),
        (
            claimed("failure", "gone"),
            DAG_FILE,
            "has no task 'gone'; its tasks: t, mapped",
        ),
        (claimed("failure"), "", "it makes no DAG 'etl'."),
        (claimed("failure"), "1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_code_that_has_nothing_to_call_says_so(
    tmp_path: Path, its: ClaimedCallback, text: str, error: str
) -> None:
    result = called(tmp_path, its, text)

    assert result["outcome"] == "failed"
    assert result["error"].startswith("The DAG file of this version gives nothing to call: ")
    assert error in result["error"]


@pytest.mark.parametrize("its", [claimed("retry", cause="x"), claimed("success", task_id=None)])
def test_an_order_travels_in_a_frame(its: ClaimedCallback) -> None:
    order = order_of(its, Code(Path("/code"), {}), DAG)

    assert order.cron_semantics is CronSemantics.TRIGGER, "as the timetable of the version is"
    assert CallbackOrder.from_frame(*FrameReader().feed(encode_frame(order.to_frame()))) == order
    assert order.environment == {"HEADWAY_CALLBACK": "5"}
    assert order.facts.try_number == (its.attempt or 0)
