"""The command and the properties that an application is submitted with."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from headway.sdk.exceptions import AirflowFailException
from headway.sdk.running.task_runtime import SparkApplication
from headway_worker.spark.cluster.submit_command import (
    build_command,
    completed,
    event_log_id,
    is_chatter,
    logged_id,
    named_in,
    new_tag,
    own_driver,
    placed,
    properties,
    render_properties,
    submission_id,
    watched,
)
from headway_worker.spark.target.connection import SparkConnection, SparkKind

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


EVERYTHING = SparkApplication(
    application="/dags/job.jar",
    application_args=("--day", "2013-01-01"),
    conf={"spark.hadoop.password": "hush", "spark.x": "1"},
    py_files=("a.py", "b.zip"),
    jars=("c.jar", "d.jar"),
    packages=("org:e:1",),
    exclude_packages=("org:bad",),
    repositories=("https://repo.example",),
    files=("f.csv",),
    archives=("g.tar.gz#env",),
    name="flights",
    java_class="org.Main",
    driver_class_path="/opt/*",
    num_executors=3,
    executor_cores=2,
    total_executor_cores=6,
    executor_memory="2g",
    driver_cores=4,
    driver_memory="1g",
    yarn_queue="night",
    env_vars={"PASSWORD": "hush"},
    principal="me@REALM",
    keytab="/me.keytab",
    proxy_user="you",
)
OPTIONS = {
    "--name": "flights",
    "--class": "org.Main",
    "--py-files": "a.py,b.zip",
    "--jars": "c.jar,d.jar",
    "--packages": "org:e:1",
    "--exclude-packages": "org:bad",
    "--repositories": "https://repo.example",
    "--files": "f.csv",
    "--archives": "g.tar.gz#env",
    "--driver-class-path": "/opt/*",
    "--num-executors": "3",
    "--executor-cores": "2",
    "--total-executor-cores": "6",
    "--executor-memory": "2g",
    "--driver-cores": "4",
    "--driver-memory": "1g",
    "--queue": "night",
    "--principal": "me@REALM",
    "--keytab": "/me.keytab",
    "--proxy-user": "you",
}
MASTERS = ("local[2]", "spark://host:7077", "yarn", "k8s://https://cluster:6443")


@pytest.mark.parametrize(
    ("master", "mode"),
    [
        *((master, mode) for master in MASTERS for mode in (None, "client")),
        *((master, "cluster") for master in MASTERS[2:]),
    ],
)
def test_every_option_is_in_the_command(master: str, mode: str | None) -> None:
    application = replace(EVERYTHING, deploy_mode=mode)

    command = build_command(application, HOME, master, FILE)

    options = dict(zip(command[6:-3:2], command[7:-3:2], strict=True))
    assert command[:4] == ["/spark/bin/spark-submit", "--master", master, "--properties-file"]
    assert command[-3:] == ["/dags/job.jar", "--day", "2013-01-01"]
    assert options == (OPTIONS if mode is None else {"--deploy-mode": mode, **OPTIONS})
    assert "hush" not in " ".join(command)


def test_spark_submit_is_asked_for_its_options_and_properties() -> None:
    application = replace(SMALL, verbose=True)

    command = build_command(application, HOME, "local[2]", FILE)

    assert command == [*BARE, "--verbose", "/dags/job.py"]


def test_every_field_of_an_application_is_somewhere() -> None:
    """One that is added must come into the command, the properties or the environment."""
    elsewhere = {"application", "application_args", "conf", "env_vars", "deploy_mode"}
    elsewhere |= {"conn_id", "status_poll_interval", "verbose"}

    assert len(fields(SparkApplication)) == len(OPTIONS) + len(elsewhere)


@pytest.mark.parametrize("master", MASTERS[2:])
def test_cluster_mode_where_it_works(master: str) -> None:
    application = SparkApplication(application="job.py", deploy_mode="cluster")

    assert "cluster" in build_command(application, HOME, master, FILE)


@pytest.mark.parametrize("master", MASTERS[:2])
def test_cluster_mode_where_it_does_not(master: str) -> None:
    application = SparkApplication(application="job.py", deploy_mode="cluster")

    with pytest.raises(AirflowFailException, match="YARN and Kubernetes only"):
        build_command(application, HOME, master, FILE)


def connection(**given: Any) -> SparkConnection:
    return SparkConnection(kind=SparkKind.CLUSTER, **{"master": "yarn", **given})


def test_the_connection_says_what_the_application_does_not() -> None:
    settled = completed(
        SparkApplication(application="job.py", conf={"a": "mine"}),
        connection(
            conf={"a": "theirs", "b": "theirs"},
            deploy_mode="cluster",
            principal="svc@REALM",
            keytab="/svc.keytab",
        ),
    )

    assert settled.conf == {"a": "mine", "b": "theirs"}
    assert settled.deploy_mode == "cluster"
    assert (settled.principal, settled.keytab) == ("svc@REALM", "/svc.keytab")


def test_the_application_wins_over_the_connection() -> None:
    settled = completed(
        SparkApplication(application="job.py", deploy_mode="client", proxy_user="you"),
        connection(deploy_mode="cluster", principal="svc@REALM", keytab="/svc.keytab"),
    )

    assert (settled.deploy_mode, settled.proxy_user) == ("client", "you")
    assert (settled.principal, settled.keytab) == (None, None)


def test_a_tag_is_what_yarn_and_kubernetes_accept() -> None:
    assert new_tag("123-1", "0a1b") == "headway-123-1-0a1b"
    assert new_tag("test-Some_task[3]" + "x" * 50, "0a1b") == (
        "headway-test-some-task-3-xxxxxxxxxxxxxxx-0a1b"
    )


def test_client_mode_on_a_cluster_of_its_own_has_no_more_than_the_attempt() -> None:
    application = replace(SMALL, conf={"spark.headway.attempt": "x", "a": "b"})

    for master in MASTERS[:2]:
        assert properties(application, "1-1", "tag", master) == {
            "spark.headway.attempt": "1-1",
            "a": "b",
        }


def test_yarn_and_kubernetes_show_the_attempt() -> None:
    tagged = replace(SMALL, conf={"spark.yarn.tags": "mine"})

    assert properties(SMALL, "1-1", "tag", "yarn")["spark.yarn.tags"] == "tag"
    assert properties(tagged, "1-1", "tag", "yarn")["spark.yarn.tags"] == "mine,tag"
    on_kubernetes = properties(SMALL, "dag.task[3].1", "tag", MASTERS[3])
    for role in ("driver", "executor"):
        label = f"spark.kubernetes.{role}.label.headway-attempt"
        assert on_kubernetes[label] == "dag.task-3-.1"


def test_cluster_mode_on_yarn_does_not_wait() -> None:
    application = replace(SMALL, deploy_mode="cluster", env_vars={"DAY": "1"})

    assert properties(application, "1-1", "tag", "yarn") == {
        "spark.headway.attempt": "1-1",
        "spark.yarn.tags": "tag",
        "spark.yarn.submit.waitAppCompletion": "false",
        "spark.yarn.appMasterEnv.DAY": "1",
    }
    assert submission_id(application, "tag", "yarn") is None


def test_cluster_mode_on_kubernetes_knows_its_pod_and_keeps_sparks_own_names() -> None:
    own = {
        "spark.kubernetes.namespace": "etl",
        "spark.kubernetes.container.image": "registry/spark:4",
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
        "spark.kubernetes.driver.label.team": "flights",
    }
    application = replace(SMALL, deploy_mode="cluster", conf=own, env_vars={"DAY": "1"})

    assert properties(application, "1-1", "headway-1-1-ab", MASTERS[3]) == {
        **own,
        "spark.headway.attempt": "1-1",
        "spark.kubernetes.driver.label.headway-attempt": "1-1",
        "spark.kubernetes.executor.label.headway-attempt": "1-1",
        "spark.kubernetes.driver.pod.name": "headway-1-1-ab-driver",
        "spark.kubernetes.submission.waitAppCompletion": "false",
        "spark.kubernetes.driverEnv.DAY": "1",
    }
    found = submission_id(application, "headway-1-1-ab", MASTERS[3])
    assert found == "etl:headway-1-1-ab-driver"
    assert submission_id(replace(application, deploy_mode=None), "t", MASTERS[3]) is None


@pytest.mark.parametrize(
    ("defaults", "expected"),
    [
        ("", "default"),
        ("spark.kubernetes.namespace etl", "etl"),
        ("spark.a 1\n  spark.kubernetes.namespace\t=  etl \nspark.b 2\n", "etl"),
        ("spark.kubernetes.namespace:etl", "etl"),
        ("spark.kubernetes.namespace a\nspark.kubernetes.namespace=etl", "etl"),
        ("# spark.kubernetes.namespace etl\nspark.kubernetes.namespaces a", "default"),
        ("spark.kubernetes.namespace", "default"),
    ],
)
def test_an_application_is_submitted_to_where_it_is_looked_for(
    defaults: str, expected: str
) -> None:
    application = placed(replace(SMALL, deploy_mode="cluster"), MASTERS[3], lambda: defaults)

    assert submission_id(application, "t", MASTERS[3]) == f"{expected}:t-driver"
    given = properties(application, "1-1", "t", MASTERS[3])
    assert given["spark.kubernetes.namespace"] == expected


def test_only_a_pod_without_a_namespace_of_its_own_gets_one() -> None:
    def never() -> str:
        raise AssertionError

    remote = replace(SMALL, deploy_mode="cluster")
    own = replace(remote, conf={"spark.kubernetes.namespace": "mine"})
    for application, master in ((own, MASTERS[3]), (SMALL, MASTERS[3]), (remote, "yarn")):
        assert placed(application, master, never) is application


def test_the_name_of_a_drivers_pod_is_not_for_the_user_to_choose() -> None:
    conf = {"spark.kubernetes.driver.pod.name": "mine"}
    application = replace(SMALL, deploy_mode="cluster", conf=conf)

    with pytest.raises(AirflowFailException, match="is for Headway to choose"):
        properties(application, "1-1", "tag", MASTERS[3])


def test_a_driver_of_the_attempts_own_is_none_in_cluster_mode() -> None:
    """On whatever connection; a pod that the worker runs in may be named, and stays so."""
    conf = {"spark.kubernetes.driver.pod.name": "worker-0", "spark.kubernetes.namespace": "etl"}
    theirs = connection(
        master=MASTERS[3],
        deploy_mode="cluster",
        conf=conf,
        principal="svc@REALM",
        keytab="/svc.keytab",
    )
    driver = own_driver(theirs)

    assert (driver.deploy_mode, driver.principal) == ("client", "svc@REALM")
    assert properties(driver, "1-1", "tag", MASTERS[3]) == {
        **conf,
        "spark.headway.attempt": "1-1",
        "spark.kubernetes.driver.label.headway-attempt": "1-1",
        "spark.kubernetes.executor.label.headway-attempt": "1-1",
    }


def test_a_driver_gets_an_event_log_and_a_free_port_unless_they_are_configured() -> None:
    scratch = Path("/scratch")
    own = {"spark.eventLog.dir": "hdfs:///history", "spark.ui.port": "4050"}

    assert watched(own, (), scratch) == own
    assert watched({}, own, scratch) == {}
    found = watched({"spark.x": "1"}, ["spark.ui.enabled"], scratch)
    assert found["spark.eventLog.enabled"] == "true"
    assert found["spark.eventLog.dir"] == "file:///scratch/events"
    assert (found["spark.ui.port"], found["spark.x"]) == ("0", "1")


def test_the_names_in_a_file_of_defaults() -> None:
    text = "# spark.a 1\n\n  spark.b   x=y\nspark.c=1\nspark.d : 2\n"

    assert named_in(text) - {""} == {"spark.b", "spark.c", "spark.d"}


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
