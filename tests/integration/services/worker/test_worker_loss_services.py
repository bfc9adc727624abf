"""Workers that die, stand still, lose the database or their fork server, drain, and end by
themselves: what becomes of their attempts, real processes all of them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from sqlalchemy import Connection, text

from headway.runtime.processes.parent_death import dies_with_parent
from headway.testing.database.relay import relay
from headway.testing.processes import task_processes
from headway.testing.processes.live_attempts import LiveAttempts
from headway.testing.services.cluster import ClusterMember, ServiceCluster, service_cluster
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import PATIENCE, until

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "losses"
LEASE = {
    "HEADWAY_WORKER_LEASE_DURATION": "8",
    "HEADWAY_WORKER_HEARTBEAT_INTERVAL": "1",
    "HEADWAY_SCHEDULER_LEASE_GRACE": "1",
    "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "0.2",
}
FORKER = (sys.executable, "-m", "headway.cli", "forker")
LEASE_END = text("""
    SELECT coalesce(max(lease.expires_at), max(claimed_until)) > clock_timestamp()
      FROM task_attempt LEFT JOIN lease USING (task_instance_id, attempt)
     WHERE outcome IS NULL
""")


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    """A parser and a scheduler, with the DAGs in force; workers are the tests' to start."""
    copytree(DAGS, tmp_path / "root" / "dags")
    with service_cluster(database_url, tmp_path / "root", LEASE) as cluster:
        cluster.start("parser")
        cluster.start("scheduler")
        for dag_id in ("waits", "asks_nothing", "shows_itself", "fails"):
            cluster.wait_for_version(dag_id)
        yield cluster


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def start(cluster: ServiceCluster, notes: Path, dag_id: str = "waits") -> StackRun:
    """Start a run, and return it when its task has noted its processes."""
    run = cluster.trigger(dag_id, {"folder": str(notes)})
    noted(cluster, notes, 1)
    return run


def noted(cluster: ServiceCluster, notes: Path, attempt: int) -> None:
    cluster.until(lambda _: read(notes / f"self-{attempt}") or None, f"attempt {attempt}")


def living(notes: Path, attempt: int) -> set[str]:
    """The noted processes of an attempt that still exist."""
    names = {f"self-{attempt}", f"sleeper-{attempt}"}
    found = [note for note in notes.iterdir() if note.name in names]
    return {note.name for note in found if task_processes.find(note.read_text())}


def outcomes(run: StackRun) -> list[str | None]:
    return [row.outcome for row in run.attempts()]


def go(notes: Path, attempt: int) -> None:
    (notes / f"go-{attempt}").touch()


def lease_holds(conn: Connection) -> bool:
    return bool(conn.scalar(LEASE_END))


def test_a_worker_that_is_killed_takes_its_trees_along(
    cluster: ServiceCluster, notes: Path
) -> None:
    worker = cluster.start("worker")
    run = start(cluster, notes)
    with LiveAttempts.recorded(cluster.home / "scratch") as seen:
        cluster.end(worker, signal.SIGKILL)
        until(lambda: living(notes, 1) == set(), "the end of the first attempt's processes")
        with cluster.engine.connect() as conn:
            assert lease_holds(conn)

        cluster.start("worker", 2)
        noted(cluster, notes, 2)
        until(lambda: 2 in {attempt for _, attempt in seen.seen}, "the second attempt seen alive")
        go(notes, 2)
        run.wait()

    assert outcomes(run) == ["lost", "success"]
    assert (run.xcom("waits"), seen.doubled) == ("attempt 2", set())
    task = run.tasks()["waits"]
    assert (task.failures, task.losses) == (0, 1)


