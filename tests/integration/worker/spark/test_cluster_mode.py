"""Cluster mode through programs that stand in for those of YARN and Kubernetes."""

import io
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.interval import DataInterval
from headway.domain.spark_work import Handle
from headway.domain.states import Outcome
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.processes.frames import Frame
from headway.sdk.exceptions import AirflowFailException
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import SparkApplication
from headway.testing.data.version_code import version_code
from headway.testing.spark.fake_cluster import FakeCluster
from headway.testing.time.clock import until
from headway_worker.protocol.order import TaskOrder
from headway_worker.protocol.supply import Code
from headway_worker.spark.cluster.app_outcome import PriorApp
from headway_worker.spark.cluster.cluster_queries import ClusterToolsByKind
from headway_worker.spark.cluster.cluster_run import RemoteRun
from headway_worker.spark.cluster.submission import Submission, SubmitSettings
from headway_worker.spark.session.attempt import spark_of
from headway_worker.spark.target.connection import SparkConnection, SparkKind
from headway_worker.spark.target.errors import SparkError
from headway_worker.spark.target.target import SparkTarget

KUBERNETES = "k8s://https://cluster:6443"
CANARY = "canary-7f3a"


class Attempt:
    """One attempt of a task in cluster mode; the handles that it saved stay."""

    def __init__(self, cluster: FakeCluster, scratch: Path, master: str, **options: Any) -> None:
        connection = SparkConnection(
            kind=SparkKind.CLUSTER, master=master, spark_home=str(cluster.home)
        )
        self.settings = SubmitSettings(
            java_home=Path("/nowhere"),
            scratch=scratch,
            environment={
                "PATH": f"{cluster.home / 'bin'}:{os.environ['PATH']}",
                "HADOOP_HOME": str(cluster.home),
            },
            connection=connection,
            master=master,
        )
        self.application = SparkApplication(
            application="job.py",
            deploy_mode="cluster",
            status_poll_interval=0.05,
            **options,
        )
        self.handles: list[Handle] = []
        self.output = io.BytesIO()
        self.said: list[str] = []

    def run(self, prior: PriorApp | None = None, patience: float = 60.0) -> None:
        RemoteRun(
            submission=Submission(self.settings, "7-1", self.handles.append, self.output),
            cluster=ClusterToolsByKind(self.settings, self.application),
            prior=lambda: prior,
            say=self.said.append,
            clock=SystemClock(),
            patience=patience,
        ).run(self.application)


@pytest.fixture
def cluster(tmp_path: Path) -> FakeCluster:
    return FakeCluster.new(tmp_path / "cluster")


@pytest.fixture(params=["yarn", KUBERNETES])
def attempt(
    request: pytest.FixtureRequest, cluster: FakeCluster, tmp_path: Path
) -> Callable[..., Attempt]:
    def make(**options: Any) -> Attempt:
        return Attempt(cluster, tmp_path / "scratch", request.param, **options)

    return make


def finishing(cluster: FakeCluster, final: str, act: Callable[[], None]) -> None:
    """Do that while the application, once it is there and was asked about, ends so."""

    def finish() -> None:
        until(cluster.applications, "an application")
        until(lambda: cluster.commands("-status") or cluster.commands("--status"), "a question")
        cluster.finish(final)

    with ThreadPoolExecutor(1) as threads:
        ending = threads.submit(finish)
        act()
        ending.result()


def test_an_application_is_submitted_once_and_waited_for(
    cluster: FakeCluster, attempt: Callable[..., Attempt]
) -> None:
    mine = attempt()

    finishing(cluster, "SUCCEEDED", mine.run)

    (application,) = cluster.applications()
    assert mine.handles[-1]["application_id"] == application["id"]
    assert mine.handles[-1]["submitted"] == "yes"
    assert mine.handles[-1].get("submission_id") == application.get("pod")
    assert mine.handles[0]["tag"] in (application.get("tags") or application["pod"])


