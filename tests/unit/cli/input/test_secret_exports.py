"""Connections and variables as Headway and Airflow export them."""

import json

import pytest

from headway.cli.input.secret_exports import described, exported_connection, exported_variable
from headway.domain.connection import Connection
from headway.domain.errors import SecretError

AIRFLOW = {
    "conn_type": "http",
    "description": "the shop",
    "login": None,
    "password": "word",
    "host": "there",
    "port": 8080,
    "schema": None,
    "extra": '{"a": 1}',
}
"""What `airflow connections export` of Airflow 3.3.2 writes for one connection."""


def test_a_connection_is_that_of_airflow_without_its_description() -> None:
    assert exported_connection("shop", AIRFLOW) == Connection(
        conn_id="shop", conn_type="http", password="word", host="there", port=8080, extra={"a": 1}
    )


def test_a_connection_may_be_a_uri() -> None:
    assert exported_connection("shop", "http://there").host == "there"


@pytest.mark.parametrize("value", [None, 1, ["http://there"]])
def test_what_is_no_connection_is_refused(value: object) -> None:
    with pytest.raises(SecretError, match="'shop': it must be a URI or an object of fields"):
        exported_connection("shop", value)


def test_another_field_is_refused() -> None:
    with pytest.raises(SecretError, match="no field 'hots'"):
        exported_connection("shop", {"conn_type": "http", "hots": "there"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        (5, "5"),
        (None, "null"),
        ([1, "a"], '[1, "a"]'),
        ({"value": "text", "description": "of Airflow's"}, "text"),
        ({"value": {"a": 1}, "description": None}, '{"a": 1}'),
        ({"value": 1}, '{"value": 1}'),
        ({"value": 1, "description": "d", "more": 2}, None),
    ],
)
def test_a_variable_has_the_text_that_airflow_exported(value: object, text: str | None) -> None:
    assert exported_variable(value) == (json.dumps(value) if text is None else text)


def test_what_is_described_is_named() -> None:
    given = {"a": AIRFLOW, "b": {"value": 1, "description": None}, "c": "text", "d": 1}

    assert described(given) == ["a"]
