"""No two executions of one task or callback overlap when a process above one of them is stopped."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from threading import Event

import pytest
from sqlalchemy import text

from headway.runtime.daemon.clock import SystemClock
from headway.testing.data.marks import Marks
from headway.testing.processes.task_processes import find
from headway.testing.services.cluster import ServiceCluster, service_cluster

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "deadlines"
LEASE = {
    "HEADWAY_WORKER_LEASE_DURATION": "10",
    "HEADWAY_WORKER_KILL_GRACE": "3",
    "HEADWAY_WORKER_HEARTBEAT_INTERVAL": "1",
    "HEADWAY_SCHEDULER_LEASE_GRACE": "1",
    "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "0.2",
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "300",
}
AFTERWARDS = 3.0
"""Seconds for which a first execution that was not ended would go on beside the second one."""


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    copytree(DAGS, tmp_path / "root" / "dags")
    with service_cluster(database_url, tmp_path / "root", LEASE) as cluster:
        cluster.start("parser")
        cluster.start("scheduler")
        for dag_id in ("marks", "marks_in_callback"):
            cluster.wait_for_version(dag_id)
        yield cluster


def go_on(seconds: float) -> None:
    SystemClock().wait(Event(), seconds)


@pytest.mark.regression
def test_with_the_supervisor_stopped_the_nanny_ends_a_task_before_its_next_attempt(
    cluster: ServiceCluster, marks: Marks
) -> None:
    worker = cluster.start("worker")
    run = cluster.trigger("marks", {"folder": str(marks.folder)})
    marks.wait_for(1)
    with worker.paused():
        cluster.start("worker", 2)
        marks.wait_for(2)
        go_on(AFTERWARDS)

        assert marks.overlaps() == []
    marks.end()
    run.wait()

    assert [row.outcome for row in run.attempts()] == ["lost", "success"]
    assert marks.overlaps() == []
    fenced = "The lease could not be renewed in time"
    cluster.until(lambda _: fenced in run.log("marking") or None, "the first one giving up")


@pytest.mark.regression
def test_with_the_supervisor_stopped_the_nanny_ends_a_callback_before_it_is_called_again(
    cluster: ServiceCluster, marks: Marks
) -> None:
    worker = cluster.start("worker")
    cluster.trigger("marks_in_callback", {"folder": str(marks.folder)})
    marks.wait_for(1)
    with worker.paused():
        cluster.start("worker", 2)
        marks.wait_for(2)
        go_on(AFTERWARDS)

        assert marks.overlaps() == []
    marks.end()
    over = text("SELECT bool_and(state = 'success') FROM callback")
    cluster.until(lambda conn: conn.scalar(over), "the end of the callback")


@pytest.mark.regression
def test_with_the_nanny_stopped_the_fork_server_ends_a_task_before_its_next_attempt(
    cluster: ServiceCluster, marks: Marks
) -> None:
    worker = cluster.start("worker")
    run = cluster.trigger("marks", {"folder": str(marks.folder)})
    marks.wait_for(1)
    nanny = find((marks.folder / "nanny").read_text())
    assert nanny is not None

    os.kill(nanny, signal.SIGSTOP)

    marks.wait_for(2)
    go_on(AFTERWARDS)
    assert marks.overlaps() == []
    marks.end()
    run.wait()
    assert [row.outcome for row in run.attempts()] == ["lost", "success"]
    assert worker in cluster.members
