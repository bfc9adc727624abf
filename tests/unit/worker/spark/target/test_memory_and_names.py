"""What a driver's end says of its memory, what applications are called, and what is not copied."""

import io
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway.domain.interval import DataInterval
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import SparkApplication
from headway_worker.spark.cluster.submission import Submission, SubmitSettings, Submitted
from headway_worker.spark.target import errors
from headway_worker.spark.target.connection import SparkConnection
from headway_worker.spark.target.errors import OF_THE_TASK, for_memory

INFO = "24/01/01 00:00:00 INFO SparkContext: Running Spark version 4.0.0"
APPLICATION = SparkApplication(application="a.py")


@pytest.mark.parametrize(
    ("code", "said", "named"),
    [
        (52, "", True),
        (-signal.SIGKILL, "", True),
        (1, "py4j: java.lang.OutOfMemoryError: Java heap space", True),
        (1, "ValueError: no", False),
        (-signal.SIGTERM, "", False),
    ],
)
def test_a_driver_out_of_memory_names_the_setting(code: int, said: str, named: bool) -> None:
    assert (for_memory(OF_THE_TASK, code, said) != "") == named


@pytest.mark.regression
def test_an_application_without_memory_names_its_setting() -> None:
    told = Submitted(52, ["last words"], {}).failure(APPLICATION)

    assert told.splitlines()[0] == (
        "spark-submit of a.py ran out of memory, and exited with 52. The setting of its memory is "
        "driver_memory of the task, or spark.driver.memory in its conf. Its output ends with:"
    )


def test_the_worker_and_the_connection_have_settings_of_their_own() -> None:
    session = pytest.importorskip("headway_worker.spark.session.session")

    assert "HEADWAY_WORKER_SPARK_DRIVER_MEMORY" in session.SERVER_IS_GONE
    assert "conf of the Spark connection" in errors.OF_THE_CONNECTION


@pytest.mark.regression
@pytest.mark.parametrize(("map_index", "task"), [(-1, "load"), (3, "load[3]")])
def test_an_application_is_named_after_its_task_and_run(map_index: int, task: str) -> None:
    attempt = pytest.importorskip("headway_worker.spark.session.attempt")
    facts = RunFacts(
        dag_id="etl",
        run_id="manual__1",
        task_id="load",
        map_index=map_index,
        data_interval=DataInterval.exact(datetime(2013, 1, 1, tzinfo=UTC)),
    )

    assert attempt.title_of(facts) == f"headway etl.{task} manual__1"


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    settings = SubmitSettings(
        java_home=tmp_path,
        scratch=tmp_path,
        environment={},
        connection=SparkConnection(),
        title="headway etl.load manual__1",
    )
    return Submission(settings, "etl.load.1", lambda _handle: None, io.BytesIO())


@pytest.mark.parametrize(("given", "name"), [(None, "headway etl.load manual__1"), ("own", "own")])
def test_the_name_is_given_to_spark_submit(
    given: str | None, name: str, submission: Submission
) -> None:
    application = SparkApplication(application="a.py", name=given)

    command = submission._prepare(application, "tag")

    assert command[command.index("--name") + 1] == name


@pytest.mark.regression
@pytest.mark.parametrize("quiet", [True, False])
def test_what_spark_logs_at_info_does_not_bury_the_output(
    quiet: bool, submission: Submission, tmp_path: Path
) -> None:
    submission._events.mkdir(parents=True)
    watch: Any = SimpleNamespace(begin=lambda _address: None)
    script = f"echo '{INFO}'; echo mine; echo '{INFO.replace('INFO', 'WARN')}'; echo '{INFO}'"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE) as process:
        ended = submission._follow(process, {}, watch, quiet=quiet)

    output = submission.output
    assert isinstance(output, io.BytesIO)
    lines = output.getvalue().decode().splitlines()
    kept = ["mine", INFO.replace("INFO", "WARN")]
    told = (
        "[headway] 2 lines that Spark logged at INFO are left out; "
        "conf={'spark.log.level': 'INFO'} keeps them."
    )
    assert lines == ([*kept, told] if quiet else [INFO, *kept, INFO])
    assert list(ended.last) == kept