def test_a_worker_that_slept_too_long_says_nothing_of_what_it_had(
    cluster: ServiceCluster, notes: Path
) -> None:
    worker = cluster.start("worker")
    run = start(cluster, notes, "asks_nothing")
    with worker.paused():
        go(notes, 1)  # it is done, and its worker asleep
        until(lambda: living(notes, 1) == set(), "the end of the first attempt")
        cluster.start("worker", 2)
        noted(cluster, notes, 2)

    fenced = "The lease could not be renewed in time"
    cluster.until(lambda _: fenced in run.log("asks_nothing") or None, "the first one giving up")
    assert outcomes(run) == ["lost", None]
    go(notes, 2)
    run.wait()

    assert outcomes(run) == ["lost", "success"]


def test_a_worker_without_the_database_kills_its_attempts_before_their_leases_end(
    cluster: ServiceCluster, notes: Path, database_url: str
) -> None:
    with relay(database_url) as way:
        worker = cluster.start(
            "worker", given={"HEADWAY_DATABASE_URL": through(cluster, way.through)}
        )
        run = start(cluster, notes)
        with way.cut():
            until(lambda: living(notes, 1) == set(), "the end of the first attempt's processes")
            with cluster.engine.connect() as conn:
                assert lease_holds(conn)
            cluster.start("worker", 2)
            noted(cluster, notes, 2)
        go(notes, 2)
        run.wait()
        assert "The lease could not be renewed in time" in run.log("waits")
        assert outcomes(run) == ["lost", "success"]
        assert cluster.end(worker) == 0


def test_a_report_outlasts_a_while_without_the_database(
    cluster: ServiceCluster, notes: Path, database_url: str
) -> None:
    with relay(database_url) as way:
        url = through(cluster, way.through)
        given = {"HEADWAY_DATABASE_URL": url, "HEADWAY_WORKER_LEASE_DURATION": "60"}
        worker = cluster.start("worker", given=given)
        run = start(cluster, notes, "asks_nothing")
        with way.cut():
            go(notes, 1)
            until(lambda: living(notes, 1) == set(), "the end of the attempt")
            until(lambda: "outcome=success" in worker.logged(), "the worker knowing of it")
            assert outcomes(run) == [None]
        run.wait()

        assert outcomes(run) == ["success"]
        assert cluster.end(worker) == 0


def through(cluster: ServiceCluster, way: object) -> str:
    assert callable(way)
    return str(way(cluster.urls["worker"]))


def test_a_worker_drains_when_a_user_says_so(cluster: ServiceCluster, notes: Path) -> None:
    worker = cluster.start("worker")
    run = start(cluster, notes)

    done = cluster.headway("worker", "drain", str(worker.id), "--reason", "a new kernel")
    assert done.returncode == 0, done.stderr
    waiting = cluster.trigger("shows_itself")
    waiting.wait_for_task("shows", "scheduled")

    (row,) = listed(cluster)
    assert (row["id"], row["running"], row["queues"]) == (worker.id, 1, ["default"])
    assert row["drain_requested_at"] is not None
    told = cluster.headway("explain", "shows_itself", waiting.run_id, "shows")
    assert f"draining, and taking no more: worker {worker.id}" in told.stdout, told.stderr
    told = cluster.headway("explain", "waits", run.run_id, "waits")
    assert "That worker drains" in told.stdout, told.stderr

    go(notes, 1)
    assert cluster.dismiss(worker) == 0
    assert outcomes(run) == ["success"]
    cluster.start("worker", 2)
    assert waiting.wait().state == "success"


def test_a_list_of_workers_says_what_their_machines_have_left(cluster: ServiceCluster) -> None:
    cluster.start("worker")
    cluster.until(lambda _: listed(cluster)[0]["report"] is not None or None, "a report")

    (row,) = listed(cluster)
    assert (row["slots"], row["running"], row["drain_requested_at"]) == (8, 0, None)
    report = row["report"]
    assert report["cpus"] >= 1
    assert report["load"] >= 0
    assert report["memory_bytes"] > 2**20
    assert report["disk_free_bytes"] > 0
    assert " MB" in cluster.headway("worker", "list").stdout


def test_only_a_worker_that_runs_can_be_told_to_drain(cluster: ServiceCluster) -> None:
    told = cluster.headway("worker", "drain", "4711")

    assert told.returncode == 4
    assert told.stderr == (
        "Error: There is no worker 4711 running. `headway worker list` shows those that are.\n"
    )


