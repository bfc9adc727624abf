"""The child process of an instance asks for its own items, and of nobody else's."""

import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.interval import DataInterval
from headway.runtime.processes.frames import Frame, receive_frame, send_frame
from headway.sdk.running.facts import RunFacts
from headway.testing.data.version_code import store
from headway_worker.child import attempt
from headway_worker.protocol.order import TaskOrder
from headway_worker.protocol.supply import Code

DAG_FILE = """
from headway.sdk import DAG, task

with DAG("etl"):
    @task
    def plan():
        return 3
    @task
    def work(x, y, z):
        return [x, y, z]
    @task
    def gather(found, one):
        return [found, one]
    mapped = work.partial(z=plan()["z"]).expand(x=plan(), y=["a", "b"])
    gather(mapped, "{{ ti.xcom_pull(task_ids='work', map_indexes=3) }}")
"""

LEFT: dict[str, Frame] = {
    "xcom_length": {"length": 2},
    "xcom_item": {"item": "second", "pair": False},
    "pull_xcoms": {"values": [], "last": None},
    "pull_xcom": {"found": True, "value": "z"},
    "push_xcom": {"saved": True},
}


@pytest.fixture(autouse=True)
def _restored_path() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


def run(folder: Path, task_id: str, map_index: int = -1) -> tuple[list[Frame], Any]:
    """Run an attempt as its child process does; return its questions and its result."""
    facts = RunFacts(
        dag_id="etl",
        run_id="manual__1",
        task_id=task_id,
        data_interval=DataInterval.exact(datetime(2013, 1, 1, tzinfo=UTC)),
        map_index=map_index,
    )
    order = TaskOrder(
        cron_semantics=CronSemantics.INTERVAL,
        code=Code(folder, store(folder, {"etl.py": DAG_FILE.encode()})),
        relative_path="etl.py",
        facts=facts,
        attempt_key="1-1",
        max_xcom_bytes=1000,
    )
    ours, theirs = socket.socketpair()
    ours.settimeout(5)
    questions: list[Frame] = []
    with ours, theirs, ThreadPoolExecutor(1) as threads:
        running = threads.submit(attempt.run, order.to_frame(), theirs)
        while (frame := receive_frame(ours)) is not None and "result" not in frame:
            questions.append(frame)
            send_frame(ours, LEFT[frame["ask"]])
        running.result(timeout=5)
    assert frame is not None
    return questions, frame["result"]


def test_an_instance_asks_for_its_own_item_alone(tmp_path: Path) -> None:
    questions, result = run(tmp_path, "work", 3)

    name = {"task_id": "plan__1", "key": "return_value"}
    assert result["outcome"] == "success"
    assert questions == [
        {"ask": "xcom_length", **name},
        {"ask": "xcom_item", **name, "index": 1},
        {"ask": "pull_xcom", "task_id": "plan", "key": "z", "map_index": -1},
        {"ask": "push_xcom", "key": "return_value", "value": ["second", "b", "z"]},
    ]


def test_an_instance_beyond_the_items_fails(tmp_path: Path) -> None:
    questions, result = run(tmp_path, "work", 4)

    assert result["outcome"] == "failed"
    assert "There is no instance 4 any more" in result["error"]
    assert [question["ask"] for question in questions] == ["xcom_length"]


def test_who_is_expanded_over_fails_without_items(tmp_path: Path) -> None:
    questions, result = run(tmp_path, "plan__1")

    assert result["outcome"] == "failed"
    assert "Task 'plan__1' returned 3, but task 'work' is expanded over it" in result["error"]
    assert questions == []


def test_the_results_of_a_mapped_task_are_asked_for_as_such(tmp_path: Path) -> None:
    questions, result = run(tmp_path, "gather")

    assert result["outcome"] == "success"
    name = {"task_id": "work", "key": "return_value"}
    assert questions == [
        {"ask": "pull_xcoms", **name, "after": -1},
        {"ask": "pull_xcom", **name, "map_index": 3},
        {"ask": "push_xcom", "key": "return_value", "value": [[], "z"]},
    ]
