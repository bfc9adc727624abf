"""A cluster of tests: the chart's pods at a stand-in API server, and a real database."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import Engine
from sqlalchemy.engine import make_url
from tests.chart.helm import MissingHelmError, helm, kubectl
from tests.chart.rendering import NAMESPACE, Object, of_kind, rendered
from tests.integration.kubectl.stand_in import StandIn

from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.testing.database import logins
from headway.testing.database.postgres import ThrowawayPostgres

SERVICES: Final = ("scheduler", "parser", "worker", "api")


@dataclass
class Cluster:
    """Pods of the chart's production release; a command in one has the environment of the pod."""

    url: str
    folder: Path
    stand_in: StandIn
    engine: Engine
    environment: dict[str, str] = field(default_factory=dict)

    def pods(self, service: str) -> list[str]:
        """The names of the pods of a service."""
        label = "app.kubernetes.io/component"
        found = (
            manifest["metadata"] for manifest in self.stand_in.objects if manifest["kind"] == "Pod"
        )
        return [pod["name"] for pod in found if pod["labels"][label] == service]

    def home(self, pod: str) -> Path:
        """Where a pod keeps its state."""
        return self.folder / pod

    def headway(self, *arguments: str, **given: str) -> "subprocess.CompletedProcess[str]":
        """Run `kubectl headway`, as a person does."""
        return subprocess.run(
            ["kubectl", "headway", *arguments],
            env={**self.environment, **given},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def run(self, where: str, command: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
        """Do what `exec` does: run the command in the pod's environment."""
        pod = where.partition("/")[2]
        [found] = [
            manifest for manifest in self.stand_in.objects if manifest["metadata"]["name"] == pod
        ]
        environment = self._of_container(found["spec"]["containers"][0], pod)
        words = list(command)
        if words[0] == "env":
            name, _, value = words[1].partition("=")
            environment[name] = value
            del words[:2]
        assert words.pop(0) == "headway"
        return subprocess.run(
            [sys.executable, "-m", "headway.cli", *words],
            env=environment,
            capture_output=True,
            check=False,
        )

    def _of_container(self, container: Mapping[str, Any], pod: str) -> dict[str, str]:
        """The variables that the chart gives: the logins are of the database of the test."""
        given = {
            variable["name"]: variable.get("value", logins.PASSWORD)
            for variable in container["env"]
        }
        kept = {name: given[name] for name in given if "_DATABASE_" in name or name == "PGPASSWORD"}
        for name in ("HEADWAY_DATABASE_URL", "HEADWAY_DATABASE_USER_URL"):
            if name in kept:
                login = make_url(kept[name]).username
                address = make_url(self.url)._replace(username=login, password=None)
                kept[name] = address.render_as_string(hide_password=False)
        path = os.environ["PATH"]
        return {**kept, "HEADWAY_HOME": str(self.home(pod)), "LOGNAME": "headway", "PATH": path}


def pods_of(deployment: Object) -> Iterator[dict[str, Any]]:
    """Two pods of a Deployment, as its controller makes them."""
    name, template = deployment["metadata"]["name"], deployment["spec"]["template"]
    for letter in "ab":
        metadata = {**template["metadata"], "name": f"{name}-{letter}", "namespace": NAMESPACE}
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {**template["spec"], "nodeName": "node-1"},
            "status": status,
        }


def programs(folder: Path, major: int) -> str:
    """A PATH with kubectl and its plugin; nothing else is on it."""
    folder.mkdir()
    (folder / "kubectl").symlink_to(kubectl(major))
    (folder / "kubectl-headway").symlink_to(Path(sys.executable).with_name("kubectl-headway"))
    return str(folder)


@pytest.fixture(scope="module")
def cluster(
    postgres: ThrowawayPostgres, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    try:
        helm(4), kubectl(4)
    except MissingHelmError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("cluster")
    url = postgres.create_database("headway_kubectl", template)
    for login in (Login.SCHEDULER, Login.USER, Login.WORKER):
        logins.address(url, login)
    deployments = [dict(manifest) for manifest in of_kind(rendered("production"), "Deployment")]
    for deployment in deployments:
        deployment["status"] = {"readyReplicas": deployment["spec"]["replicas"]}
    objects = [*deployments, *(pod for deployment in deployments for pod in pods_of(deployment))]
    engine = engines.connect(url, name="test")
    found = Cluster(url, folder, StandIn(objects), engine)
    with found.stand_in.serving(found.run, folder, NAMESPACE) as config:
        found.environment = {
            "HOME": str(folder),
            "KUBECONFIG": str(config),
            "PATH": programs(folder / "bin", 4),
        }
        yield found
    engine.dispose()
    postgres.drop_database("headway_kubectl")
