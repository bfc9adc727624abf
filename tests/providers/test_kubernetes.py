"""The Kubernetes provider against a server that answers as the API of a cluster does."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.providers.conftest import RunDag

SOURCE = """
import pendulum
from airflow import DAG
from {module} import KubernetesPodOperator
from airflow.kubernetes.secret import Secret
from airflow.kubernetes.volume import Volume
from airflow.kubernetes.volume_mount import VolumeMount
from kubernetes.client import models as k8s

with DAG("d", start_date=pendulum.datetime(2024, 1, 1, tz="UTC"), schedule=None):
    KubernetesPodOperator(
        task_id="pod",
        kubernetes_conn_id="cluster",
        name="sales",
        namespace="shop",
        image="python:3.12",
        cmds=["python", "-c"],
        arguments=["print('{{{{ ds }}}}')"],
        env_vars=[k8s.V1EnvVar(name="DAY", value="{{{{ ds }}}}")],
        secrets=[Secret("env", "TOKEN", "shop", "token")],
        volumes=[Volume("data", {{"persistentVolumeClaim": {{"claimName": "sales"}}}})],
        volume_mounts=[VolumeMount("data", "/data", sub_path="{{{{ ds }}}}", read_only=True)],
        container_resources=k8s.V1ResourceRequirements(limits={{"memory": "1Gi"}}),
        log_events_on_failure=False,
        deferrable={deferrable},
    )
"""
OPERATOR = "airflow.providers.cncf.kubernetes.operators.pod"
OLD_OPERATOR = "airflow.contrib.operators.kubernetes_pod_operator"


class PodsApi(BaseHTTPRequestHandler):
    """Keep the pods that are made; each has ended when it is first looked at."""

    protocol_version = "HTTP/1.1"
    pods: dict[str, Any]
    deleted: list[str]
    exit_code = 0

    def do_POST(self) -> None:
        pod = self._body()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ended = {"exitCode": self.exit_code, "startedAt": now, "finishedAt": now}
        container = {"name": "base", "ready": False, "restartCount": 0, "image": "", "imageID": ""}
        phase = "Failed" if self.exit_code else "Succeeded"
        pod["metadata"]["creationTimestamp"] = now
        pod["status"] = {
            "phase": phase,
            "containerStatuses": [{**container, "state": {"terminated": ended}}],
        }
        self.pods[pod["metadata"]["name"]] = pod
        self._answer(pod)

    def do_GET(self) -> None:
        last = self.path.partition("?")[0].rpartition("/")[2]
        if last == "log":
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            self._send(f"{now} sold: 12\n".encode(), "text/plain")
        elif last in ("pods", "events"):
            self._answer({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []})
        else:
            self._answer(self.pods[last])

    def do_PATCH(self) -> None:
        self._body()
        self._answer(self.pods[self.path.partition("?")[0].rpartition("/")[2]])

    def do_DELETE(self) -> None:
        self._body()
        self.deleted.append(self.path)
        self._answer({"kind": "Status", "status": "Success"})

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")

    def _answer(self, content: Any) -> None:
        self._send(json.dumps(content).encode(), "application/json")

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def cluster() -> Iterator[tuple[type[PodsApi], int]]:
    class Api(PodsApi):
        pods, deleted = {}, []

    with ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Api, server.server_port
        server.shutdown()


def connection(folder: Path, port: int) -> dict[str, Any]:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {}}],
    }
    file = folder / "kube_config"
    file.write_text(json.dumps(config))
    return {"conn_type": "kubernetes", "extra": {"kube_config_path": str(file)}}


@pytest.mark.parametrize("module", [OPERATOR, OLD_OPERATOR])
def test_a_pod_is_made_watched_and_deleted(
    run_dag: RunDag, tmp_path: Path, cluster: tuple[type[PodsApi], int], module: str
) -> None:
    api, port = cluster

    said = run_dag(
        SOURCE.format(module=module, deferrable=False), cluster=connection(tmp_path, port)
    )

    assert "sold: 12" in said
    ((name, pod),) = api.pods.items()
    assert [path.rpartition("/")[2] for path in api.deleted] == [name]
    (container,) = pod["spec"]["containers"]
    assert container["args"] == ["print('2024-01-05')"]
    assert container["env"] == [
        {"name": "DAY", "value": "2024-01-05"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"key": "token", "name": "shop"}}},
    ]
    assert container["resources"] == {"limits": {"memory": "1Gi"}}
    mount = {"name": "data", "mountPath": "/data", "readOnly": True, "subPath": "2024-01-05"}
    assert container["volumeMounts"] == [mount]
    claim = {"claimName": "sales"}
    assert pod["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": claim}]


def test_a_pod_that_fails_fails_the_task(
    run_dag: RunDag, tmp_path: Path, cluster: tuple[type[PodsApi], int]
) -> None:
    api, port = cluster
    api.exit_code = 3

    said = run_dag(
        SOURCE.format(module=OPERATOR, deferrable=False),
        ends_well=False,
        cluster=connection(tmp_path, port),
    )

    assert "returned a failure" in said


def test_a_pod_is_not_waited_for_by_a_trigger(run_dag: RunDag) -> None:
    said = run_dag(SOURCE.format(module=OPERATOR, deferrable=True), ends_well=False)

    assert "KubernetesPodOperator(deferrable=True): Headway has no deferrable operators" in said
