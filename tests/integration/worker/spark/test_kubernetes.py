"""Spark's own spark-submit against a stand-in for the API of Kubernetes: what it prints is read."""

import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from headway.domain.spark_work import Handle
from headway.embedded.java import find_java_home
from headway.runtime.daemon.clock import SystemClock
from headway.sdk.running.task_runtime import SparkApplication
from headway_worker.spark.cluster.app_outcome import AppOutcome
from headway_worker.spark.cluster.cluster_queries import ClusterToolsByKind, Kubernetes
from headway_worker.spark.cluster.cluster_run import RemoteRun
from headway_worker.spark.cluster.submission import Submission, SubmitSettings
from headway_worker.spark.target.connection import SparkConnection, SparkKind
from headway_worker.spark.target.errors import SparkError

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark")

POD = "headway-7-1-ab-driver"
PATH = f"/api/v1/namespaces/etl/pods/{POD}"


@dataclass
class Api:
    """One pod, or none; `asked` are the requests that came."""

    server: ThreadingHTTPServer
    phase: str | None = None
    asked: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)

    def answer(self, method: str, path: str) -> tuple[int, dict[str, Any]]:
        path = path.partition("?")[0]
        self.asked.append((method, path))
        if path != PATH or self.phase is None:
            return 404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}
        pod = _pod(self.phase)
        if method == "DELETE":
            self.phase = None
        return 200, pod


def _pod(phase: str) -> dict[str, Any]:
    terminated = {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"}
    ended = phase in ("Failed", "Succeeded")
    state = (
        {"terminated": terminated} if ended else {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    )
    container = {"name": "spark-kubernetes-driver", "image": "spark", "state": state}
    metadata = {
        "name": POD,
        "namespace": "etl",
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {**metadata, "labels": {"spark-role": "driver"}},
        "spec": {"containers": [{"name": "spark-kubernetes-driver", "image": "spark"}]},
        "status": {"phase": phase, "containerStatuses": [container]},
    }


@pytest.fixture
def api() -> Iterator[Api]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            served.tokens.add(self.headers.get("Authorization"))
            code, found = served.answer(self.command, self.path)
            body = json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_DELETE = do_PATCH = do_POST = _answer  # noqa: N815 - their names are given

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Api(server)
    Thread(target=server.serve_forever, daemon=True).start()
    yield served
    server.shutdown()
    server.server_close()


def settings_for(api: Api, folder: Path, defaults: str) -> SubmitSettings:
    """Return settings with these defaults of Spark's own."""
    master = f"k8s://http://127.0.0.1:{api.server.server_address[1]}"
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text(defaults)
    return SubmitSettings(
        java_home=find_java_home(None, os.environ, folder),
        scratch=folder / "scratch",
        environment={"PATH": os.environ["PATH"], "SPARK_CONF_DIR": str(folder / "conf")},
        connection=SparkConnection(kind=SparkKind.CLUSTER, master=master),
        master=master,
    )


def test_a_pod_is_made_where_it_is_looked_for(api: Api, tmp_path: Path) -> None:
    """In the namespace of Spark's defaults; nobody is there who would take it."""
    defaults = "spark.kubernetes.namespace  etl\nspark.kubernetes.container.image spark\n"
    settings = settings_for(api, tmp_path, defaults)
    application = SparkApplication(application="local:///job.py", deploy_mode="cluster")
    handles: list[Handle] = []
    run = RemoteRun(
        submission=Submission(settings, "7-1", handles.append, io.BytesIO()),
        cluster=ClusterToolsByKind(settings, application),
        prior=lambda: None,
        say=lambda _: None,
        clock=SystemClock(),
    )

    with pytest.raises(SparkError, match="exited with 1"):
        run.run(application)

    namespace, _, pod = handles[0]["submission_id"].partition(":")
    assert namespace == "etl"
    assert ("POST", "/api/v1/namespaces/etl/pods") in api.asked
    assert api.asked[-1] == ("GET", f"/api/v1/namespaces/etl/pods/{pod}")


@pytest.mark.parametrize(
    ("phase", "outcome", "why"),
    [
        pytest.param("Running", AppOutcome.RUNNING, "", marks=pytest.mark.long),
        pytest.param("Succeeded", AppOutcome.SUCCEEDED, "", marks=pytest.mark.long),
        pytest.param("Failed", AppOutcome.FAILED, "Failed. 1 ", marks=pytest.mark.long),
    ],
)
def test_what_spark_submit_prints_of_a_pod_is_understood(
    api: Api, tmp_path: Path, phase: str, outcome: AppOutcome, why: str
) -> None:
    token = "spark.kubernetes.authenticate.submission.oauthToken"
    settings = settings_for(api, tmp_path, f"{token} sesame\nspark.kubernetes.namespace other\n")
    cluster = Kubernetes(settings, SparkApplication(application="job.py"))
    handle: Handle = {"master": settings.master, "submission_id": f"etl:{POD}"}

    api.phase = phase
    told = cluster.ask(handle)
    assert (told.outcome, told.why.startswith(why)) == (outcome, True), told

    cluster.kill(handle)
    assert api.asked[-1] == ("DELETE", PATH)
    assert cluster.ask(handle).outcome is AppOutcome.ABSENT
    assert api.tokens == {"Bearer sesame"}
