"""`headway backfill run`: a backfill in a process of its own, where there is no scheduler."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from socket import socket

import pytest
from sqlalchemy import Connection

from headway.actions.backfills.control import progress_of
from headway.runtime.processes.parent_death import dies_with_parent
from headway.testing.services.cluster import ServiceCluster, service_cluster

pytestmark = pytest.mark.services

DAG_FILE = Path(__file__).parents[1] / "dags" / "backfills" / "backfills.py"
DAYS = ("2013-01-01", "2013-01-02")
SOON_DEAD = {
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "15",
    "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "0.5",
}


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    with service_cluster(database_url, tmp_path, SOON_DEAD) as cluster:
        shutil.copy(DAG_FILE, cluster.dags)
        for kind in ("parser", "worker"):
            cluster.start(kind)
        cluster.wait_for_version("past")
        yield cluster


def create(cluster: ServiceCluster) -> int:
    """Backfill two days, one after the other."""
    conf = json.dumps({"folder": str(cluster.home)})
    days = ("--from", DAYS[0], "--to", DAYS[1], "--max-active-runs", "1")
    done = cluster.headway("backfill", "create", "past", *days, "--conf", conf, "--no-wait")
    assert done.returncode == 0, done
    return int(done.stdout.split()[1])


def started(
    cluster: ServiceCluster, number: int, given: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start the backfill's job, as whom schedulers log in."""
    with (cluster.home / "services" / "backfill.log").open("wb") as log:
        return subprocess.Popen(
            dies_with_parent([sys.executable, "-m", "headway.cli", "backfill", "run", str(number)]),
            env={
                **cluster.environment,
                "HEADWAY_DATABASE_URL": cluster.urls["scheduler"],
                **(given or {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def states(cluster: ServiceCluster) -> list[str]:
    return [run.state for run in cluster.runs("past")]


def test_it_needs_no_scheduler_and_ends_with_its_runs(cluster: ServiceCluster) -> None:
    for day in DAYS:
        (cluster.home / day).touch()

    job = started(cluster, create(cluster))

    assert job.wait(60) == 0, cluster.service_logs()
    assert states(cluster) == ["success", "success"]


def test_it_leaves_the_port_of_the_scheduler_alone(cluster: ServiceCluster) -> None:
    for day in DAYS:
        (cluster.home / day).touch()
    with socket() as scheduler:
        scheduler.bind(("", 0))
        scheduler.listen()
        port = {"HEADWAY_SCHEDULER_HTTP_PORT": str(scheduler.getsockname()[1])}

        job = started(cluster, create(cluster), port)

        assert job.wait(60) == 0, cluster.service_logs()


def test_schedulers_go_on_with_the_runs_of_one_that_was_killed(cluster: ServiceCluster) -> None:
    number = create(cluster)
    job = started(cluster, number)
    cluster.runs("past")[0].wait_for_task("works", "running")
    job.send_signal(signal.SIGKILL)
    job.wait(60)
    cluster.start("scheduler")
    for day in DAYS:
        (cluster.home / day).touch()

    def ended(conn: Connection) -> bool:
        return progress_of(conn, number).state == "success"

    cluster.until(ended, "the end of the backfill")
    assert states(cluster) == ["success", "success"]


def test_whoever_may_not_and_what_there_is_not_are_refused_in_a_sentence(
    cluster: ServiceCluster,
) -> None:
    number = create(cluster)

    refused = cluster.headway("backfill", "run", str(number))
    unknown = cluster.headway("backfill", "run", "99")

    assert (refused.returncode, unknown.returncode) == (6, 4)
    last = refused.stderr.splitlines()[-1]
    assert last.startswith("Error: The account that HEADWAY_DATABASE_URL names may not be a ")
    assert last.endswith("log in as headway_scheduler.")
    assert "Traceback" not in refused.stderr
    assert unknown.stderr.startswith("Error: There is no backfill 99")
    assert states(cluster) == ["queued", "queued"]
