"""Where the Spark of a task is, as its named connection says.  Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, NoReturn

from headway.domain.arguments import JsonValue
from headway.domain.connection import Connection
from headway.domain.errors import SecretRefusedError
from headway.sdk.running.task_runtime import DEFAULT_SPARK

CONNECT_PORT: Final = 15002
STANDALONE_PORT: Final = 7077

_TYPES: Final = "spark, spark_connect, sc, k8s, yarn, spark_embedded"
_LOCAL: Final = re.compile(r"local(\[(\*|[1-9]\d*)(, *\d+)?\])?")
_LOCAL_NAMES: Final = ("localhost",)
"""What a server without TLS must be called, for a client to send it a token."""

_SENSITIVE: Final = re.compile(r"(?i)secret|password|token|access[.]?key")
"""Spark's own default of `spark.redaction.regex`."""

_WITH_CLUSTER_MODE: Final = ("yarn", "k8s://")


class SparkKind(StrEnum):
    """How a task gets at Spark."""

    EMBEDDED = "embedded"
    CONNECT = "connect"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkConnection:
    """Where a task's Spark is.  SecretError, which names the connection, if that makes no sense.

    `embedded` is the worker's own server.  `connect` has `host`, `port` and, maybe,
    `token`; `tls` says whether the server has it, and `ca_file` which authority has signed
    it, if the system knows none.  `cluster` has the `master` that spark-submit is given, and
    the options of its command that do not depend on the application.  `conf` are Spark's
    properties: of a session, or of an application, whose own ones win.
    No text that is made of this record holds the token or a property's value.
    """

    conn_id: str = DEFAULT_SPARK
    kind: SparkKind = SparkKind.EMBEDDED
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    host: str | None = None
    port: int = CONNECT_PORT
    token: str | None = field(default=None, repr=False)
    user: str | None = None
    tls: bool = False
    ca_file: str | None = None
    master: str | None = None
    deploy_mode: str | None = None
    spark_home: str | None = None
    principal: str | None = None
    keytab: str | None = None
    proxy_user: str | None = None

    def __post_init__(self) -> None:
        if self.kind is SparkKind.CONNECT:
            self._check_connect()
        if self.kind is SparkKind.CLUSTER:
            self._check_cluster()
        allowed = {"conn_id", "kind", "conf", *_FIELDS[self.kind]}
        for each in fields(self):
            if each.name not in allowed and getattr(self, each.name) != each.default:
                self.refuse(
                    f"{each.name} has no meaning for a Spark of kind {self.kind}; leave it out"
                )

    @property
    def url(self) -> str:
        """The address of a Connect server, without the token."""
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host
        return f"sc://{host}:{self.port}"

    def to_frame(self) -> dict[str, JsonValue]:
        """Return this as plain data; the token is part of it."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**found, "kind": str(self.kind), "conf": dict(self.conf)}

    @classmethod
    def from_frame(cls, frame: Mapping[str, Any]) -> "SparkConnection":
        """Return what `to_frame` made the data of."""
        return cls(**{**frame, "kind": SparkKind(frame["kind"])})

    def secrets(self) -> frozenset[str]:
        """Return the token, and the properties that Spark itself would not show."""
        hidden = {value for name, value in self.conf.items() if _SENSITIVE.search(name)}
        return frozenset({*hidden, self.token} - {None, ""})  # type: ignore[arg-type]

    def refuse(self, why: str) -> NoReturn:
        """Raise the error of a connection that cannot be used."""
        _refuse(self.conn_id, why)

    def _check_connect(self) -> None:
        if not self.host:
            self.refuse("it names no host; write sc://host:port")
        if self.token and not self.tls and self.host not in _LOCAL_NAMES:
            self.refuse(
                "its token would go over the network in the clear; set use_ssl=true in its extra, "
                "and give the server TLS"
            )
        if self.ca_file and not self.tls:
            self.refuse("ca_file is for a server with TLS; set use_ssl=true as well")

    def _check_cluster(self) -> None:
        if not self.master:
            self.refuse("it names no master, such as spark://host:7077, k8s://…, yarn or local[2]")
        if self.deploy_mode not in (None, "client", "cluster"):
            self.refuse("deploy_mode must be client or cluster")
        if self.deploy_mode == "cluster" and not self.master.startswith(_WITH_CLUSTER_MODE):
            self.refuse(
                "deploy_mode=cluster works on YARN and Kubernetes only; leave it out, or use client"
            )
        if (self.principal is None) != (self.keytab is None):
            self.refuse("principal and keytab go together; give both, or neither")
        if self.proxy_user and self.principal:
            self.refuse("spark-submit takes proxy_user or principal, not both; leave one out")


_FIELDS: Final[Mapping[SparkKind, tuple[str, ...]]] = {
    SparkKind.EMBEDDED: (),
    SparkKind.CONNECT: ("host", "port", "token", "user", "tls", "ca_file"),
    SparkKind.CLUSTER: (
        "master",
        "deploy_mode",
        "spark_home",
        "principal",
        "keytab",
        "proxy_user",
    ),
}

_OPTIONS: Final = ("deploy_mode", "spark_home", "principal", "keytab", "proxy_user")
"""What extra holds under the same names, for a cluster."""

_PROPERTIES: Final = {"queue": "spark.yarn.queue", "namespace": "spark.kubernetes.namespace"}
"""What extra may call by a name of its own, though it is one of Spark's properties."""


