"""Applications in cluster mode through the real services: killed, stopped, overdue, attached to.

The programs of the cluster are stand-ins that keep their state in a folder.
"""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.db.reads import process_views
from headway.domain.spark_work import Handle
from headway.testing.services.machine import processes_below
from headway.testing.services.stack import Stack, running_stack
from headway.testing.services.stack_run import StackRun
from headway.testing.spark.fake_cluster import FakeCluster
from headway.testing.time.clock import until

pytestmark = pytest.mark.services
pytest.importorskip("pyspark")

DAGS = Path(__file__).parents[1] / "dags" / "cluster_mode"
DEAD = {"remote": "KILLED", "remote_pod": "DELETED"}


@dataclass(frozen=True)
class Scene:
    stack: Stack
    cluster: FakeCluster

    def worker(self) -> int:
        """Return the process of the worker that lives; a dead one is not missed at once."""

        def living() -> list[int]:
            with self.stack.engine.connect() as conn:
                pids = [row.pid for row in process_views.processes(conn, "worker")]
            return [pid for pid in pids if is_alive(pid)]

        (pid,) = until(living, "a worker that lives")
        return pid

    def kill_the_worker(self) -> None:
        """Kill it; `standalone` starts another one."""
        os.kill(self.worker(), signal.SIGKILL)

    def submissions(self) -> int:
        return len(self.cluster.commands("--deploy-mode"))

    def kills(self) -> int:
        return len(self.cluster.commands("-kill") + self.cluster.commands("--kill"))

    def start(self, dag_id: str) -> StackRun:
        """Start a run, and return it when its application is known to run."""
        run = self.stack.trigger(dag_id)
        until(lambda: "submitted" in (self.handle(run) or {}), "an application that runs")
        return run

    def await_second(self, run: StackRun) -> None:
        """Wait until a second attempt runs, and has asked how the application is."""
        until(
            lambda: sum(attempt.started_at is not None for attempt in run.attempts("job")) == 2,
            "it",
        )
        before = len(self.cluster.commands("-status"))
        until(lambda: len(self.cluster.commands("-status")) > before, "its question")

    def handle(self, run: StackRun) -> Handle | None:
        attempts = run.attempts("job")
        return attempts[-1].handle if attempts else None


def is_alive(pid: int) -> bool:
    """Whether there is such a process, and it has not ended; a zombie has no command line."""
    file = Path(f"/proc/{pid}/cmdline")
    return file.exists() and file.read_bytes() != b""


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("cluster_mode")
    cluster = FakeCluster.new(folder / "cluster")
    yarn = {"conn_type": "yarn", "extra": {"spark_home": str(cluster.home)}}
    pods = {**yarn, "conn_type": "spark", "host": "k8s://https://cluster"}
    given = {
        "HEADWAY_CONN_SPARK_DEFAULT": json.dumps(yarn),
        "HEADWAY_CONN_PODS": json.dumps(pods),
        "HADOOP_HOME": str(cluster.home),
        "HEADWAY_WORKER_LEASE_DURATION": "5",
        "HEADWAY_WORKER_HEARTBEAT_INTERVAL": "1",
        "HEADWAY_WORKER_DRAIN_GRACE": "0.1",
        "HEADWAY_SCHEDULER_LEASE_GRACE": "0",
        "HEADWAY_SCHEDULER_ORPHANED_TASKS_CHECK_INTERVAL": "1",
    }
    with running_stack(folder / "home", DAGS, given) as stack:
        stack.grant("spark_default", "pods")
        yield Scene(stack, cluster)


@pytest.fixture
def scene(services: Scene) -> Iterator[Scene]:
    """Services on a cluster that has nothing to do, and no fault."""
    yield services
    services.cluster.reset()


def outcomes(run: StackRun) -> list[str | None]:
    return [row.outcome for row in sorted(run.attempts("job"), key=lambda row: row.attempt)]


def test_an_application_outlives_its_worker_and_the_next_attempt_waits_for_it(
    scene: Scene,
) -> None:
    run = scene.start("remote")

    scene.kill_the_worker()
    scene.await_second(run)
    scene.cluster.finish()
    run.wait()

    assert outcomes(run) == ["lost", "success"]
    assert (scene.submissions(), scene.kills()) == (1, 0)
    assert "An earlier attempt has left application" in run.log("job", 2)


