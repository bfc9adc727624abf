"""Attempts and callbacks of a DAG file that imports `airflow`."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.interval import DataInterval
from headway.domain.states import RunType
from headway.runtime.processes.frames import Frame, receive_frame, send_frame
from headway.runtime.settings.layer_use import LayerUse
from headway.sdk.running.facts import RunFacts
from headway.testing.data.airflow_names import without_airflow
from headway.testing.data.version_code import store
from headway_worker.child import attempt, callback
from headway_worker.protocol.callback_order import CallbackOrder
from headway_worker.protocol.order import TaskOrder
from headway_worker.protocol.supply import Code

DAG_FILE = """
from airflow import DAG
from airflow.operators.python import PythonOperator

def greet(**context):
    print("greets on", context["ds"])

def tell(context):
    from airflow.exceptions import AirflowException
    print("tells", AirflowException.__name__)

with DAG("etl", default_args={"owner": "ann"}, concurrency=1):
    PythonOperator(
        task_id="t", python_callable=greet, provide_context=True, on_failure_callback=tell
    )
"""
FACTS = RunFacts(
    dag_id="etl",
    run_id="r",
    task_id="t",
    run_type=RunType.MANUAL,
    data_interval=DataInterval.exact(datetime(2013, 1, 1, tzinfo=UTC)),
)


@pytest.fixture(autouse=True)
def _airflow() -> Iterator[None]:
    with without_airflow():
        yield


def said(child: Callable[[Frame, socket.socket], None], order: Frame) -> Frame:
    mine, childs = socket.socketpair()
    with mine, childs, ThreadPoolExecutor(1) as thread:
        running = thread.submit(child, order, childs)
        while (frame := receive_frame(mine)) is not None and "result" not in frame:
            send_frame(mine, {"error": f"it asks for {frame}", "refused": True})
        running.result()
    assert frame is not None
    result: Frame = frame["result"]
    return result


def test_a_task_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = Code(tmp_path, store(tmp_path, {"etl.py": DAG_FILE.encode()}))
    order = TaskOrder(
        cron_semantics=CronSemantics.INTERVAL,
        code=code,
        relative_path="etl.py",
        facts=FACTS,
        attempt_key="1-1",
        max_xcom_bytes=1000,
    )

    result = said(attempt.run, order.to_frame())

    assert (result["outcome"], result["error"]) == ("success", None)
    assert "greets on 2013-01-01" in capsys.readouterr().out


@pytest.fixture
def _real_airflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A real Airflow on the path."""
    (tmp_path / "site" / "airflow").mkdir(parents=True)
    (tmp_path / "site" / "airflow" / "__init__.py").write_text("raise ImportError('the real one')")
    with without_airflow():
        monkeypatch.syspath_prepend(tmp_path / "site")
        yield


@pytest.mark.usefixtures("_real_airflow")
@pytest.mark.parametrize(("use", "outcome"), [("auto", "failed"), ("always", "success")])
def test_an_order_says_whether_a_real_airflow_is_hidden(
    tmp_path: Path, use: str, outcome: str
) -> None:
    code = Code(tmp_path, store(tmp_path, {"etl.py": DAG_FILE.encode()}))
    call = replace(call_of(code, CronSemantics.INTERVAL), airflow_layer=LayerUse(use))
    order = TaskOrder(
        code=code,
        relative_path="etl.py",
        facts=FACTS,
        attempt_key="1-1",
        max_xcom_bytes=1000,
        cron_semantics=CronSemantics.INTERVAL,
        airflow_layer=LayerUse(use),
    )

    assert said(callback.run, call.to_frame())["outcome"] == outcome
    with without_airflow():
        assert said(attempt.run, order.to_frame())["outcome"] == outcome


def call_of(code: Code, chosen: CronSemantics) -> CallbackOrder:
    return CallbackOrder(
        key="5-1",
        code=code,
        relative_path="etl.py",
        facts=FACTS,
        event=CallbackEvent.FAILURE,
        reason="failed",
        cause=None,
        of_run=False,
        cron_semantics=chosen,
    )


@pytest.mark.parametrize("chosen", CronSemantics)
def test_the_dag_has_the_timetable_of_its_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], chosen: CronSemantics
) -> None:
    text = DAG_FILE.replace('context["ds"]', 'context["dag"].cron_semantics')
    text = text.replace('"tells", ', '"tells", context["dag"].cron_semantics, ')
    code = Code(tmp_path, store(tmp_path, {"etl.py": text.encode()}))
    order = TaskOrder(
        code=code,
        relative_path="etl.py",
        facts=FACTS,
        attempt_key="1-1",
        max_xcom_bytes=1000,
        cron_semantics=chosen,
    )
    call = call_of(code, chosen)

    said(attempt.run, order.to_frame())
    said(callback.run, call.to_frame())

    told = capsys.readouterr().out
    assert f"greets on {chosen}" in told
    assert f"tells {chosen}" in told


def test_a_callback_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = Code(tmp_path, store(tmp_path, {"etl.py": DAG_FILE.encode()}))
    order = call_of(code, CronSemantics.INTERVAL)

    result = said(callback.run, order.to_frame())

    assert (result["outcome"], result["error"]) == ("success", None)
    assert "tells AirflowException" in capsys.readouterr().out
