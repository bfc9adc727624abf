"""What a named connection says about where a task's Spark is."""

import pytest

from headway.domain.connection import Connection
from headway.domain.errors import SecretError
from headway_worker.spark.target.connection import SparkConnection, SparkKind, spark_connection


def read(text: str, conn_id: str = "spark_default") -> SparkConnection:
    return spark_connection(conn_id, Connection.from_text(conn_id, text))


def test_the_default_is_the_workers_own_where_nobody_has_defined_it() -> None:
    assert spark_connection("spark_default", None) == SparkConnection()
    assert SparkConnection().kind is SparkKind.EMBEDDED


def test_any_other_must_be_there() -> None:
    with pytest.raises(SecretError, match="'lake' cannot be used: there is none of that name"):
        spark_connection("lake", None)


@pytest.mark.parametrize(
    "text",
    [
        "sc://spark.example.com:15003/;token=s3cret;use_ssl=true;user_id=ada",
        "spark-connect://ada:s3cret@spark.example.com:15003?use_ssl=true",
        """{"conn_type": "spark", "host": "sc://spark.example.com", "port": 15003,
            "login": "ada", "password": "s3cret", "extra": {"use_ssl": true}}""",
    ],
)
def test_a_connect_server_is_written_as_spark_or_as_airflow_does(text: str) -> None:
    found = read(text)

    assert (found.kind, found.url) == (SparkKind.CONNECT, "sc://spark.example.com:15003")
    assert (found.token, found.user, found.tls) == ("s3cret", "ada", True)
    assert "s3cret" not in repr(found)


def test_a_connect_servers_port_may_be_left_out() -> None:
    assert read("sc://localhost").url == "sc://localhost:15002"
    assert read('{"conn_type": "sc", "host": "::1"}').url == "sc://[::1]:15002"


@pytest.mark.parametrize(
    ("text", "master"),
    [
        ("spark://master.example.com:7078", "spark://master.example.com:7078"),
        ("spark://master.example.com", "spark://master.example.com:7077"),
        ('{"conn_type": "spark", "host": "spark://a:1,b:2"}', "spark://a:1,b:2"),
        ('{"conn_type": "spark", "host": "spark://a", "port": 7}', "spark://a:7"),
        ('{"conn_type": "spark", "host": "local[2]"}', "local[2]"),
        ('{"conn_type": "spark", "host": "local[*]"}', "local[*]"),
        ('{"conn_type": "spark", "host": "yarn"}', "yarn"),
        ("yarn://", "yarn"),
        ("k8s://https://api.example.com:6443", "k8s://https://api.example.com:6443"),
        (
            '{"conn_type": "spark", "host": "k8s://https://api.example.com", "port": 443}',
            "k8s://https://api.example.com:443",
        ),
    ],
)
def test_a_cluster_has_a_master(text: str, master: str) -> None:
    found = read(text)

    assert (found.kind, found.master) == (SparkKind.CLUSTER, master)


def test_a_cluster_has_the_options_of_spark_submit() -> None:
    found = read(
        '{"conn_type": "yarn", "extra": {"deploy-mode": "cluster", "spark-home": "/opt/spark",'
        '"principal": "me@REALM", "keytab": "/me.keytab", "queue": "etl",'
        '"conf": {"spark.executor.cores": 2, "spark.ui.enabled": false}}}'
    )

    assert (found.deploy_mode, found.spark_home) == ("cluster", "/opt/spark")
    assert (found.principal, found.keytab) == ("me@REALM", "/me.keytab")
    assert found.conf == {
        "spark.executor.cores": "2",
        "spark.ui.enabled": "false",
        "spark.yarn.queue": "etl",
    }


def test_the_embedded_spark_may_have_properties() -> None:
    found = read('{"conn_type": "spark_embedded", "extra": {"conf": {"spark.ui.port": 1}}}')

    assert found == SparkConnection(conf={"spark.ui.port": "1"})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("postgres://db", "it is of type postgres; a task's Spark is of one of spark, "),
        ('{"conn_type": "sc"}', "it names no host"),
        ("sc://far.example.com/;token=s3cret", "its token would go over the network in the clear"),
        ("sc://localhost/;ca_file=x.pem", "set use_ssl=true as well"),
        ("sc://localhost/;use_ssl=perhaps", "use_ssl in its extra must be true or false"),
        ("sc://u:one@localhost/?token=other", "a password and a token in extra"),
        ('{"conn_type": "spark"}', "it names no master"),
        ('{"conn_type": "k8s"}', "it names no master"),
        ('{"conn_type": "spark", "host": "http://x"}', "its host is no master"),
        ('{"conn_type": "spark", "host": "local[x]"}', "its host is no master"),
        ("spark://m?deploy-mode=cluster", "works on YARN and Kubernetes only"),
        ("yarn://?deploy-mode=remote", "deploy_mode must be client or cluster"),
        ("yarn://?keytab=k", "principal and keytab go together"),
        ("yarn://?keytab=k&principal=p&proxy-user=u", "takes proxy_user or principal, not both"),
        ("yarn://?colour=s3cret", "extra has colour, which a Spark cluster has not"),
        ('{"conn_type": "yarn", "extra": {"conf": 3}}', "must be an object of Spark's properties"),
        ('{"conn_type": "yarn", "extra": {"conf": {"a": [1]}}}', "the property a must be text"),
        ('{"conn_type": "yarn", "extra": {"keytab": 3}}', "keytab in its extra must be text"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name_and_nothing_of_it_is_quoted(
    text: str, why: str
) -> None:
    with pytest.raises(SecretError) as caught:
        read(text, "lake")

    assert str(caught.value).startswith("The Spark connection 'lake' cannot be used: ")
    assert why in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_fields_of_another_kind_are_refused() -> None:
    with pytest.raises(SecretError, match="master has no meaning for a Spark of kind embedded"):
        SparkConnection(master="yarn")


@pytest.mark.parametrize(
    "text", ["sc://localhost/;token=t", "yarn://?queue=q&deploy-mode=client", "spark-embedded://"]
)
def test_it_travels_as_plain_data(text: str) -> None:
    found = read(text)

    assert SparkConnection.from_frame(found.to_frame()) == found


def test_what_must_be_masked_of_it_is_its_token_and_what_spark_would_not_show() -> None:
    found = read(
        '{"conn_type": "sc", "host": "localhost", "password": "t0ken", "extra": {"conf": '
        '{"spark.hadoop.fs.s3a.secret.key": "k3y-of-s3", "spark.executor.memory": "2g"}}}'
    )

    assert found.secrets() == {"t0ken", "k3y-of-s3"}