def spark_connection(conn_id: str, found: Connection | None) -> SparkConnection:
    """Return where the Spark is that a task calls `conn_id`, of which this connection was found.

    SecretError when it is of no type for Spark, or makes no sense; and when there is none of
    that name, unless it is the default one: that is the embedded Spark then.
    """
    if found is None:
        if conn_id == DEFAULT_SPARK:
            return SparkConnection()
        _refuse(
            conn_id,
            "there is none of that name, or this DAG may not use it. Define it, or leave conn_id "
            "out to run on the worker's own Spark",
        )
    extra = {name.replace("-", "_"): value for name, value in found.extra.items()}
    kind = _kind(found)
    conf = {**_conf(conn_id, extra.pop("conf", {})), **_named_properties(kind, conn_id, extra)}
    make = {SparkKind.CONNECT: _connect, SparkKind.CLUSTER: _cluster}.get(kind)
    given = make(found, extra) if make else {}
    if extra:
        _refuse(conn_id, f"extra has {', '.join(sorted(extra))}, which a Spark {kind} has not")
    return SparkConnection(conn_id=conn_id, kind=kind, conf=conf, **given)


def _kind(found: Connection) -> SparkKind:
    conn_type, host = found.conn_type, found.host or ""
    if conn_type == "spark_embedded":
        return SparkKind.EMBEDDED
    if conn_type in ("spark_connect", "sc") or (conn_type == "spark" and host.startswith("sc://")):
        return SparkKind.CONNECT
    if conn_type not in ("spark", "k8s", "yarn"):
        _refuse(found.conn_id, f"it is of type {conn_type}; a task's Spark is of one of {_TYPES}")
    return SparkKind.CLUSTER


def _connect(found: Connection, extra: dict[str, JsonValue]) -> dict[str, Any]:
    conn_id = found.conn_id
    token = _text(conn_id, extra, "token")
    if token and found.password and token != found.password:
        _refuse(conn_id, "it has a password and a token in extra; leave one of them out")
    user = _text(conn_id, extra, "user_id")
    return {
        "host": (found.host or "").removeprefix("sc://").strip("[]"),
        "port": found.port or CONNECT_PORT,
        "token": token or found.password,
        "user": user or found.login,
        "tls": _flag(conn_id, extra, "use_ssl"),
        "ca_file": _text(conn_id, extra, "ca_file"),
    }


def _cluster(found: Connection, extra: dict[str, JsonValue]) -> dict[str, Any]:
    options = {name: _text(found.conn_id, extra, name) for name in _OPTIONS}
    return {"master": _master(found), **options}


def _master(found: Connection) -> str | None:
    """Return the master; a host alone is that of a stand-alone cluster, as for Airflow."""
    host = found.host or ""
    port = f":{found.port}" if found.port else ""
    if found.conn_type == "yarn" or host in ("yarn", "yarn://"):
        return "yarn"
    if found.conn_type == "k8s":
        return f"k8s://{host.removeprefix('k8s://')}{port}" if host else None
    if _LOCAL.fullmatch(host):
        return host
    if host.startswith("k8s://"):
        return host + port
    address = host.removeprefix("spark://")
    if "://" in address or address.startswith("local["):
        _refuse(
            found.conn_id,
            "its host is no master; write spark://host:7077, k8s://…, yarn or local[2]",
        )
    if not address:
        return None
    has_port = re.search(r":\d+$", address) is not None
    return f"spark://{address}{port or ('' if has_port else f':{STANDALONE_PORT}')}"


def _named_properties(kind: SparkKind, conn_id: str, extra: dict[str, JsonValue]) -> dict[str, str]:
    if kind is not SparkKind.CLUSTER:
        return {}
    named = {name: _text(conn_id, extra, name) for name in _PROPERTIES}
    return {_PROPERTIES[name]: value for name, value in named.items() if value is not None}


def _conf(conn_id: str, given: JsonValue) -> dict[str, str]:
    if not isinstance(given, Mapping):
        _refuse(conn_id, "conf in its extra must be an object of Spark's properties")
    found = {}
    for name, value in given.items():
        if isinstance(value, list | dict) or value is None:
            _refuse(conn_id, f"the property {name} must be text, a number, true or false")
        found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _text(conn_id: str, extra: dict[str, JsonValue], name: str) -> str | None:
    value = extra.pop(name, None)
    if value is not None and not isinstance(value, str):
        _refuse(conn_id, f"{name} in its extra must be text")
    return value or None


def _flag(conn_id: str, extra: dict[str, JsonValue], name: str) -> bool:
    value = extra.pop(name, False)
    said = value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value))
    if said is None:
        _refuse(conn_id, f"{name} in its extra must be true or false")
    return said


def _refuse(conn_id: str, why: str) -> NoReturn:
    raise SecretRefusedError(f"The Spark connection {conn_id!r} cannot be used: {why}.")
