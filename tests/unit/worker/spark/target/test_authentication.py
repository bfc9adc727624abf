"""Which drivers refuse who does not know their secret."""

from pathlib import Path

import pytest

from headway_worker.spark.server.connect_server import ServerSettings
from headway_worker.spark.server.server_command import server_command
from headway_worker.spark.target.authentication import authenticated

pytest.importorskip("pyspark")

ON = {"spark.authenticate": "true"}


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2]", "local[2,3]"])
def test_a_driver_on_a_local_master_does(master: str) -> None:
    assert authenticated({"spark.x": "1"}, (), master) == {"spark.x": "1", **ON}


@pytest.mark.parametrize(
    "master", ["local-cluster[1,1,1024]", "spark://host:7077", "yarn", "k8s://https://kube:6443"]
)
def test_a_cluster_has_a_secret_of_its_own_or_none(master: str) -> None:
    assert authenticated({"spark.x": "1"}, (), master) == {"spark.x": "1"}


def test_what_is_configured_counts() -> None:
    off = {"spark.authenticate": "false"}

    assert authenticated(off, (), "local") == off
    assert authenticated({}, ["spark.authenticate"], "local") == {}


@pytest.mark.parametrize(
    ("conf", "found"), [({}, "true"), ({"spark.authenticate": "false"}, "false")]
)
def test_the_workers_own_server_does_unless_it_is_configured(
    conf: dict[str, str], found: str
) -> None:
    settings = ServerSettings(
        java_home=Path("/java"), scratch=Path("/scratch"), environment={}, conf=conf
    )
    command = server_command(settings)

    assert f"spark.authenticate={found}" in command
    assert not [word for word in command if "spark.authenticate.secret" in word]
