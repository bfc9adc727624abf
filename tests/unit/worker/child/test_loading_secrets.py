"""A task or a callback loads its DAG file again, which reads connections and variables anew."""

import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.interval import DataInterval
from headway.domain.states import RunType
from headway.runtime.processes.frames import Frame, receive_frame, send_frame
from headway.sdk.running.facts import RunFacts
from headway.testing.data.airflow_names import without_airflow
from headway.testing.data.version_code import store
from headway_worker.child import attempt, callback
from headway_worker.protocol.callback_order import CallbackOrder
from headway_worker.protocol.order import TaskOrder
from headway_worker.protocol.supply import Code

DAG_FILE = """
from headway.sdk import DAG, BaseHook, PythonOperator, Variable
{names}
def tell(context):
    print("tells", REGION)

with DAG("etl", on_failure_callback=tell):
    for name in REGION.split():
        PythonOperator(task_id=name, python_callable=lambda: print("in", REGION))
"""
READS = 'REGION = Variable.get("region", "t")'
BY_AIRFLOW = 'from airflow.models import Variable\nREGION = Variable.get("region", default_var="t")'
CONNECTS = 'REGION = BaseHook.get_connection("shop").host'
READ = ("variable:region",)
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


def ran(
    folder: Path, names: str, answers: Mapping[str, Frame], read: tuple[str, ...] = READ
) -> Frame:
    """Run an attempt, answer what it asks for by name, and return its result."""
    order = TaskOrder(
        cron_semantics=CronSemantics.INTERVAL,
        parse_secrets=read,
        code=code(folder, names),
        relative_path="etl.py",
        facts=FACTS,
        attempt_key="1-1",
        max_xcom_bytes=1000,
    )
    mine, childs = socket.socketpair()
    with mine, childs, ThreadPoolExecutor(1) as thread:
        running = thread.submit(attempt.run, order.to_frame(), childs)
        while (frame := receive_frame(mine)) is not None and "result" not in frame:
            send_frame(mine, answers[f"{frame['ask']}:{frame['name']}"])
        running.result()
    assert frame is not None
    result: Frame = frame["result"]
    return result


def code(folder: Path, names: str) -> Code:
    return Code(folder, store(folder, {"etl.py": DAG_FILE.format(names=names).encode()}))


@pytest.mark.parametrize("names", [READS, BY_AIRFLOW])
def test_a_task_has_the_value_of_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: str
) -> None:
    result = ran(tmp_path, names, {"variable:region": {"text": "t u"}})

    assert (result["outcome"], result["error"]) == ("success", None)
    assert "in t u\n" in capsys.readouterr().out


def test_a_default_counts_where_there_is_no_variable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = ran(tmp_path, READS, {"variable:region": {"text": None}})

    assert result["outcome"] == "success"
    assert "in t\n" in capsys.readouterr().out


def test_a_connection_is_read_as_well(tmp_path: Path) -> None:
    shop = {"text": '{"conn_type": "http", "host": "t"}'}

    assert ran(tmp_path, CONNECTS, {"connection:shop": shop})["outcome"] == "success"


def test_without_a_grant_it_says_which_grants_let_it(tmp_path: Path) -> None:
    refused = {"error": "DAG 'etl' may not read it.", "refused": True}

    result = ran(tmp_path, READS, {"variable:region": refused})

    assert result["outcome"] == "failed"
    assert (
        "DAG 'etl' may not read it. The DAG file reads it while it is loaded, so a grant to its "
        "bundle lets it, too: `headway variables grant region --bundle NAME`." in result["error"]
    )


def test_a_value_that_makes_other_tasks_is_told(tmp_path: Path) -> None:
    result = ran(tmp_path, READS, {"variable:region": {"text": "u"}})

    assert result["outcome"] == "failed"
    assert "makes no task 't' in a DAG 'etl'" in result["error"]
    assert "It reads the variable region while it is loaded: a value may have" in result["error"]


def test_the_file_of_a_version_that_has_read_nothing_is_refused(tmp_path: Path) -> None:
    result = ran(tmp_path, READS, {}, ())

    assert "Variable.get('region') was called while a DAG file is read" in result["error"]


def test_a_version_of_a_former_release_has_the_default_of_airflow(tmp_path: Path) -> None:
    assert ran(tmp_path, BY_AIRFLOW, {}, ())["outcome"] == "success"


def test_a_callback_has_the_value_of_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order = CallbackOrder(
        key="5-1",
        code=code(tmp_path, READS),
        relative_path="etl.py",
        facts=FACTS,
        event=CallbackEvent.FAILURE,
        of_run=True,
        reason="failed",
        cause=None,
        cron_semantics=CronSemantics.INTERVAL,
        parse_secrets=READ,
    )
    mine, childs = socket.socketpair()
    with mine, childs, ThreadPoolExecutor(1) as thread:
        running = thread.submit(callback.run, order.to_frame(), childs)
        assert receive_frame(mine) == {"ask": "variable", "name": "region"}
        send_frame(mine, {"text": "t now"})
        frame = receive_frame(mine)
        running.result()

    assert frame is not None
    assert frame["result"]["error"] is None
    assert "tells t now" in capsys.readouterr().out