def test_a_worker_dies_between_saving_its_handle_and_submitting(scene: Scene) -> None:
    scene.cluster.begin("stalling")
    run = scene.stack.trigger("remote")
    until(lambda: scene.handle(run) and scene.submissions(), "a submission under way")
    assert "submitted" not in (scene.handle(run) or {})

    scene.kill_the_worker()
    until(lambda: outcomes(run)[:1] == ["lost"], "the loss")
    scene.cluster.stop("stalling")  # whoever was submitting for the dead one has gone with it
    until(scene.cluster.applications, "an application")
    scene.cluster.finish()
    run.wait()

    assert outcomes(run) == ["lost", "success"]
    assert len(scene.cluster.applications()) == 1
    assert (scene.submissions(), scene.kills()) == (2, 0)


def test_a_worker_dies_before_it_hears_that_its_application_was_accepted(scene: Scene) -> None:
    scene.cluster.begin("hanging")
    run = scene.stack.trigger("remote")
    until(scene.cluster.applications, "an application")

    scene.kill_the_worker()
    scene.cluster.stop("hanging")
    scene.await_second(run)
    scene.cluster.finish()
    run.wait()

    assert outcomes(run) == ["lost", "success"]
    assert (scene.submissions(), scene.kills()) == (1, 0)


@pytest.mark.long
def test_a_success_that_a_dead_worker_has_not_reported_is_taken(scene: Scene) -> None:
    run = scene.start("remote")
    scene.kill_the_worker()
    scene.cluster.finish()
    run.wait()

    assert outcomes(run) == ["lost", "success"]
    assert scene.submissions() == 1


@pytest.mark.long
def test_a_worker_that_is_told_to_stop_leaves_its_application_to_the_next(scene: Scene) -> None:
    run = scene.start("remote")
    os.kill(scene.worker(), signal.SIGTERM)
    scene.await_second(run)
    scene.cluster.finish()
    run.wait()

    assert outcomes(run) == ["lost", "success"]
    assert (scene.submissions(), scene.kills()) == (1, 0)


def retry_that_asks(scene: Scene) -> StackRun:
    """Return a run of which the second attempt asks a silent cluster what the first has left."""
    run = scene.start("remote")
    scene.cluster.begin("silent")
    scene.kill_the_worker()
    until(lambda: len(run.attempts("job")) == 2, "a second attempt")
    before = len(scene.cluster.commands("-status"))
    until(lambda: len(scene.cluster.commands("-status")) > before, "its question")
    return run


@pytest.mark.long
def test_a_worker_that_stops_while_a_retry_asks_leaves_the_application_alone(scene: Scene) -> None:
    run = retry_that_asks(scene)

    os.kill(scene.worker(), signal.SIGTERM)
    until(lambda: outcomes(run)[:2] == ["lost", "lost"], "the hand-over")
    assert scene.kills() == 0
    scene.cluster.stop("silent")
    scene.cluster.finish()
    run.wait()

    assert outcomes(run) == ["lost", "lost", "success"]
    assert (scene.submissions(), scene.kills()) == (1, 0)


@pytest.mark.long
def test_a_retry_that_is_cancelled_while_it_asks_ends_the_earlier_ones_application(
    scene: Scene,
) -> None:
    run = retry_that_asks(scene)

    marked = scene.stack.headway(
        "tasks", "mark", run.dag_id, run.run_id, "job", "--as", "failed", "--yes"
    )
    assert marked.returncode == 0, marked.stderr
    # There is a second between two of them, which is all that other tasks get.
    until(lambda: scene.kills() >= 4, "the application being killed, time and again")
    scene.cluster.stop("silent")
    run.wait()

    assert outcomes(run) == ["lost", "cancelled"]
    assert scene.cluster.applications()[0]["state"] == "KILLED"
    assert (scene.handle(run) or {})["application_id"] == scene.cluster.applications()[0]["id"]


@pytest.mark.parametrize("dag_id", ["remote", pytest.param("remote_pod", marks=pytest.mark.long)])
def test_a_cancelled_task_keeps_its_slot_until_its_application_has_ended(
    scene: Scene, dag_id: str
) -> None:
    scene.cluster.begin("clinging")
    run = scene.start(dag_id)

    marked = scene.stack.headway(
        "tasks", "mark", run.dag_id, run.run_id, "job", "--as", "failed", "--yes"
    )
    assert marked.returncode == 0, marked.stderr
    until(lambda: scene.kills() >= 3, "the application being killed, time and again")
    assert run.attempt("job").phase == "stopping"
    scene.cluster.stop("clinging")
    run.wait()

    assert outcomes(run) == ["cancelled"]
    assert run.states() == {"job": "failed"}
    assert [application["state"] for application in scene.cluster.ended()] == [DEAD[dag_id]]


