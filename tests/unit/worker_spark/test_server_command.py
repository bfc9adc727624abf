"""The command line of a Connect server, and the environment of drivers."""

import sys
from pathlib import Path

import pytest

from headway_worker.spark.installation import driver_environment
from headway_worker.spark.server import ServerSettings, server_command

pytest.importorskip("pyspark")


def settings(**given: object) -> ServerSettings:
    return ServerSettings(
        java_home=Path("/java"),
        scratch=Path("/scratch"),
        environment={},
        **given,  # type: ignore[arg-type]
    )


def conf(command: list[str]) -> dict[str, str]:
    pairs = [command[n + 1] for n, word in enumerate(command) if word == "--conf"]
    return dict(pair.split("=", 1) for pair in pairs)


def test_the_user_may_change_what_is_not_about_the_binding() -> None:
    mine = {"spark.ui.enabled": "true", "spark.connect.grpc.binding.address": "0.0.0.0"}

    found = conf(server_command(settings(conf=mine)))

    assert found["spark.ui.enabled"] == "true"
    assert found["spark.connect.grpc.binding.address"] == "127.0.0.1"
    assert found["spark.connect.grpc.binding.port"] == "0"
    assert found["spark.connect.progress.reportInterval"] == "200ms"


def test_sizes() -> None:
    command = server_command(settings(cores=4, driver_memory="3g"))

    assert command[command.index("--master") + 1] == "local[4]"
    assert command[command.index("--driver-memory") + 1] == "3g"


def test_a_driver_is_no_client() -> None:
    inherited = {
        "SPARK_REMOTE": "sc://localhost",
        "SPARK_CONNECT_MODE_ENABLED": "1",
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": "canary",
        "JAVA_HOME": "/old",
        "PATH": "/bin",
    }

    found = driver_environment(Path("/java"), inherited)

    assert found.pop("SPARK_LAUNCHER_OPTS")
    assert found == {"JAVA_HOME": "/java", "PATH": "/bin", "PYSPARK_PYTHON": sys.executable}
