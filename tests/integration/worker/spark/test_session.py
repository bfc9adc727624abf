"""Sessions on a real Connect server: isolated, found again by their handle, ended from outside."""

import subprocess
import sys
import textwrap
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from headway.domain.spark_work import Handle
from headway.embedded.java import find_java_home
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker import ChildSpec, Forker
from headway.testing.data.version_code import files_below, version_code
from headway.testing.processes.environment import path_and_home
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings
from headway_worker.spark.session.modules import send_bundle
from headway_worker.spark.target.endpoint import RELEASE, ConnectEndpoint, release_argument
from headway_worker.spark.target.errors import SparkError

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark.sql.connect.session")

from headway_worker.spark.session.session import (  # noqa: E402
    close_session,
    explain,
    open_session,
    operation_tag,
    release_session,
)

CLOCK = SystemClock()
PATIENCE = 60.0
FAST_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
NEVER_ENDING = "sum(id % 7)"


def settings(scratch: Path) -> ServerSettings:
    import os

    return ServerSettings(
        java_home=find_java_home(None, os.environ, scratch),
        scratch=scratch / "spark",
        environment=path_and_home(),
        java_options=FAST_JAVA,
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    started = ConnectServer.start(settings(tmp_path_factory.mktemp("connect")))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def endpoint(server: ConnectServer) -> ConnectEndpoint:
    return server.wait_ready(120)


@pytest.fixture
def session(endpoint: ConnectEndpoint) -> Iterator[Callable[..., Any]]:
    opened: list[Any] = []

    def open_one(key: str = "dag.task.1", on_handle: Callable[[Handle], None] = ignore) -> Any:
        opened.append(open_session(endpoint, key, on_handle))
        return opened[-1]

    yield open_one
    for spark in opened:
        close_session(spark)


def ignore(_handle: Handle) -> None:
    pass


@contextmanager
def endless_job(spark: Any) -> "Iterator[Future[object]]":
    """Run a job that never ends by itself, once its tasks run; it is not waited for."""
    running = Event()

    def note(inflight_tasks: int, **_others: object) -> None:
        if inflight_tasks:
            running.set()

    def run() -> object:
        spark.registerProgressHandler(note)
        return spark.range(0, 10**14, 1, 2).selectExpr(NEVER_ENDING).collect()

    threads = ThreadPoolExecutor(1)
    try:
        job = threads.submit(run)
        assert CLOCK.wait(running, PATIENCE), "the job never ran"
        yield job
    finally:
        threads.shutdown(wait=False)  # what goes on ends with its server


def active_tasks_end(pid: int) -> bool:
    """Tell whether the JVM goes idle: in 0.2 s it uses less than a tenth of a core."""
    deadline = CLOCK.monotonic() + PATIENCE
    while CLOCK.monotonic() < deadline:
        if cpu_in_a_moment(pid) < 0.02:
            return True
    return False


def cpu_in_a_moment(pid: int) -> float:
    before = cpu_seconds(pid)
    CLOCK.wait(Event(), 0.2)
    return cpu_seconds(pid) - before


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_the_handle_is_known_before_the_server_knows_the_session() -> None:
    handles: list[Handle] = []
    nowhere = ConnectEndpoint("sc://localhost:1", "token")

    with pytest.raises(SparkError, match="does not answer"):
        open_session(nowhere, "dag.task.1", handles.append)

    (handle,) = handles
    assert handle["kind"] == "connect"
    assert uuid.UUID(handle["session_id"]).version == 4
    assert handle["tag"] == operation_tag("dag.task.1")


def test_the_session_has_the_id_and_tag_of_its_handle(session: Callable[..., Any]) -> None:
    handles: list[Handle] = []

    spark = session("dag.task.1", handles.append)

    assert spark.session_id == handles[0]["session_id"]
    assert spark.getTags() == {handles[0]["tag"]}
    assert spark.range(3).count() == 3


def test_a_wrong_token_is_refused(endpoint: ConnectEndpoint) -> None:
    with pytest.raises(SparkError, match="refuses the token"):
        open_session(replace(endpoint, token="wrong"), "dag.task.1", ignore)


def test_temp_views_and_settings_are_each_sessions_own(session: Callable[..., Any]) -> None:
    one, other = session("one"), session("other")

    one.range(1).createOrReplaceTempView("same")
    other.range(2).createOrReplaceTempView("same")
    one.conf.set("spark.sql.shuffle.partitions", "3")

    assert (one.table("same").count(), other.table("same").count()) == (1, 2)
    assert other.conf.get("spark.sql.shuffle.partitions") == "200"


def test_days_begin_at_midnight_utc(session: Callable[..., Any]) -> None:
    assert session().conf.get("spark.sql.session.timeZone") == "UTC"


def test_user_code_that_builds_a_session_gets_the_attempts_own(session: Callable[..., Any]) -> None:
    from pyspark.sql import SparkSession

    spark = session()

    assert SparkSession.builder.appName("mine").getOrCreate() is spark


def test_a_udf_imports_a_module_beside_the_dag_file_in_the_sessions_own_version(
    session: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has been imported here, the other only where the UDF runs; and both at a time."""
    from pyspark.sql.functions import udf
    from pyspark.sql.types import LongType

    def shift(number: int) -> int:
        from some_helpers import late_helper  # type: ignore[import-not-found]

        return int(late_helper.shift(number))

    shifted = udf(shift, LongType())  # there is no session yet
    frames = []
    for version in (1, 2):
        root = tmp_path / str(version)
        package = root / "some_helpers"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        source = "from some_helpers.offset import OFFSET\ndef shift(x):\n    return x + OFFSET\n"
        (package / "late_helper.py").write_text(source)
        (package / "offset.py").write_text(f"OFFSET = {version * 10}\n")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(root))
            spark = session(f"version-{version}")
            send_bundle(spark, version_code(root, files_below(root)), tmp_path / "scratch")
        frames.append(spark.range(2, 3).select(shifted("id").alias("shifted")))

    found = [frame.collect()[0].shifted for frame in (*frames, *frames)]

    assert found == [12, 22, 12, 22]


def test_closing_a_session_ends_its_job(endpoint: ConnectEndpoint, server: ConnectServer) -> None:
    spark = open_session(endpoint, "dag.task.1", ignore)
    with endless_job(spark) as job:
        close_session(spark)
        assert job.exception(PATIENCE) is not None

    assert active_tasks_end(server.pid)  # by itself it would never end


def test_a_killed_attempts_job_ends_and_no_other(
    endpoint: ConnectEndpoint, server: ConnectServer, session: Callable[..., Any]
) -> None:
    """A child of the fork server ends the job, as after the kill of an attempt."""
    import os

    other = session("other")
    mine: list[Handle] = []
    spark = open_session(endpoint, "mine", mine.append)
    argument = release_argument(endpoint, mine[0]["session_id"])
    spec = ChildSpec(target=RELEASE, argument=argument)

    with ExitStack() as ending:
        threads = ending.enter_context(ThreadPoolExecutor())
        forker = ending.enter_context(
            Forker.start(["headway_worker.spark.session.preload"], os.environ)
        )
        assert len(forker.native_threads) == 1
        doomed = ending.enter_context(endless_job(spark))
        spared: Future[int] = threads.submit(slow_count, other)
        child = forker.spawn(spec, 2)
        with closing(child):
            ended = child.wait(PATIENCE)
        assert ended is not None
        assert ended.succeeded
        assert doomed.exception(PATIENCE) is not None
        assert spared.result(PATIENCE) == 4
    assert active_tasks_end(server.pid)
    spark.stop()


def slow_count(spark: Any) -> int:
    from pyspark.sql.functions import udf

    def slow(x: int) -> int:
        import time

        time.sleep(1)
        return x

    return len(spark.range(0, 4, 1, 1).select(udf(slow, "long")("id")).collect())


def test_a_released_session_is_refused_for_good(endpoint: ConnectEndpoint) -> None:
    """As when an attempt is killed between saying which session it opens and opening it."""

    def released_meanwhile(handle: Handle) -> None:
        release_session(endpoint, handle["session_id"])

    with pytest.raises(SparkError, match="SESSION_CLOSED"):
        open_session(endpoint, "dag.task.1", released_meanwhile)


def test_releasing_twice_is_no_error(endpoint: ConnectEndpoint) -> None:
    session_id = str(uuid.uuid4())

    release_session(endpoint, session_id)
    release_session(endpoint, session_id)


def test_a_killed_server_shows_soon(tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    doomed = ConnectServer.start(settings(tmp_path))
    try:
        spark = open_session(doomed.wait_ready(120), "dag.task.1", ignore)
        with endless_job(spark) as job:
            doomed.stop(grace=0)
            error = job.exception(PATIENCE)  # left to itself, a client tries for ten minutes
        close_session(spark)
    finally:
        doomed.stop(grace=0)

    assert isinstance(error, PySparkException)
    assert "does not answer" in (explain(error) or "")


def test_a_forked_process_has_a_session_of_its_own(endpoint: ConnectEndpoint) -> None:
    frame = endpoint.to_frame()
    program = textwrap.dedent("""
        import os, sys, threading
        import headway_worker.spark.session.preload
        from headway_worker.spark.target.endpoint import ConnectEndpoint
        from headway_worker.spark.session.session import open_session, close_session
        assert threading.active_count() == 1
        assert len(os.listdir("/proc/self/task")) == 1
        endpoint = ConnectEndpoint(sys.argv[1], sys.stdin.read())
        for _ in range(6):
            if os.fork() == 0:
                spark = open_session(endpoint, "a", lambda handle: None)
                print(spark.range(1).count(), flush=True)
                close_session(spark)
                os._exit(0)
            os.wait()
    """)
    finished = subprocess.run(
        [sys.executable, "-c", program, frame["url"]],
        input=frame["token"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout.split() == ["1"] * 6
