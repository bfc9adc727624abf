"""What a connection says to the library of a store."""

from typing import Any

import pytest

from headway.sdk import Connection
from headway.sdk.exceptions import RefusedException
from headway.sdk.storage.options import options_of


def aws(**fields: Any) -> Connection:
    return Connection(conn_id="aws", conn_type="aws", **fields)


def test_login_and_password_are_the_key_of_s3() -> None:
    extra = {
        "aws_access_key_id": "other",
        "aws_secret_access_key": "other",
        "aws_session_token": "t",
        "endpoint_url": "http://store:9000",
        "region_name": "eu-west-1",
        "verify": False,
        "profile_name": "p",
        "config_kwargs": {"s3": {"addressing_style": "path"}},
    }

    assert options_of("s3", aws(login="k", password="s", extra=extra)) == {
        "key": "k",
        "secret": "s",
        "token": "t",
        "endpoint_url": "http://store:9000",
        "client_kwargs": {"region_name": "eu-west-1", "verify": False},
        "profile": "p",
        "config_kwargs": {"s3": {"addressing_style": "path"}},
    }


def test_without_both_the_key_is_in_extra() -> None:
    extra = {"aws_access_key_id": "k", "aws_secret_access_key": "s"}

    assert options_of("s3a", aws(login="only", extra=extra)) == {"key": "k", "secret": "s"}


def test_an_address_of_s3_alone_goes_before_that_of_all_services() -> None:
    extra = {"endpoint_url": "http://all", "service_config": {"s3": {"endpoint_url": "http://s3"}}}

    assert options_of("s3", aws(extra=extra)) == {"endpoint_url": "http://s3"}


def test_the_first_region_is_none_that_a_bucket_is_made_in() -> None:
    assert options_of("s3", aws(extra={"region_name": "us-east-1"})) == {
        "config_kwargs": {"region_name": "us-east-1"}
    }


def test_what_s3_does_not_read_is_refused() -> None:
    with pytest.raises(RefusedException, match=r"'aws': .* does not read 'role_arn' in its extra"):
        options_of("s3", aws(extra={"region_name": "r", "role_arn": "arn:aws:iam::1:role/r"}))


def test_extra_holds_the_options_of_google() -> None:
    extra: Any = {"project": "p", "keyfile_dict": {"type": "service_account"}}
    connection = Connection(conn_id="g", conn_type="google_cloud_platform", extra=extra)

    assert options_of("gs", connection) == {"project": "p", "token": {"type": "service_account"}}


def test_azure_has_an_account() -> None:
    connection = Connection(
        conn_id="a", conn_type="wasb", login="shop", password="key", extra={"anon": False}
    )

    assert options_of("abfs", connection) == {
        "account_name": "shop",
        "account_key": "key",
        "anon": False,
    }


def test_any_other_store_is_a_server() -> None:
    connection = Connection(
        conn_id="c", conn_type="sftp", host="h", port=22, login="u", password="p", extra={"x": 1}
    )

    assert options_of("sftp", connection) == {
        "host": "h",
        "port": 22,
        "username": "u",
        "password": "p",
        "x": 1,
    }
