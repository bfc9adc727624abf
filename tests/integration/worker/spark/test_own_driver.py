"""How a driver of the attempt's own is started, seen by a program that stands in for Spark's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headway.testing.spark.fake_cluster import FakeCluster

pytest.importorskip("pyspark")

# In a process of its own, as an attempt's: pyspark has one driver for each process.
PROGRAM = """
import json, os, sys
from pathlib import Path
from headway_worker.spark.session.own_driver import open_driver
from headway_worker.spark.target.connection import SparkConnection, SparkKind
from headway_worker.spark.cluster.submission import SubmitSettings
from headway_worker.spark.target.errors import SparkError

home, scratch = sys.argv[1:]
master, handles, said = "k8s://https://cluster:6443", [], None
connection = SparkConnection(
    kind=SparkKind.CLUSTER,
    master=master,
    deploy_mode="cluster",
    spark_home=home,
    conf={"spark.kubernetes.driver.pod.name": "worker-0"},
)
settings = SubmitSettings(
    java_home=Path("/nowhere"),
    scratch=Path(scratch),
    environment={"PATH": os.environ["PATH"]},
    connection=connection,
    master=master,
)
try:
    open_driver(settings, "7-1", handles.append)
except SparkError as error:
    said = str(error)
print(json.dumps({"handles": [dict(each) for each in handles], "said": said}))
"""


def test_it_is_in_client_mode_where_applications_are_in_cluster_mode(tmp_path: Path) -> None:
    cluster = FakeCluster.new(tmp_path / "cluster")
    cluster.begin("silent")  # so it ends at once, and no driver comes of it
    scratch = tmp_path / "scratch"

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(cluster.home), str(scratch)],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )

    told = json.loads(done.stdout.splitlines()[-1])
    assert "No driver could be started" in told["said"]
    assert told["handles"][0]["kind"] == "driver"
    (command,) = cluster.commands("pyspark-shell")
    assert command[command.index("--deploy-mode") + 1] == "client"
    given = (scratch / "driver.properties").read_text()
    assert "spark.kubernetes.driver.pod.name=worker-0\n" in given
    assert "waitAppCompletion" not in given
