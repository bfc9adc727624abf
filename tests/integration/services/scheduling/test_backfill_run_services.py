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
from headway.testing.services.cluster import ServiceCluster, crew

pytestmark = pytest.mark.services

DAG_FILE = Path(__file__).parents[1] / "dags" / "backfills" / "backfills.py"
DAYS = ("2013-01-01", "2013-01-02")
SOON_DEAD = {
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "15",
    "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "0.5",
}


@pytest.fixture
def members(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    with crew(database_url, tmp_path, SOON_DEAD) as members:
        shutil.copy(DAG_FILE, members.dags)
        for kind in ("parser", "worker"):
            members.start(kind)
        members.wait_for_version("past")
        yield members


def create(members: ServiceCluster) -> int:
    """Backfill two days, one after the other."""
    conf = json.dumps({"folder": str(members.home)})
    days = ("--from", DAYS[0], "--to", DAYS[1], "--max-active-runs", "1")
    done = members.headway("backfill", "create", "past", *days, "--conf", conf, "--no-wait")
    assert done.returncode == 0, done
    return int(done.stdout.split()[1])


def started(
    members: ServiceCluster, number: int, given: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start the backfill's job, as whom schedulers log in."""
    with (members.home / "services" / "backfill.log").open("wb") as log:
        return subprocess.Popen(
            dies_with_parent([sys.executable, "-m", "headway.cli", "backfill", "run", str(number)]),
            env={
                **members.environment,
                "HEADWAY_DATABASE_URL": members.urls["scheduler"],
                **(given or {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def states(members: ServiceCluster) -> list[str]:
    return [run.state for run in members.runs("past")]


def test_it_needs_no_scheduler_and_ends_with_its_runs(members: ServiceCluster) -> None:
    for day in DAYS:
        (members.home / day).touch()

    job = started(members, create(members))

    assert job.wait(60) == 0, members.service_logs()
    assert states(members) == ["success", "success"]


def test_it_leaves_the_port_of_the_scheduler_alone(members: ServiceCluster) -> None:
    for day in DAYS:
        (members.home / day).touch()
    with socket() as scheduler:
        scheduler.bind(("", 0))
        scheduler.listen()
        port = {"HEADWAY_SCHEDULER_HTTP_PORT": str(scheduler.getsockname()[1])}

        job = started(members, create(members), port)

        assert job.wait(60) == 0, members.service_logs()


def test_schedulers_go_on_with_the_runs_of_one_that_was_killed(members: ServiceCluster) -> None:
    number = create(members)
    job = started(members, number)
    members.runs("past")[0].wait_for_task("works", "running")
    job.send_signal(signal.SIGKILL)
    job.wait(60)
    members.start("scheduler")
    for day in DAYS:
        (members.home / day).touch()

    def ended(conn: Connection) -> bool:
        return progress_of(conn, number).state == "success"

    members.until(ended, "the end of the backfill")
    assert states(members) == ["success", "success"]


def test_whoever_may_not_and_what_there_is_not_are_refused_in_a_sentence(
    members: ServiceCluster,
) -> None:
    number = create(members)

    refused = members.headway("backfill", "run", str(number))
    unknown = members.headway("backfill", "run", "99")

    assert (refused.returncode, unknown.returncode) == (6, 4)
    last = refused.stderr.splitlines()[-1]
    assert last.startswith("Error: The account that HEADWAY_DATABASE_URL names may not be a ")
    assert last.endswith("log in as headway_scheduler.")
    assert "Traceback" not in refused.stderr
    assert unknown.stderr.startswith("Error: There is no backfill 99")
    assert states(members) == ["queued", "queued"]