def listed(cluster: ServiceCluster) -> list[dict[str, Any]]:
    told = cluster.headway("worker", "list", "-o", "json")
    assert told.returncode == 0, told.stderr
    found: list[dict[str, Any]] = json.loads(told.stdout)
    return found


@pytest.mark.parametrize(
    ("dag_id", "status"), [("shows_itself", 0), pytest.param("fails", 1, marks=pytest.mark.long)]
)
def test_once_means_until_nothing_is_left_to_do(
    cluster: ServiceCluster, dag_id: str, status: int
) -> None:
    run = cluster.trigger(dag_id)
    ended = subprocess.run(
        [sys.executable, "-m", "headway.cli", "worker", "--once", "--patience", "10"],
        env={**cluster.environment, "HEADWAY_DATABASE_URL": cluster.urls["worker"]},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )

    assert ended.returncode == status, ended.stderr
    assert run.wait().state == ("failed" if status else "success")


@contextmanager
def fork_server(path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a fork server as another container would: without the worker's environment."""
    process = subprocess.Popen(
        dies_with_parent([*FORKER, "--socket", str(path), "--for", "worker"]),
        env={"PATH": os.environ["PATH"]},
    )
    try:
        until(path.exists, "the fork server's socket")
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


def begun_after(notes: Path, attempt: int) -> int | None:
    """Return the next attempt that runs: the second is lost, too, if claimed before the worker
    has seen that its fork server is dead.
    """
    return next((it for it in range(attempt + 1, 10) if read(notes / f"self-{it}")), None)


def test_attempts_may_be_forked_by_a_program_that_knows_no_secret(
    cluster: ServiceCluster, notes: Path, tmp_path: Path
) -> None:
    path = tmp_path / "socket"
    worker = cluster.start("worker", given={"HEADWAY_WORKER_FORKER": str(path)})
    waiting = cluster.trigger("shows_itself", {"folder": str(notes)})
    until(lambda: "action=await_forker" in worker.logged(), "a worker without fork server")
    with ExitStack() as ending:
        first = ending.enter_context(fork_server(path))
        pid = until(lambda: task_processes.find(read(notes / "shows") or ""), "the task's process")
        above = task_processes.ancestors(pid)
        assert first.pid in above
        assert worker.process.pid not in above
        (notes / "shown").touch()
        assert waiting.wait().xcom("shows") == {"preloaded": True}
        called = Path(until(lambda: read(notes / "called"), "the callback"))
        assert called.is_relative_to(cluster.home / "scratch"), "the one folder both may write in"

        run = start(cluster, notes)
        first.kill()
        first.wait()
        until(lambda: living(notes, 1) == set(), "the end of the first attempt's processes")
        ending.enter_context(fork_server(path))
        number = cluster.until(lambda _: begun_after(notes, 1), "the next attempt")
        go(notes, number)
        run.wait()

        assert outcomes(run) == [*["lost"] * (number - 1), "success"]
        assert_same(worker, cluster)
        assert cluster.end(worker) == 0


def test_a_worker_that_can_have_no_fork_server_of_its_own_ends_and_says_so(
    cluster: ServiceCluster, tmp_path: Path
) -> None:
    """Otherwise it would be there, claim nothing, and look as if it had nothing to do."""
    broken = tmp_path / "broken" / "sitecustomize.py"
    broken.parent.mkdir()
    broken.write_text('import sys\nif "children" in sys.orig_argv: sys.exit("no memory")\n')

    worker = cluster.launch("worker", given={"PYTHONPATH": str(broken.parent)})

    assert cluster.dismiss(worker) == 1
    assert "Error: The fork server died" in worker.logged()


def read(note: Path) -> str:
    return note.read_text() if note.exists() else ""


def assert_same(worker: ClusterMember, cluster: ServiceCluster) -> None:
    assert worker in cluster.members
    assert worker.process.poll() is None
