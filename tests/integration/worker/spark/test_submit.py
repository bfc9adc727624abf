"""spark-submit for real: the id of the application, its output, and how it fails."""

import io
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.domain.spark_work import Handle
from headway.embedded.java import find_java_home
from headway.sdk.running.task_runtime import SparkApplication
from headway_worker.spark.cluster.submission import Submission, SubmitSettings
from headway_worker.spark.target.connection import SparkConnection
from headway_worker.spark.target.errors import SparkError

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark")

APPLICATION = """
import sys
from contextlib import suppress
from pathlib import Path
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
for key in ("spark.headway.attempt", "spark.odd"):
    print(key, repr(spark.conf.get(key)))
print("arguments", sys.argv[1:])
print("count", spark.range(1000).count())
lines = []
for entry in Path("/proc").iterdir():
    with suppress(OSError):  # no process, or one that has ended
        lines.append((entry / "cmdline").read_bytes())
print("its own command line:", any(sys.argv[1].encode() in line for line in lines))
print("secret on a command line:", any(b"hush hush" in line for line in lines))
Path(sys.argv[1]).write_text(spark.sparkContext.applicationId)
"""
ODD = "a=b: #c!\\d\té"  # Spark itself drops spaces at the ends
FAST_JAVA = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@pytest.fixture
def output() -> io.BytesIO:
    return io.BytesIO()


@pytest.fixture
def submit(tmp_path: Path, output: io.BytesIO) -> Callable[..., list[Handle]]:
    def run(source: str) -> list[Handle]:
        file = tmp_path / "application.py"
        file.write_text(source)
        conf = {**FAST_JAVA, "spark.odd": ODD, "spark.hadoop.password": "hush hush"}
        settings = SubmitSettings(
            java_home=find_java_home(None, os.environ, tmp_path),
            scratch=tmp_path / "submit",
            environment={"PATH": os.environ["PATH"], "SPARK_CONNECT_MODE_ENABLED": "1"},
            connection=SparkConnection(),
            master="local[1]",
        )
        handles: list[Handle] = []
        application = SparkApplication(
            application=str(file), conf=conf, application_args=(str(tmp_path / "id"), "two words")
        )
        Submission(settings, "dag.task.1", handles.append, output).run(application)
        return handles

    return run


def test_the_application_is_known_by_its_id(
    submit: Callable[..., list[Handle]], output: io.BytesIO, tmp_path: Path
) -> None:
    handles = submit(APPLICATION)

    printed = output.getvalue().decode()
    application_id = (tmp_path / "id").read_text()
    assert application_id.startswith("local-")
    assert [handle.get("application_id") for handle in handles] == [None, application_id]
    assert "count 1000" in printed
    assert "two words" in printed
    assert "spark.headway.attempt 'dag.task.1'" in printed
    assert f"spark.odd {ODD!r}" in printed
    assert "its own command line: True" in printed
    assert "secret on a command line: False" in printed
    assert (tmp_path / "submit" / "spark.properties").stat().st_mode & 0o077 == 0


def test_a_failing_application_ends_with_its_last_lines(
    submit: Callable[..., list[Handle]],
) -> None:
    with pytest.raises(SparkError, match="exited with 1") as caught:
        submit("raise ValueError('no such day')")

    assert "ValueError: no such day" in str(caught.value)


def test_a_process_that_an_application_leaves_behind_is_not_waited_for(
    submit: Callable[..., list[Handle]], output: io.BytesIO
) -> None:
    left = "import subprocess; print(subprocess.Popen(['sleep', '300']).pid, 'stays')"

    submit(left)

    (line,) = [line for line in output.getvalue().splitlines() if line.endswith(b"stays")]
    os.kill(int(line.split()[0]), signal.SIGKILL)
