"""The command and the properties that an application is submitted with."""

from pathlib import Path

import pytest

from headway.sdk.exceptions import AirflowFailException
from headway.sdk.runtime import SparkApplication
from headway_worker.spark.submit import (
    build_command,
    event_log_id,
    is_chatter,
    logged_id,
    properties,
    render_properties,
    with_event_log,
)

HOME = Path("/spark")
FILE = Path("/scratch/spark.properties")
SMALL = SparkApplication(application="/dags/job.py")
BARE = [
    "/spark/bin/spark-submit",
    "--master",
    "local[2]",
    "--properties-file",
    "/scratch/spark.properties",
    "--load-spark-defaults",
]


def test_a_bare_application() -> None:
    assert build_command(SMALL, HOME, "local[2]", FILE) == [*BARE, "/dags/job.py"]


def test_every_option_is_in_the_command() -> None:
    application = SparkApplication(
        application="/dags/job.jar",
        application_args=("--day", "2013-01-01"),
        py_files=("a.py", "b.zip"),
        jars=("c.jar", "d.jar"),
        packages=("org:e:1",),
        files=("f.csv",),
        name="flights",
        java_class="org.Main",
        num_executors=3,
        executor_cores=2,
        executor_memory="2g",
        driver_memory="1g",
        principal="me@REALM",
        keytab="/me.keytab",
        proxy_user="you",
        deploy_mode="cluster",
    )

    command = build_command(application, HOME, "yarn", FILE)

    options = dict(zip(command[6:-3:2], command[7:-3:2], strict=True))
    assert command[-3:] == ["/dags/job.jar", "--day", "2013-01-01"]
    assert options == {
        "--deploy-mode": "cluster",
        "--name": "flights",
        "--class": "org.Main",
        "--py-files": "a.py,b.zip",
        "--jars": "c.jar,d.jar",
        "--packages": "org:e:1",
        "--files": "f.csv",
        "--num-executors": "3",
        "--executor-cores": "2",
        "--executor-memory": "2g",
        "--driver-memory": "1g",
        "--principal": "me@REALM",
        "--keytab": "/me.keytab",
        "--proxy-user": "you",
    }


@pytest.mark.parametrize("master", ["yarn", "k8s://https://cluster:6443"])
def test_cluster_mode_where_it_works(master: str) -> None:
    application = SparkApplication(application="job.py", deploy_mode="cluster")

    assert "cluster" in build_command(application, HOME, master, FILE)


@pytest.mark.parametrize("master", ["local[2]", "spark://host:7077"])
def test_cluster_mode_where_it_does_not(master: str) -> None:
    application = SparkApplication(application="job.py", deploy_mode="cluster")

    with pytest.raises(AirflowFailException, match="YARN and Kubernetes only"):
        build_command(application, HOME, master, FILE)


def test_an_unknown_deploy_mode() -> None:
    application = SparkApplication(application="job.py", deploy_mode="driver")

    with pytest.raises(AirflowFailException, match="'client' or 'cluster', not 'driver'"):
        build_command(application, HOME, "yarn", FILE)


def test_the_application_wins_over_the_settings_and_neither_over_the_attempt() -> None:
    mine = SparkApplication(application="job.py", conf={"a": "mine", "spark.headway.attempt": "x"})

    merged = properties(mine, "dag.task.1", "local[2]", {"a": "theirs", "b": "theirs"})

    assert merged == {"a": "mine", "b": "theirs", "spark.headway.attempt": "dag.task.1"}


def test_yarn_and_kubernetes_show_the_attempt() -> None:
    tagged = SparkApplication(application="job.py", conf={"spark.yarn.tags": "mine"})

    yarn = properties(tagged, "dag/1.task", "yarn", {})
    kubernetes = properties(SMALL, "-" + "x" * 70, "k8s://host", {})

    assert yarn["spark.yarn.tags"] == "mine,dag-1.task"
    assert kubernetes["spark.kubernetes.driver.label.headway-attempt"] == "x" * 62


def test_only_a_local_driver_gets_an_event_log_and_only_if_it_has_none() -> None:
    folder = Path("/scratch/events")
    own = {"spark.eventLog.dir": "hdfs:///history"}

    assert with_event_log({}, "spark://host:7077", folder) == {}
    assert with_event_log(own, "local[2]", folder) == own
    assert with_event_log({}, "local[2]", folder) == {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": "file:///scratch/events",
    }


def test_properties_keep_odd_characters() -> None:
    rendered = render_properties({"a b": "x=y\\z", "c": " \n#"})

    assert rendered == "a\\ b=x\\=y\\\\z\nc=\\ \\n\\#\n"


STANDALONE = "app-20240102030405-0001"
YARN = "application_1700000000000_0012"
KUBERNETES = "spark-0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"INFO Backend: Connected to Spark cluster with app ID {STANDALONE}", STANDALONE),
        (f"INFO YarnClientImpl: Submitted application {YARN}", YARN),
        (f"INFO Client: Application report for {YARN} (state: RUNNING)", YARN),
        (f"Deployed Spark application x with application ID {KUBERNETES} and", KUBERNETES),
        (f"I compare {YARN} with {STANDALONE}", None),
    ],
)
def test_the_id_in_sparks_log(line: str, expected: str | None) -> None:
    assert logged_id(line) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("eventlog_v2_local-1700000000000", "local-1700000000000"),
        ("local-1700000000000.zstd.inprogress", "local-1700000000000"),
        (".hidden", None),
    ],
)
def test_the_id_in_the_name_of_an_event_log(name: str, expected: str | None) -> None:
    assert event_log_id(name) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("26/11/21 09:04:45 INFO SparkContext: Successfully stopped SparkContext", True),
        ("26/11/21 09:04:45 DEBUG SparkContext: stopping", True),
        ("26/11/21 09:04:45 WARN SparkContext: disk is nearly full", False),
        ("26/11/21 09:04:45 ERROR Executor: Exception in task 0.0", False),
        ("ValueError: invalid literal for int() with base 10: 'none'", False),
        ("on 26/11/21 09:04:45 INFO was written", False),
    ],
)
def test_what_spark_tells_of_itself_is_chatter(line: str, expected: bool) -> None:
    assert is_chatter(line) is expected
