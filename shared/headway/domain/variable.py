"""A variable: a text under a name, a secret unless it was said to be none."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from headway.domain.connection import Connection
from headway.domain.dag.names import check_key
from headway.domain.errors import SecretError
from headway.domain.sensitive import NO_SECRETS, secret_texts

LARGEST_SECRET: Final = 256 * 2**10
"""Bytes that a connection or a variable may have."""

EVERY_DAG: Final = "*"
"""What stands in a grant for every DAG; no DAG can be called so."""

_OF_BUNDLE: Final = "bundle:"
"""What a grant to the files of a bundle begins with; the id of no DAG has a colon."""


class SecretKind(StrEnum):
    """A connection or a variable."""

    CONNECTION = "connection"
    VARIABLE = "variable"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVariable:
    """A named text.  One that is `plain` is no secret: logs and lists may show it."""

    key: str
    value: str
    plain: bool = False

    def __post_init__(self) -> None:
        check_key("variable", self.key)
        try:
            size = len(self.value.encode())
        except UnicodeEncodeError:
            raise SecretError(
                f"Variable {self.key!r} holds half a surrogate pair, which is no text."
            ) from None
        if "\0" in self.value:
            raise SecretError(f"Variable {self.key!r} holds a NUL character; remove it.")
        if size > LARGEST_SECRET:
            raise SecretError(
                f"Variable {self.key!r} has {size:,} bytes; it may have {LARGEST_SECRET:,}. "
                "Store large data in a file, and its path in the variable."
            )

    def __repr__(self) -> str:
        """Show the value only if it is plain."""
        return f"Variable({self.key!r}, {self.value if self.plain else '***'!r})"

    def secrets(self) -> frozenset[str]:
        """Return the texts that no log may show: the value, and the texts in it if it is JSON.

        Words such as `false` are no secrets.
        """
        if self.plain or self.value.strip().lower() in NO_SECRETS:
            return frozenset()
        found = {self.value, self.value.strip()}
        try:
            inside = json.loads(self.value)
            if isinstance(inside, dict | list):
                found.update(secret_texts(inside))
        except (ValueError, RecursionError):
            pass  # it is a text like any other
        return frozenset(found - {""})


Secret: TypeAlias = Connection | StoredVariable


def to_bundle(name: str) -> str:
    """Return what stands in a grant for the DAG files of a bundle."""
    return _OF_BUNDLE + name


def bundle_of(grantee: str) -> str | None:
    """Return the bundle whose DAG files a grant is for; None where it is for DAGs."""
    return grantee.removeprefix(_OF_BUNDLE) if grantee.startswith(_OF_BUNDLE) else None


def described(grantee: str) -> str:
    """Return in words whom a grant is for."""
    if grantee == EVERY_DAG:
        return "every DAG"
    bundle = bundle_of(grantee)
    return f"DAG {grantee!r}" if bundle is None else f"the files of bundle {bundle!r}"


def check_grantee(grantee: str) -> str:
    """Return whom a grant is for; DagError for what can be the name of no DAG and no bundle."""
    if grantee != EVERY_DAG:
        bundle = bundle_of(grantee)
        check_key("DAG" if bundle is None else "bundle", grantee if bundle is None else bundle)
    return grantee


def kind_of(secret: Secret) -> tuple[SecretKind, str]:
    """Return what it is, and its name."""
    if isinstance(secret, Connection):
        return SecretKind.CONNECTION, secret.conn_id
    return SecretKind.VARIABLE, secret.key


def to_text(secret: Secret) -> str:
    """Return the form in which it is kept, which `from_text` reads."""
    if isinstance(secret, Connection):
        return secret.to_json()
    return json.dumps({"value": secret.value, "plain": secret.plain})


def from_text(kind: SecretKind, name: str, text: str) -> Secret:
    """Return what `to_text` made the text of."""
    if kind is SecretKind.CONNECTION:
        return Connection.from_json(name, text)
    fields = json.loads(text)
    return StoredVariable(key=name, value=fields["value"], plain=fields["plain"])


def provided(kind: SecretKind, name: str, text: str) -> Secret:
    """Return what somebody has written: a connection as URI or JSON, a variable as it is."""
    if kind is SecretKind.CONNECTION:
        return Connection.from_text(name, text)
    return StoredVariable(key=name, value=text)
