"""`kubectl headway` by the real kubectl, in the pods that the chart makes, on a real database."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.integration.kubectl.conftest import Cluster, programs

from headway.db.core import processes
from headway.runtime.logs.lines import LogLine, encode, stamp
from headway.runtime.logs.paths import LogKey, logs_folder
from headway.testing.data import seed
from headway.testing.data.forced import force

RUN = f"scheduled__{seed.START.isoformat()}"
TASK = ("etl", RUN, "work")


def write_log(home: Path, attempt: int, said: str) -> None:
    path = logs_folder(home) / LogKey(*TASK, -1, attempt).relative
    path.parent.mkdir(parents=True)
    at = stamp(datetime(2026, 1, 1, tzinfo=UTC))
    end = LogLine(time=at, source="headway", message="It has ended.", outcome="success")
    path.write_bytes(encode(LogLine(time=at, source="stdout", message=said)) + encode(end))


@pytest.fixture(scope="module", autouse=True)
def _history(cluster: Cluster) -> None:
    """A task of two attempts by workers in two pods, each with its log there alone."""
    run = seed.start_run(cluster.engine, seed.dag())
    force(cluster.engine, run, work="up_for_retry")
    force(cluster.engine, run, work="success")
    took = text("UPDATE task_attempt SET process_id = :worker WHERE attempt = :attempt")
    for attempt, pod in enumerate(cluster.pods("worker")[:2], start=1):
        with cluster.engine.begin() as conn:
            worker = processes.register(conn, "worker", (pod, 7), "test", ["default"], 4)
            conn.exec_driver_sql("SET LOCAL session_replication_role = replica")
            conn.execute(took, {"worker": worker.id, "attempt": attempt})
        write_log(cluster.home(pod), attempt, f"said by attempt {attempt}")


def events(cluster: Cluster) -> list[tuple[str, str]]:
    with cluster.engine.connect() as conn:
        return [(row.actor, row.action) for row in conn.execute(text("SELECT * FROM event"))]


def test_status_is_of_pods_and_of_the_database(cluster: Cluster) -> None:
    asked = cluster.headway("status", "--output", "json")

    [found] = json.loads(asked.stdout)
    assert asked.returncode == 1, "there is no scheduler in the database"
    assert found["release"] == "release"
    assert {pod["name"] for pod in found["pods"]} >= set(cluster.pods("scheduler"))
    assert all(deployment["ready"] == deployment["wanted"] for deployment in found["deployments"])
    assert [(service["kind"], service["alive"]) for service in found["services"]] == [
        *(("scheduler", 0), ("parser", 0), ("worker", 2))
    ]
    assert [problem["what"] for problem in found["stuck"]] == ["no_service", "no_service"]


def test_commands_run_in_a_scheduler_and_end_with_its_status(cluster: Cluster) -> None:
    why = cluster.headway("why", *TASK, "-o", "json")
    runs = cluster.headway("--release", "release", "runs", "etl", "--limit", "1", "-o", "json")
    unknown = cluster.headway("why", "etl", RUN, "nope")

    assert (why.returncode, json.loads(why.stdout)[0]["reason"]) == (0, "ended")
    assert [row["run_id"] for row in json.loads(runs.stdout)] == [RUN]
    assert unknown.returncode == 4
    assert "DAG etl has no task 'nope'" in unknown.stderr
    assert f"pods/{cluster.pods('scheduler')[0]}/exec headway explain" in (
        " ".join(cluster.stand_in.requests)
    )


def test_a_change_is_in_the_journal_under_the_name_that_the_cluster_knows(cluster: Cluster) -> None:
    paused = cluster.headway("pause", "etl")
    listed = cluster.headway("backfill", "list", "-n", "3", "--output", "json")
    unpaused = cluster.headway("unpause", "etl", "--output", "json")

    assert (paused.returncode, paused.stdout) == (0, "The DAG etl is paused.\n")
    assert json.loads(listed.stdout) == []
    assert json.loads(unpaused.stdout) == [{"dag_id": "etl", "paused": False, "changed": True}]
    assert events(cluster)[-2:] == [
        *(("user:ann@example.com", "dag.pause"), ("user:ann@example.com", "dag.unpause"))
    ]


def test_a_log_is_read_in_the_pod_of_its_worker(cluster: Cluster) -> None:
    first = cluster.headway("logs", *TASK, "--attempt", "1")
    last = cluster.headway("logs", *TASK, "-f")
    none = cluster.headway("logs", *TASK, "--attempt", "7")

    assert (first.returncode, last.returncode) == (0, 0), (first.stderr, last.stderr)
    assert "said by attempt 1" in first.stdout
    assert "said by attempt 2" in last.stdout
    assert "said by attempt 1" not in last.stdout
    assert none.returncode == 4
    assert "has no attempt 7 that has started: 1, 2" in none.stderr


def test_a_worker_drains_by_the_name_of_its_pod(cluster: Cluster) -> None:
    pod = cluster.pods("worker")[1]
    asked = "SELECT hostname FROM process WHERE drain_requested_at IS NOT NULL"

    done = cluster.headway("drain", pod, "--delete", "--reason", "a disk fails")
    refused = cluster.headway("drain", cluster.pods("parser")[0])

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Worker 2 in {pod} has no tasks any more; the pod is deleted.\n"
    with cluster.engine.connect() as conn:
        assert list(conn.scalars(text(asked))) == [pod]
    assert events(cluster)[-1] == ("user:ann@example.com", "worker.drain")
    assert pod not in cluster.pods("worker")
    assert refused.returncode == 5
    assert "only workers drain" in refused.stderr


def test_another_namespace_has_no_release(cluster: Cluster) -> None:
    done = cluster.headway("--namespace", "empty", "--context", "test", "doctor")

    assert done.returncode == 4
    assert "No release of Headway is in the namespace empty (context test)." in done.stderr


def test_a_cluster_that_does_not_answer_is_told_by_kubectl(cluster: Cluster) -> None:
    done = cluster.headway("runs", KUBECONFIG="/nowhere")

    assert done.returncode == 6
    assert done.stderr.startswith("Error: kubectl get failed: ")


def test_an_earlier_kubectl_and_a_user_that_the_cluster_does_not_name(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.stand_in, "user", "")

    done = cluster.headway("pause", "etl", PATH=programs(tmp_path / "bin", 3), LOGNAME="bob")

    assert (done.returncode, done.stdout) == (0, "The DAG etl is paused.\n")
    assert events(cluster)[-1] == ("user:bob", "dag.pause")
