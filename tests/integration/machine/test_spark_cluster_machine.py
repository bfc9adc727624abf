"""A stand-alone Spark cluster through the real services, in every way that a task may use it."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.db.reads import process_views
from headway.testing.data.known import known
from headway.testing.processes.environment import path_and_home
from headway.testing.services.machine import Machine
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun
from headway.testing.spark.spark_cluster import SparkCluster, spark_cluster
from headway.testing.time.clock import until
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings

pytestmark = [pytest.mark.services, pytest.mark.spark, pytest.mark.long]
pytest.importorskip("pyspark")

DAGS = Path(__file__).parent / "dags" / "spark_cluster"
LONG = 180.0
DRIVER = "driver.properties"
"""What is on the command line of a driver of an attempt's own."""

# A worker that is killed is missed soon.
SOON = {
    "HEADWAY_WORKER_HEARTBEAT_INTERVAL": "1",
    "HEADWAY_WORKER_KILL_GRACE": "2",
    "HEADWAY_WORKER_LEASE_DURATION": "10",
    "HEADWAY_SCHEDULER_HEARTBEAT_INTERVAL": "1",
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "6",
    "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "1",
    "HEADWAY_SCHEDULER_LEASE_GRACE": "1",
}


@dataclass(frozen=True)
class Scene:
    """Services, and a cluster that is none of theirs."""

    machine: Machine
    stack: Stack
    cluster: SparkCluster

    def start(self, dag_id: str, folder: Path) -> StackRun:
        """Start a run, and return it when its job runs on the cluster."""
        run = self.stack.trigger(dag_id, {"folder": str(folder)})
        until(lambda: len(list(folder.glob("begun-*"))) >= 2, "a job that runs", LONG)
        return run

    def spark(self, run: StackRun, *figures_of: str) -> dict[str, str] | None:
        """Return what each task is said to have taken, None before some are known."""
        listed = self.machine.run("tasks", "list", run.dag_id, run.run_id, "-o", "json")
        told = {row["task_id"]: row["spark"] for row in json.loads(listed.stdout)}
        known = all(" tasks, " in told[task_id] for task_id in figures_of)
        return told if known else None

    def drivers(self) -> list[int]:
        """Return the processes of drivers of attempts' own."""
        return [pid for pid, line in self.machine.processes().items() if DRIVER in line]


def ended(run: StackRun) -> StackRun:
    until(lambda: run.row.ended_at, f"the end of {run.dag_id}", LONG)
    return run


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, cluster: SparkCluster) -> Iterator[Scene]:
    address = cluster.master.removeprefix("spark://")
    connection = {"conn_type": "spark", "host": address, "extra": {"conf": cluster.conf}}
    server = connect_server(tmp_path_factory.mktemp("connect"), cluster)
    endpoint = server.wait_ready(LONG)
    given = {
        **SOON,
        "HEADWAY_CONN_CLUSTER": json.dumps(connection),
        "HEADWAY_CONN_CONNECT_ON_CLUSTER": f"{endpoint.url}/;token={endpoint.token}",
    }
    machine = Machine.new(tmp_path_factory.mktemp("machine"), given)
    with machine.standalone(DAGS) as (standalone, engine):
        stack = Stack(machine.home, DAGS, machine.environment, engine, standalone.process)
        stack.wait_for_version("waits_in_an_application")
        stack.grant("cluster", "connect_on_cluster")
        yield Scene(machine, stack, cluster)
    server.stop()
    machine.wait_until_idle(30)


def connect_server(scratch: Path, cluster: SparkCluster) -> ConnectServer:
    """Start a Connect server whose jobs run on the cluster, on one of its two cores."""
    settings = ServerSettings(
        java_home=cluster.java_home,
        scratch=scratch,
        environment=path_and_home(),
        master=cluster.master,
        conf={
            **cluster.conf,
            "spark.dynamicAllocation.enabled": "true",
            "spark.dynamicAllocation.minExecutors": "0",
            "spark.dynamicAllocation.executorIdleTimeout": "1s",
        },
    )
    return ConnectServer.start(settings)