def test_a_pod_is_looked_for_in_the_namespace_of_spark_defaults(
    cluster: FakeCluster, tmp_path: Path
) -> None:
    (cluster.home / "conf").mkdir()
    (cluster.home / "conf" / "spark-defaults.conf").write_text("spark.kubernetes.namespace=etl\n")
    mine = Attempt(cluster, tmp_path / "scratch", KUBERNETES)

    finishing(cluster, "SUCCEEDED", mine.run)

    (application,) = cluster.applications()
    assert application["pod"].startswith("etl:")
    assert mine.handles[0]["submission_id"] == application["pod"]
    for asked in cluster.commands("--status"):
        assert "--load-spark-defaults" in asked


def test_an_application_that_fails_is_told_in_the_clusters_words(
    cluster: FakeCluster, attempt: Callable[..., Attempt]
) -> None:
    with pytest.raises(SparkError, match="has failed: F"):
        finishing(cluster, "FAILED", attempt().run)


def test_what_is_refused_is_told_with_the_last_lines(
    cluster: FakeCluster, attempt: Callable[..., Attempt]
) -> None:
    cluster.begin("refusing")

    with pytest.raises(SparkError, match="exited with 1") as caught:
        attempt().run()

    assert "the queue is full" in str(caught.value)


@pytest.mark.parametrize("known", [True, False])
def test_the_next_attempt_finds_it_again_by_its_id_or_its_tag(
    cluster: FakeCluster, attempt: Callable[..., Attempt], known: bool
) -> None:
    first, second = attempt(), attempt()
    finishing(cluster, "SUCCEEDED", first.run)
    left = first.handles[-1] if known else first.handles[0]

    second.run(PriorApp(left, Outcome.LOST))

    assert len(cluster.applications()) == 1
    assert len(cluster.commands("--deploy-mode")) == 1
    assert "left application" in second.said[0]


def test_one_that_never_arrived_is_submitted_by_the_next_attempt(
    cluster: FakeCluster, attempt: Callable[..., Attempt]
) -> None:
    cluster.begin("refusing")
    first, second = attempt(), attempt()
    with pytest.raises(SparkError):
        first.run()
    cluster.stop("refusing")

    finishing(cluster, "SUCCEEDED", lambda: second.run(PriorApp(first.handles[0], Outcome.LOST)))

    assert len(cluster.applications()) == 1


def test_one_that_the_cluster_has_forgotten_is_not_submitted_again(
    cluster: FakeCluster, attempt: Callable[..., Attempt]
) -> None:
    first, second = attempt(), attempt()
    finishing(cluster, "SUCCEEDED", first.run)
    cluster.forget()

    with pytest.raises(AirflowFailException, match="knows nothing any more"):
        second.run(PriorApp(first.handles[-1], Outcome.LOST))
    assert cluster.applications() == []


def test_a_cluster_that_does_not_answer_gets_nothing_new(
    cluster: FakeCluster, attempt: Callable[..., Attempt]
) -> None:
    first, second = attempt(), attempt()
    finishing(cluster, "SUCCEEDED", first.run)
    cluster.begin("silent")

    with pytest.raises(SparkError, match="nothing is submitted now"):
        second.run(PriorApp(first.handles[-1], Outcome.LOST), patience=0.0)
    assert len(cluster.commands("--deploy-mode")) == 1


def test_one_that_a_user_has_stopped_is_killed_before_the_next(
    cluster: FakeCluster, attempt: Callable[..., Attempt]
) -> None:
    first, second = attempt(), attempt()
    finishing(cluster, "SUCCEEDED", first.run)
    (application,) = cluster.applications()
    application |= {"state": "RUNNING", "final": "UNDEFINED"}
    (cluster.home / "apps" / application["id"]).write_text(json.dumps(application))

    def run_again() -> None:
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(second.run, PriorApp(first.handles[-1], Outcome.CANCELLED))
            until(lambda: len(cluster.commands("--deploy-mode")) == 2, "a second submission")
            until(lambda: "submitted" in second.handles[-1], "its answer")
            cluster.finish()
            running.result()

    run_again()

    kill = cluster.commands("-kill") or cluster.commands("--kill")
    assert len(kill) == 1
    order = [call["command"] for call in cluster.calls()]
    assert order.index(kill[0]) < max(n for n, each in enumerate(order) if "--deploy-mode" in each)


