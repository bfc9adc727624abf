import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.arguments import JsonValue
from headway.domain.connection import Connection
from headway.domain.errors import DagError, SecretError

CANARY = "canary-8f1e"


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("spark://master:7077", {"conn_type": "spark", "host": "master", "port": 7077}),
        ("sc://gateway:15002", {"conn_type": "sc", "host": "gateway", "port": 15002}),
        (
            "sc://gateway:15002/?token=a%2Bb&use_ssl=true",
            {
                "conn_type": "sc",
                "host": "gateway",
                "port": 15002,
                "extra": {"token": "a+b", "use_ssl": "true"},
            },
        ),
        (
            "sc://gateway:15002/;token=a+b%3D=;use_ssl=true",
            {
                "conn_type": "sc",
                "host": "gateway",
                "port": 15002,
                "extra": {"token": "a+b==", "use_ssl": "true"},
            },
        ),
        ("postgres://db/;a=b", {"conn_type": "postgres", "host": "db", "schema": ";a=b"}),
        (
            "k8s://https://kube.example:6443?deploy-mode=cluster",
            {
                "conn_type": "k8s",
                "host": "https://kube.example",
                "port": 6443,
                "extra": {"deploy-mode": "cluster"},
            },
        ),
        (
            "spark://k8s%3A%2F%2Fhttps%3A%2F%2Fkube:6443",
            {"conn_type": "spark", "host": "k8s://https://kube", "port": 6443},
        ),
        ("spark://local[*]", {"conn_type": "spark", "host": "local[*]"}),
        ("yarn://", {"conn_type": "yarn"}),
        ("spark://yarn", {"conn_type": "spark", "host": "yarn"}),
        (
            "google-cloud-platform://?__extra__=%7B%22n%22%3A+%7B%22a%22%3A+1%7D%7D",
            {"conn_type": "google_cloud_platform", "extra": {"n": {"a": 1}}},
        ),
        (
            "Postgres://me:p%40ss%2Fword@db:5432/sales%20eu?sslmode=require",
            {
                "conn_type": "postgres",
                "host": "db",
                "login": "me",
                "password": "p@ss/word",
                "port": 5432,
                "schema": "sales eu",
                "extra": {"sslmode": "require"},
            },
        ),
        ("http://:secret@", {"conn_type": "http", "password": "secret"}),
        ("http://me@[::1]:80", {"conn_type": "http", "login": "me", "host": "[::1]", "port": 80}),
        ("http://@:8080", {"conn_type": "http", "port": 8080}),
        ("http://https://me:x@Web/path", {
            "conn_type": "http", "host": "https://Web", "login": "me", "password": "x",
            "schema": "path",
        }),
    ],
)  # fmt: skip
def test_a_uri_is_read_as_airflow_reads_it(uri: str, expected: dict[str, JsonValue]) -> None:
    connection = Connection.from_uri("there", uri)

    assert connection.to_fields() == expected
    assert Connection.from_uri("there", connection.get_uri()) == connection


@pytest.mark.parametrize(
    ("fields", "uri"),
    [
        ({"conn_type": "spark", "host": "master", "port": 7077}, "spark://master:7077"),
        ({"conn_type": "k8s", "host": "https://kube", "port": 1}, "k8s://https://kube:1"),
        (
            {"conn_type": "spark", "host": "k8s://https://kube", "port": 1},
            "spark://k8s%3A%2F%2Fhttps%3A%2F%2Fkube:1",
        ),
        (
            {"conn_type": "my_db", "login": "a", "password": "b/c", "schema": "s"},
            "my-db://a:b%2Fc@/s",
        ),
        ({"conn_type": "sc", "host": "h", "extra": {"token": "t"}}, "sc://h/?token=t"),
        ({"conn_type": "sc", "host": "h", "extra": {"a": "", "b": "t"}}, "sc://h/?a=&b=t"),
    ],
)
def test_a_uri_is_written_as_airflow_writes_it(fields: dict[str, JsonValue], uri: str) -> None:
    assert Connection.from_fields("there", fields).get_uri() == uri


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(words, inner),
    max_leaves=5,
)  # fmt: skip
connections = st.builds(
    Connection,
    conn_id=st.just("there"),
    conn_type=st.from_regex(r"[a-z0-9][a-z0-9_.+]*", fullmatch=True),
    host=st.none() | words,
    login=st.none() | words,
    password=st.none() | words,
    port=st.none() | st.integers(1, 65535),
    schema=st.none() | words,
    extra=st.dictionaries(words, json_values, max_size=3),
)


