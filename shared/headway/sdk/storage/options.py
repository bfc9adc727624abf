"""What a connection says to the library of an object store."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from headway.domain.connection import Connection
from headway.sdk.exceptions import RefusedException

Options: TypeAlias = dict[str, Any]
"""Arguments of a file system of fsspec."""

FILES: Final = frozenset({"", "file", "local"})
LOCAL: Final = FILES | {"memory"}
"""Schemes of files of this machine, and also of what is in this process: no connection is asked."""

_OF_S3: Final = frozenset(
    {
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
        "config_kwargs",
        "endpoint_url",
        "profile_name",
        "region_name",
        "service_config",
        "verify",
    }
)
"""The names in extra that the Amazon provider has, as far as they are read here."""

_FIRST_REGION: Final = "us-east-1"

_OF_GOOGLE: Final[Mapping[str, str]] = {"key_path": "token", "keyfile_dict": "token"}
"""Names in extra that the Google provider has, and what gcsfs calls them."""


def options_of(scheme: str, connection: Connection) -> Options:
    """Return the options of a store of that scheme; RefusedException for what has no meaning."""
    return _READERS.get(scheme, _other)(connection)


def _s3(connection: Connection) -> Options:
    """Return the options of s3fs, out of the fields that the Amazon provider reads."""
    extra = dict(connection.extra)
    unread = sorted(extra.keys() - _OF_S3)
    if unread:
        raise RefusedException(
            f"Connection {connection.conn_id!r}: an ObjectStoragePath does not read {unread[0]!r} "
            f"in its extra. It reads {', '.join(sorted(_OF_S3))}. Leave it out, or use the S3Hook "
            "of the Amazon provider."
        )
    has_login = bool(connection.login and connection.password)
    found = {
        "key": connection.login if has_login else extra.get("aws_access_key_id"),
        "secret": connection.password if has_login else extra.get("aws_secret_access_key"),
        "token": extra.get("aws_session_token"),
        "endpoint_url": _of_service(extra, "endpoint_url") or extra.get("endpoint_url"),
        "profile": extra.get("profile_name"),
        **_region(extra),
    }
    return _said(found)


def _region(extra: Mapping[str, Any]) -> Options:
    """Return the options that may hold the region.

    What is in `client_kwargs` s3fs also gives to S3 when it makes a bucket, and S3 takes any
    region there but its first.
    """
    region, config = extra.get("region_name"), dict(extra.get("config_kwargs") or {})
    client = _said({"region_name": region, "verify": extra.get("verify")})
    if region == _FIRST_REGION:
        config.setdefault("region_name", client.pop("region_name"))
    return {"config_kwargs": config, "client_kwargs": client}


def _of_service(extra: Mapping[str, Any], name: str) -> object:
    services = extra.get("service_config")
    service = services.get("s3") if isinstance(services, dict) else None
    return service.get(name) if isinstance(service, dict) else None


def _google(connection: Connection) -> Options:
    """Return the options of gcsfs: what extra holds."""
    return {_OF_GOOGLE.get(name, name): value for name, value in connection.extra.items()}


def _azure(connection: Connection) -> Options:
    """Return the options of adlfs: the account, its key, and what extra holds."""
    account = {"account_name": connection.login, "account_key": connection.password}
    return {**_said(account), **connection.extra}


def _other(connection: Connection) -> Options:
    """Return where a server is, as whom it is asked, and what extra holds."""
    server = {
        "host": connection.host,
        "port": connection.port,
        "username": connection.login,
        "password": connection.password,
    }
    return {**_said(server), **connection.extra}


def _said(options: Mapping[str, Any]) -> Options:
    """Return the options that have a value."""
    return {name: value for name, value in options.items() if value not in (None, {}, "")}


_READERS: Final[Mapping[str, Callable[[Connection], Options]]] = {
    **dict.fromkeys(("s3", "s3a"), _s3),
    **dict.fromkeys(("gs", "gcs"), _google),
    **dict.fromkeys(("abfs", "abfss", "adl", "az"), _azure),
}