def test_a_task_runs_where_its_connection_says(scene: Scene) -> None:
    run = ended(scene.stack.trigger("on_a_cluster"))

    assert set(run.states().values()) == {"success"}, run.attempts()
    assert run.xcom("looks_around") == {
        "module": "pyspark.sql.session",
        "master": scene.cluster.master,
        "zone": "UTC",
        "cubes": [0, 1, 8, 27],
    }
    assert run.xcom("asks") == [{"s": 45}]
    assert run.xcom("drives") == "local[2] 5"
    log = run.log("submits")
    assert f"master {scene.cluster.master}\n" in log
    assert "counted 1000\n" in log
    for task_id in ("looks_around", "asks", "submits"):
        handle = known(run.attempt(task_id).handle)
        assert scene.cluster.ended()[handle["application_id"]] == "FINISHED"
        assert handle["conn_id"] == "cluster"
    assert scene.drivers() == []
    # The connection's drivers have no web interface, and nobody has configured event logs.
    told = until(lambda: scene.spark(run, "submits", "drives"), "the figures", LONG)
    assert told["looks_around"] == told["asks"] == "unknown"


@pytest.mark.parametrize("dag_id", ["waits", "waits_on_connect"])
def test_a_job_survives_the_loss_of_an_executor(scene: Scene, tmp_path: Path, dag_id: str) -> None:
    run = scene.start(dag_id, tmp_path)
    before = len(list(tmp_path.glob("begun-*")))

    scene.cluster.kill_an_executor()
    until(lambda: len(list(tmp_path.glob("begun-*"))) > before, "the job, begun anew", LONG)
    (tmp_path / "go").touch()
    ended(run)

    (task_id,) = run.states()
    assert run.states() == {task_id: "success"}
    assert run.xcom(task_id) == [0, 1]
    assert len(run.attempts(task_id)) == 1


@pytest.mark.parametrize("dag_id", ["waits", "waits_in_an_application", "waits_on_connect"])
def test_a_cancelled_tasks_job_is_gone_from_the_cluster(
    scene: Scene, tmp_path: Path, dag_id: str
) -> None:
    run = scene.start(dag_id, tmp_path)
    (task_id,) = run.states()
    application = known(run.attempt(task_id).handle)["application_id"]

    told = scene.machine.run(
        "tasks", "mark", run.dag_id, run.run_id, task_id, "--as", "failed", "--yes"
    )
    assert told.returncode == 0, told.stderr
    ended(run)

    assert scene.drivers() == []
    assert run.attempt(task_id).outcome == "cancelled"
    until(lambda: not scene.cluster.executors(), "the end of its executors")
    is_the_servers = dag_id == "waits_on_connect"
    until(lambda: (application in scene.cluster.active()) == is_the_servers, "its driver's end")


def test_a_driver_dies_with_its_worker_and_the_task_is_tried_once_more(
    scene: Scene, tmp_path: Path
) -> None:
    run = scene.start("waits", tmp_path)
    first = known(run.attempt("squares").handle)["application_id"]
    (driver,) = {pid for pid in scene.drivers() if is_java(pid)}
    with scene.stack.engine.connect() as conn:
        (worker,) = (row.pid for row in process_views.processes(conn, "worker"))

    os.kill(worker, signal.SIGKILL)
    until(lambda: len(run.attempts("squares")) == 2, "a second attempt", LONG)
    assert not Path(f"/proc/{driver}").exists(), "the driver outlives its attempt"
    (tmp_path / "go").touch()
    ended(run)

    outcomes = {row.attempt: row.outcome for row in run.attempts("squares")}
    assert outcomes == {1: "lost", 2: "success"}
    assert run.xcom("squares") == [0, 1]
    until(lambda: first not in scene.cluster.active(), "the end of the first application")


def is_java(pid: int) -> bool:
    return b"SparkSubmit" in Path(f"/proc/{pid}/cmdline").read_bytes()
