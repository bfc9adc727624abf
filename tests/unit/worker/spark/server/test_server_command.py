"""The command line of a Connect server, and the environment of drivers."""

import sys
from pathlib import Path

import pytest

from headway.domain.errors import EmbeddedError
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings
from headway_worker.spark.server.server_command import server_command, server_environment
from headway_worker.spark.target.installation import driver_environment

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


@pytest.mark.parametrize("master", ["local[4]", "spark://host:7077"])
def test_master_and_memory(master: str) -> None:
    command = server_command(settings(master=master, driver_memory="3g"))

    assert command[command.index("--master") + 1] == master
    assert command[command.index("--driver-memory") + 1] == "3g"


def test_the_driver_of_a_cluster_can_be_reached_from_elsewhere() -> None:
    assert server_environment(settings())["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert "SPARK_LOCAL_IP" not in server_environment(settings(master="spark://host:7077"))


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


def test_a_folder_that_cannot_be_made_is_said_to_be(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    impossible = ServerSettings(java_home=Path("/java"), scratch=file / "spark", environment={})

    with pytest.raises(EmbeddedError, match=r"Cannot start the Spark Connect server: .*file"):
        ConnectServer.start(impossible)


def test_code_has_room_for_hundreds_of_sessions_unless_the_user_says_otherwise() -> None:
    mine = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=64m")

    options = conf(server_command(settings(java_options=mine)))
    said = options["spark.driver.defaultJavaOptions"]

    assert said.index("ReservedCodeCacheSize=240m") < said.index("ReservedCodeCacheSize=64m")


def test_what_a_user_says_about_the_log_comes_last() -> None:
    mine = "-Dlog4j2.configurationFile=/mine"

    options = conf(server_command(settings(java_options=(mine,))))
    said = options["spark.driver.defaultJavaOptions"]

    assert said.index("log4j2.properties") < said.index(mine)
