"""No two jobs of one Spark task overlap when its worker is stopped, and nothing of a job stays."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from threading import Event

import pytest

from headway.runtime.daemon.clock import SystemClock
from headway.testing.data.marks import Marks
from headway.testing.services.cluster import ServiceCluster, service_cluster

pytestmark = [pytest.mark.services, pytest.mark.spark]
pytest.importorskip("pyspark")

DAGS = Path(__file__).parent / "dags" / "spark_deadlines"
LONG = 180.0
LEASE = {
    "HEADWAY_WORKER_LEASE_DURATION": "14",
    "HEADWAY_WORKER_KILL_GRACE": "4",
    "HEADWAY_WORKER_HEARTBEAT_INTERVAL": "1",
    "HEADWAY_SCHEDULER_LEASE_GRACE": "1",
    "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "0.2",
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "300",
}
AFTERWARDS = 3.0
"""Seconds for which a first job that was not ended would go on beside the second one."""


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    copytree(DAGS, tmp_path / "root" / "dags")
    with service_cluster(database_url, tmp_path / "root", LEASE) as cluster:
        cluster.start("parser")
        cluster.start("scheduler")
        for dag_id in ("session", "driver"):
            cluster.wait_for_version(dag_id)
        yield cluster


def check_that_jobs_do_not_overlap(cluster: ServiceCluster, marks: Marks, dag_id: str) -> None:
    """Stop the worker of a job until the next attempt has one; no process of the first is left."""
    worker = cluster.start("worker")
    run = cluster.trigger(dag_id, {"folder": str(marks.folder)})
    marks.wait_for(1, LONG)
    with worker.paused():
        cluster.start("worker", 2)
        marks.wait_for(2, LONG)
        SystemClock().wait(Event(), AFTERWARDS)

        assert marks.overlaps() == []
    marks.end()
    run.wait()
    assert [row.outcome for row in run.attempts()] == ["lost", "success"]
    assert marks.overlaps() == []


@pytest.mark.regression
def test_with_the_supervisor_stopped_the_nanny_of_the_server_ends_the_job_of_a_session(
    cluster: ServiceCluster, marks: Marks
) -> None:
    check_that_jobs_do_not_overlap(cluster, marks, "session")


@pytest.mark.regression
def test_with_the_supervisor_stopped_the_nanny_ends_the_job_of_a_driver_of_its_own(
    cluster: ServiceCluster, marks: Marks
) -> None:
    check_that_jobs_do_not_overlap(cluster, marks, "driver")