@pytest.mark.parametrize("number", [1, 2])
def test_only_a_retry_asks_what_was_left_and_it_does_so_in_client_mode_too(
    cluster: FakeCluster, attempt: Callable[..., Attempt], number: int, tmp_path: Path
) -> None:
    """As after a change of the task from cluster mode to client mode, on another connection."""
    first = attempt()
    finishing(cluster, "SUCCEEDED", first.run)
    (cluster.home / "done").touch()  # so that drivers here end at once
    asked: list[Frame] = []
    day = DataInterval.exact(datetime(2013, 1, 1, tzinfo=UTC))
    facts = RunFacts(dag_id="d", run_id="r", task_id="t", data_interval=day, try_number=number)
    order = TaskOrder(
        cron_semantics=CronSemantics.INTERVAL,
        code=Code(tmp_path, {}),
        relative_path="d.py",
        facts=facts,
        attempt_key="1-2",
        max_xcom_bytes=64,
    )
    near = SparkConnection(
        kind=SparkKind.CLUSTER, master="spark://here:7077", spark_home=str(cluster.home)
    )
    where = SparkTarget(connection=near, master="local[2]", java_home=Path("/nowhere"))
    answers: dict[str, Frame] = {
        "spark": where.to_frame(),
        "prior_handle": {"found": True, "handle": dict(first.handles[-1]), "outcome": "lost"},
        "save_handle": {"saved": True},
    }

    def ask(question: Frame) -> Frame:
        asked.append(question)
        return answers[question["ask"]]

    access = spark_of(order, version_code(tmp_path, {}), ask, asked.append)
    access.scratch = tmp_path / "scratch"
    access.environment = first.settings.environment
    access.submit_spark(SparkApplication(application="job.py"))

    saved = [each["handle"].get("mode") for each in asked if each["ask"] == "save_handle"]
    assert ("prior_handle" in [each["ask"] for each in asked]) is (number == 2)
    assert saved == (["cluster"] if number == 2 else [None])
    assert len(cluster.commands("--master", "spark://here:7077")) == 2 - number


def test_secrets_are_on_no_command_line(
    cluster: FakeCluster, attempt: Callable[..., Attempt]
) -> None:
    mine = attempt(conf={"spark.hadoop.password": CANARY}, env_vars={"API_KEY": CANARY})

    finishing(cluster, "SUCCEEDED", mine.run)

    assert CANARY not in json.dumps([call["command"] for call in cluster.calls()])
    files = list((mine.settings.scratch).glob("*.properties"))
    assert any(CANARY in file.read_text() for file in files)
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)
    assert CANARY not in json.dumps(mine.handles)


def test_yarn_is_asked_as_the_user_of_the_application(cluster: FakeCluster, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    mine = Attempt(cluster, scratch, "yarn", principal="svc@REALM", keytab="/svc.keytab")
    finishing(cluster, "SUCCEEDED", mine.run)

    cache = f"FILE:{scratch / 'krb5cc'}"
    assert cluster.commands("kinit") == [["kinit", "-c", cache, "-kt", "/svc.keytab", "svc@REALM"]]
    asked = [call for call in cluster.calls() if call["command"][0] == "yarn"]
    assert {call["environment"]["KRB5CCNAME"] for call in asked} == {cache}

    another = FakeCluster.new(tmp_path / "another")
    theirs = Attempt(another, scratch, "yarn", proxy_user="you")
    finishing(another, "SUCCEEDED", theirs.run)
    asked = [call for call in another.calls() if call["command"][0] == "yarn"]
    assert {call["environment"]["HADOOP_PROXY_USER"] for call in asked} == {"you"}


def test_cluster_mode_on_yarn_needs_its_command(cluster: FakeCluster, tmp_path: Path) -> None:
    (cluster.home / "bin" / "yarn").unlink()
    mine = Attempt(cluster, tmp_path / "scratch", "yarn")
    mine.settings.environment["PATH"] = str(tmp_path)  # type: ignore[index]

    with pytest.raises(AirflowFailException, match="needs Hadoop's command `yarn`"):
        mine.run()
    assert (cluster.applications(), mine.handles) == ([], [])
