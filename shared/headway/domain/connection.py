"""A connection: where something outside Headway is reached, and with which credentials.

Its forms as text are Airflow's: a URI, or a JSON object.  No error says anything of a
connection that may be secret: its text is not quoted, but for its type and names of fields.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from headway.domain.arguments import JsonValue
from headway.domain.dag.names import check_key
from headway.domain.errors import SecretError
from headway.domain.sensitive import secret_texts

EXTRA_KEY: Final = "__extra__"
"""The parameter of a URI that holds all of extra as JSON, where it has no simpler form."""

LARGEST_PORT: Final = 65535

DEEPEST: Final = 32
"""Levels of lists and maps in extra."""

_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9_.+]*")
_PROTOCOL: Final = re.compile(r"[A-Za-z0-9_.+\-]*")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Connection:
    """A named connection.  `port` is 1 to 65535; `extra` holds JSON values by name.

    What is absent is None.  A SecretError tells of a field that is of a wrong type.
    """

    conn_id: str
    conn_type: str
    host: str | None = None
    login: str | None = None
    password: str | None = None
    port: int | None = None
    schema: str | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_key("connection", self.conn_id)
        for name in ("conn_type", "host", "login", "password", "schema"):
            value = getattr(self, name)
            if not _is_text(value) and (name == "conn_type" or value is not None):
                raise self._wrong(f"{name} must be text")
        if not _TYPE.fullmatch(self.conn_type):
            raise self._wrong(
                f"the conn_type {self.conn_type[:60]!r} may hold only small letters, digits and "
                "underscores; it says what is connected to, for example spark or postgres"
            )
        port = self.port
        if port is not None and (type(port) is not int or not 0 < port <= LARGEST_PORT):
            raise self._wrong(f"port must be a number from 1 to {LARGEST_PORT}")
        if not _is_object(self.extra):
            raise self._wrong(f"extra must be a JSON object of at most {DEEPEST} levels")

    def __repr__(self) -> str:
        """Show everything but the password and the values of extra."""
        shown = {each.name: getattr(self, each.name) for each in fields(self)}
        shown["password"] = None if self.password is None else "***"
        shown["extra"] = dict.fromkeys(self.extra, "***")
        return f"Connection({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    @property
    def extra_dejson(self) -> dict[str, JsonValue]:
        """`extra` as a dictionary, by the name that it has in Airflow."""
        return dict(self.extra)

    @classmethod
    def from_uri(cls, conn_id: str, uri: str) -> "Connection":
        """Read `type://login:password@host:port/schema?name=value`, each part percent-encoded.

        The host may have a protocol of its own, as in `k8s://https://host:6443`, and
        `sc://` may have its parameters as Spark writes them, `sc://host:15002/;token=…`.
        """
        check_key("connection", conn_id)
        return cls(conn_id=conn_id, **_parts(conn_id, uri))  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, conn_id: str, text: str) -> "Connection":
        """Read a JSON object of the fields; extra may be an object, or text that holds one."""
        check_key("connection", conn_id)
        return cls.from_fields(conn_id, _object(conn_id, text, "The connection"))

    @classmethod
    def from_text(cls, conn_id: str, text: str) -> "Connection":
        """Read what is either a JSON object or a URI."""
        text = text.strip()
        read = cls.from_json if text.startswith("{") else cls.from_uri
        return read(conn_id, text)

    @classmethod
    def from_fields(cls, conn_id: str, given: Mapping[str, JsonValue]) -> "Connection":
        """Make a connection of fields by name, as `to_fields` returns them; or of a `uri`."""
        known = {each.name for each in fields(cls)} - {"conn_id"}
        uri = given.get("uri")
        if isinstance(uri, str) and set(given) == {"uri"}:
            return cls.from_uri(conn_id, uri)
        unknown = sorted(set(given) - known)
        if unknown:
            raise SecretError(
                f"Connection {conn_id!r}: there is no field {unknown[0]!r}; a connection has "
                f"{', '.join(sorted(known))}, or a uri alone."
            )
        values = {name: value for name, value in given.items() if value is not None}
        if "conn_type" not in values:
            raise SecretError(f"Connection {conn_id!r}: it has no conn_type; add one.")
        if isinstance(conn_type := values["conn_type"], str):
            values["conn_type"] = _type(conn_type)
        if isinstance(extra := values.get("extra"), str):
            values["extra"] = _object(conn_id, extra, "extra") if extra.strip() else {}
        return cls(conn_id=conn_id, **values)  # type: ignore[arg-type]

    def to_fields(self) -> dict[str, JsonValue]:
        """Return the fields that the connection has, all but its id."""
        found: dict[str, JsonValue] = {"conn_type": self.conn_type}
        for name in ("host", "login", "password", "port", "schema"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        return {**found, "extra": dict(self.extra)} if self.extra else found

    def to_json(self) -> str:
        """Return the form that `from_json` reads."""
        return json.dumps(self.to_fields(), sort_keys=True)

    def get_uri(self) -> str:
        """Return the form that `from_uri` reads; it shows the password.

        What is empty is as good as absent there.
        """
        protocol, separator, host = (self.host or "").rpartition("://")
        login = "" if self.login is None else quote(self.login, safe="")
        if self.password is not None:
            login += f":{quote(self.password, safe='')}"
        at = "@" if login or (self.port and not host) else ""
        port = f":{self.port}" if self.port else ""
        schema = f"/{quote(self.schema, safe='')}" if self.schema else ""
        if not _PROTOCOL.fullmatch(protocol):  # as that of k8s://https://host
            protocol, separator, host = "", "", self.host or ""
        start = f"{self.conn_type.replace('_', '-')}://{protocol}{separator}"
        return f"{start}{login}{at}{quote(host, safe='')}{port}{schema}{self._query()}"

    def secrets(self) -> frozenset[str]:
        """Return the texts that no log may show: the password, and what is in extra.

        Of extra that is every text, and numbers under names such as `token` or `secret`.
        """
        found = set(secret_texts(self.extra))
        if self.password:
            found.add(self.password)
        return frozenset(found)

    def _query(self) -> str:
        if not self.extra:
            return ""
        query = urlencode([(name, str(value)) for name, value in self.extra.items()])
        if dict(parse_qsl(query, keep_blank_values=True)) != self.extra or EXTRA_KEY in self.extra:
            query = urlencode({EXTRA_KEY: json.dumps(dict(self.extra), sort_keys=True)})
        return f"?{query}" if self.schema else f"/?{query}"

    def _wrong(self, what: str) -> SecretError:
        return SecretError(f"Connection {self.conn_id!r}: {what}.")


def _parts(conn_id: str, uri: str) -> dict[str, JsonValue]:
    conn_type, separator, rest = uri.strip().partition("://")
    if not separator or not _TYPE.fullmatch(_type(conn_type)):
        raise SecretError(
            f"Connection {conn_id!r}: this is no URI; write type://login:password@host:port/"
            "schema?name=value, with what is special in each part percent-encoded."
        )
    rest, _, query = rest.partition("?")
    protocol, separator, place = rest.rpartition("://")
    place, _, path = place.partition("/")
    if not _PROTOCOL.fullmatch(protocol):
        raise SecretError(
            f"Connection {conn_id!r}: '://' stands more than twice in its URI, or after a login; "
            "write the protocol of the host before the login, and '/' elsewhere as %2F."
        )
    login, password, host, port = _place(conn_id, place)
    extra = _extra(conn_id, query)
    if conn_type == "sc" and path.startswith(";"):
        pairs = [pair.partition("=") for pair in path.split(";") if pair]
        path, extra = "", {**extra, **{unquote(n): unquote(value) for n, _, value in pairs}}
    return {
        "conn_type": _type(conn_type),
        "host": f"{protocol}{separator}{host}" or None,
        "login": login,
        "password": password,
        "port": port,
        "schema": unquote(path) or None,
        "extra": extra,
    }


def _place(conn_id: str, place: str) -> tuple[str | None, str | None, str, int | None]:
    who, _, where = place.rpartition("@")
    login, _, password = who.partition(":")
    host, _, port = where, "", ""
    if ":" in where.rpartition("]")[2]:  # an IPv6 address has its colons in brackets
        host, _, port = where.rpartition(":")
    if port and not (port.isascii() and port.isdigit()):
        raise SecretError(
            f"Connection {conn_id!r}: the port in its URI is no number. Percent-encode what is "
            "special in the login and the password, such as / ? # : and @."
        )
    return (
        unquote(login) or None,
        unquote(password) or None,
        unquote(host),
        int(port) if port else None,
    )


def _extra(conn_id: str, query: str) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = dict(parse_qsl(query, keep_blank_values=True))
    if isinstance(whole := found.get(EXTRA_KEY), str):
        return _object(conn_id, whole, EXTRA_KEY)
    return found


def _type(conn_type: str) -> str:
    return conn_type.lower().replace("-", "_")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and _is_object({"": value})


def _is_object(value: object) -> bool:
    """Return whether it is a JSON object, whose texts are text; NaN is no JSON."""
    try:
        json.dumps(dict(value), ensure_ascii=False, allow_nan=False).encode()  # type: ignore[call-overload]
    except (ValueError, TypeError, RecursionError):
        return False
    return _fits(value, DEEPEST)


def _fits(value: object, levels: int) -> bool:
    if isinstance(value, Mapping):
        return levels > 0 and all(
            isinstance(name, str) and _fits(item, levels - 1) for name, item in value.items()
        )
    if isinstance(value, list | tuple):
        return levels > 0 and all(_fits(item, levels - 1) for item in value)
    return True


def _object(conn_id: str, text: str, what: str) -> dict[str, JsonValue]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None  # and no cause: it would quote the text
    if not isinstance(value, dict):
        raise SecretError(f"Connection {conn_id!r}: {what} is not a JSON object.")
    return value
