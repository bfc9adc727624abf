"""No two jobs of one Spark task overlap when its worker is stopped, and nothing of a job stays."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copytree
from threading import Event

import pytest
from tests.databases import TestDatabases

from headway.runtime.daemon.clock import SystemClock
from headway.testing.data.marks import Marks
from headway.testing.database.postgres import ThrowawayPostgres
from headway.testing.services.cluster import ServiceCluster, service_cluster
from headway.testing.services.stack_run import StackRun

pytestmark = [pytest.mark.services, pytest.mark.spark]
pytest.importorskip("pyspark")

KINDS = ("session", "driver")
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


@dataclass(frozen=True)
class Job:
    """A run whose first worker was stopped, and for how long its jobs overlapped meanwhile."""

    marks: Marks
    run: StackRun
    while_paused: list[float] = field(default_factory=list)


@pytest.fixture(scope="module")
def cluster(
    databases: TestDatabases,
    postgres: ThrowawayPostgres,
    address: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ServiceCluster]:
    name, root = databases.take(), tmp_path_factory.mktemp("deadlines")
    copytree(DAGS, root / "dags")
    with service_cluster(address(postgres.url_of(name)), root, LEASE) as cluster:
        cluster.start("parser")
        cluster.start("scheduler")
        for dag_id in KINDS:
            cluster.wait_for_version(dag_id)
        yield cluster
    databases.give_back(name)


@pytest.fixture(scope="module")
def jobs(cluster: ServiceCluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """One run of each DAG on one worker, which is stopped until the next attempts have a job."""
    worker = cluster.start("worker")
    jobs = {}
    for kind in KINDS:
        marks = Marks(tmp_path_factory.mktemp(kind))
        jobs[kind] = Job(marks, cluster.trigger(kind, {"folder": str(marks.folder)}))
    for job in jobs.values():
        job.marks.wait_for(1, LONG)
    with worker.paused():
        cluster.start("worker", 2)
        for job in jobs.values():
            job.marks.wait_for(2, LONG)
        SystemClock().wait(Event(), AFTERWARDS)
        for job in jobs.values():
            job.while_paused.extend(job.marks.overlaps())
    for job in jobs.values():
        job.marks.end()
        job.run.wait()
    return jobs


def check_that_jobs_do_not_overlap(job: Job) -> None:
    """No process of the first attempt's job is left when the second attempt has one."""
    assert job.while_paused == []
    assert [row.outcome for row in job.run.attempts()] == ["lost", "success"]
    assert job.marks.overlaps() == []


@pytest.mark.regression
def test_with_the_supervisor_stopped_the_nanny_of_the_server_ends_the_job_of_a_session(
    jobs: dict[str, Job],
) -> None:
    check_that_jobs_do_not_overlap(jobs["session"])


@pytest.mark.regression
def test_with_the_supervisor_stopped_the_nanny_ends_the_job_of_a_driver_of_its_own(
    jobs: dict[str, Job],
) -> None:
    check_that_jobs_do_not_overlap(jobs["driver"])