@given(connections)
def test_whatever_a_connection_holds_is_the_same_when_it_is_read_again(it: Connection) -> None:
    assert Connection.from_uri("there", it.get_uri()) == it
    assert Connection.from_json("there", it.to_json()) == it
    assert Connection.from_text("there", it.get_uri()) == it
    assert Connection.from_text("there", it.to_json()) == it
    assert Connection.from_fields("there", it.to_fields()) == it
    assert copy.deepcopy(it) == pickle.loads(pickle.dumps(it)) == it


def test_json_may_hold_extra_as_text_or_a_uri_alone() -> None:
    as_text = {"conn_type": "google-cloud", "extra": json.dumps({"a": [1]}), "login": None}

    assert Connection.from_json("x", json.dumps(as_text)) == Connection(
        conn_id="x", conn_type="google_cloud", extra={"a": [1]}
    )
    assert Connection.from_json("x", '{"uri": "spark://m"}').host == "m"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is no URI"),
        (CANARY, "this is no URI"),
        (f"a b://{CANARY}", "this is no URI"),
        (f"t://me:{CANARY}/rest@host", "the port in its URI is no number"),
        (f"t://host:{CANARY}", "the port in its URI is no number"),
        ("t://host:٣", "the port in its URI is no number"),
        ("t://host:0", "port must be a number from 1 to 65535"),
        ("t://host:65536", "port must be a number from 1 to 65535"),
        (f"t://me:{CANARY}@https://host", "after a login"),
        (f"t://a://b://{CANARY}", "more than twice"),
        (f"t://?__extra__={CANARY}", "__extra__ is not a JSON object"),
        ("t://?__extra__=[1]", "__extra__ is not a JSON object"),
        (f'{{"conn_type": "t", "password": "{CANARY}"', "The connection is not a JSON object"),
        ("{" * 100_000, "The connection is not a JSON object"),
        (f'{{"conn_type": "t", "pasword": "{CANARY}"}}', "there is no field 'pasword'"),
        (f'{{"password": "{CANARY}"}}', "it has no conn_type"),
        ('{"conn_type": "t", "password": 12345}', "password must be text"),
        ('{"conn_type": "t", "password": "\\ud800"}', "password must be text"),
        ('{"conn_type": "t", "extra": {"a": NaN}}', "extra must be a JSON object"),
        ('{"conn_type": "t", "extra": [1]}', "extra must be a JSON object"),
        ('{"conn_type": "t", "extra": ' + '{"a":' * 33 + "1" + "}" * 34, "at most 32 levels"),
        (f'{{"conn_type": "t", "extra": "{CANARY}"}}', "extra is not a JSON object"),
        ('{"conn_type": "t", "port": "80"}', "port must be a number"),
        ('{"conn_type": "t", "port": true}', "port must be a number"),
        ('{"conn_type": ""}', "the conn_type '' may hold only"),
        ('{"conn_type": 7}', "conn_type must be text"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_without_the_secret(text: str, message: str) -> None:
    with pytest.raises(SecretError, match=message) as caught:
        Connection.from_text("there", text)

    assert "'there'" in str(caught.value)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_the_id_is_that_of_a_file_or_a_variable() -> None:
    with pytest.raises(DagError, match=r"The connection id '\.\./x'"):
        Connection.from_uri("../x", "spark://m")


def test_nothing_secret_is_shown() -> None:
    uri = f"t://me:{CANARY}@host/?token={CANARY}&nested={CANARY}"
    shown = repr(Connection.from_uri("there", uri))

    assert CANARY not in shown
    assert "login='me', password='***', port=None" in shown
    assert "extra={'token': '***', 'nested': '***'}" in shown
    assert CANARY not in str([Connection.from_uri("there", uri)])


def test_what_no_log_may_show() -> None:
    extra: dict[str, JsonValue] = {
        "use_ssl": "true",
        "verify": True,
        "retries": 3,
        "region": "eu",
        "auth": {"Client-Secret": [4711, "s", None, ""], "api-key": 0.5, "token_valid": False},
    }
    connection = Connection(conn_id="c", conn_type="t", password="pw", login="me", extra=extra)

    assert connection.secrets() == {"pw", "eu", "4711", "s", "0.5"}


def test_a_connection_is_not_made_with_an_id_that_is_no_name() -> None:
    with pytest.raises(DagError, match=r"The connection id '\.\./x'"):
        Connection(conn_id="../x", conn_type="t")
