"""What UDFs print and raise on a real Connect server: without secrets, and within bounds."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from headway.embedded.java import find_java_home
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.masking import Masker
from headway.testing.processes.environment import path_and_home
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings
from headway_worker.spark.server.server_log import LARGEST_FILE

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark.sql.connect.session")

from pyspark.errors import PySparkException  # noqa: E402

from headway_worker.spark.session.session import close_session, open_session  # noqa: E402

CLOCK = SystemClock()
CANARY = "canary-8f1e-of-a-connection"
FAST_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    scratch = tmp_path_factory.mktemp("connect")
    settings = ServerSettings(
        java_home=find_java_home(None, os.environ, scratch),
        scratch=scratch / "spark",
        environment=path_and_home(),
        java_options=FAST_JAVA,
    )
    started = ConnectServer.start(settings)
    yield started
    started.stop()


@pytest.fixture
def spark(server: ConnectServer) -> Iterator[Any]:
    opened = open_session(server.wait_ready(120), "dag.task.1", lambda _handle: None)
    yield opened
    close_session(opened)


def printed(server: ConnectServer, mark: str) -> str:
    """Return all that the log has, once the mark is there."""
    deadline = CLOCK.monotonic() + 60
    while mark not in (text := "".join(log.read_text() for log in logs(server))):
        assert CLOCK.monotonic() < deadline, text[-5000:]
        CLOCK.wait(Event(), 0.05)
    return text


def logs(server: ConnectServer) -> list[Path]:
    return sorted(server.scratch.glob("server.log*"), reverse=True)


def run(spark: Any, function: Callable[[int], int]) -> None:
    """Call the function once, in a process of Spark's."""
    from pyspark.sql.functions import udf

    spark.range(1).select(udf(function, "long")("id")).collect()


def test_what_a_udf_prints_and_raises_has_no_secret(server: ConnectServer, spark: Any) -> None:
    given = Masker()
    given.prepare(CANARY)
    server.mask(given)

    def prints(number: int) -> int:
        print(f"printed {CANARY}, the end of print", flush=True)  # noqa: T201 - as user code does
        return number

    def raises(number: int) -> int:
        raise ValueError(f"raised {CANARY}, the end of raise")

    run(spark, prints)
    with pytest.raises(PySparkException):
        run(spark, raises)

    assert "printed ***, the end" in printed(server, "the end of print")
    assert "raised ***, the end" in printed(server, "the end of raise")
    assert CANARY not in printed(server, "")


def test_the_servers_own_token_is_masked(server: ConnectServer, spark: Any) -> None:
    def prints(number: int) -> int:
        token = os.environ.get("SPARK_CONNECT_AUTHENTICATE_TOKEN")
        print(f"token {token}, the end of the token", flush=True)  # noqa: T201 - as user code does
        return number

    run(spark, prints)

    assert "token ***, the end" in printed(server, "the end of the token")


def test_of_a_flood_the_newest_is_kept_and_the_server_goes_on(
    server: ConnectServer, spark: Any
) -> None:
    in_all = 3 * LARGEST_FILE

    def floods(number: int) -> int:
        for _ in range(in_all // 1000):
            print("x" * 999)  # noqa: T201 - as user code does
        print("the end of the flood", flush=True)  # noqa: T201 - as user code does
        return number

    run(spark, floods)
    printed(server, "the end of the flood")

    assert [log.name for log in logs(server)] == ["server.log.1", "server.log"]
    assert all(log.stat().st_size <= LARGEST_FILE for log in logs(server))
    assert spark.range(3).count() == 3