def test_a_cleared_tasks_application_is_killed_even_if_its_worker_dies_before_that_is_done(
    scene: Scene,
) -> None:
    scene.cluster.begin("clinging")
    run = scene.start("remote")

    cleared = scene.stack.headway("tasks", "clear", run.dag_id, run.run_id, "job", "--yes")
    assert cleared.returncode == 0, cleared.stderr
    until(scene.kills, "the application being killed")
    scene.kill_the_worker()
    until(lambda: outcomes(run)[:1] == ["lost"], "the loss")
    scene.cluster.stop("clinging")
    until(lambda: len(scene.cluster.applications()) == 2, "another application")
    scene.cluster.finish()
    run.wait()

    assert outcomes(run) == ["lost", "cancelled", "success"]
    assert [application["state"] for application in scene.cluster.applications()] == [
        "KILLED",
        "FINISHED",
    ]


def mark(scene: Scene, run: StackRun, target: str) -> None:
    """Mark the job, as a user does."""
    marked = scene.stack.headway(
        "tasks", "mark", run.dag_id, run.run_id, "job", "--as", target, "--yes"
    )
    assert marked.returncode == 0, marked.stderr


@pytest.mark.long
def test_a_marked_tasks_application_is_killed_even_if_its_worker_dies_before_that_is_done(
    scene: Scene,
) -> None:
    scene.cluster.begin("clinging")
    run = scene.start("remote")
    mark(scene, run, "success")
    until(scene.kills, "the application being killed")

    scene.kill_the_worker()
    until(lambda: len(run.attempts("job")) == 2, "another attempt")
    before = scene.kills()
    until(lambda: scene.kills() > before, "the application being killed by that one")
    assert run.attempts("job")[-1].phase == "stopping"
    scene.cluster.stop("clinging")
    run.wait()

    assert outcomes(run) == ["lost", "cancelled"]
    assert run.states() == {"job": "success"}
    assert scene.submissions() == 1
    assert scene.cluster.applications()[0]["state"] == "KILLED"
    assert "What it had on the cluster has ended" in run.log("job", 2)


@pytest.mark.long
def test_a_task_that_is_marked_when_its_worker_is_dead_has_its_application_killed(
    scene: Scene,
) -> None:
    """By whichever attempt: that which has died, or that which was to wait for the application."""
    run = scene.start("remote")
    scene.kill_the_worker()

    mark(scene, run, "failed")
    run.wait()

    assert outcomes(run)[0] == "lost"
    assert outcomes(run)[-1] == "cancelled"
    assert scene.cluster.applications()[0]["state"] == "KILLED"


def test_a_task_that_must_not_run_twice_has_its_application_killed_with_its_worker(
    scene: Scene,
) -> None:
    run = scene.start("remote_once")
    scene.kill_the_worker()
    run.wait()

    assert outcomes(run) == ["lost", "cancelled"]
    assert run.states() == {"job": "failed"}
    assert scene.submissions() == 1
    assert scene.cluster.applications()[0]["state"] == "KILLED"


def test_an_overdue_application_whose_driver_hangs_has_one_outcome_once_it_is_dead(
    scene: Scene,
) -> None:
    scene.cluster.begin("clinging")
    run = scene.start("remote_overdue")
    until(lambda: scene.kills() >= 3, "the application being killed, time and again")
    assert run.attempt("job").phase == "running"

    scene.cluster.stop("clinging")
    run.wait()

    assert outcomes(run) == ["timed_out"]
    assert scene.submissions() == 1
    assert scene.cluster.applications()[0]["state"] == "KILLED"


def test_a_driver_here_that_hangs_in_its_shutdown_is_killed(scene: Scene) -> None:
    scene.cluster.begin("clinging")
    run = scene.stack.run("near_overdue")

    assert (scene.cluster.home / "driver").exists()
    assert outcomes(run) == ["timed_out"]
    assert not [
        command
        for command in processes_below(scene.cluster.home).values()
        if "spark-submit" in command
    ]
    assert "has not accepted any resources" in run.log("job")
