"""What task_state_store takes: keys, values and retentions."""

import json
from datetime import timedelta
from typing import Final

from headway.domain.arguments import JsonValue
from headway.domain.retention import DEFAULT_RETENTION, LONGEST_RETENTION, LONGEST_STATE_KEY
from headway.sdk.exceptions import StateStoreError, XComError
from headway.sdk.values.xcom import XCOM_LIMIT, check_json

NEVER_EXPIRE: Final = timedelta.max
"""The retention of what is kept as long as the run."""


def check_state_key(key: object) -> str:
    """Return a key as a plain string; StateStoreError if it can be none."""
    if not isinstance(key, str):
        raise StateStoreError(
            f"The key {key!r} of task_state_store is of type {type(key).__name__}; use a string."
        )
    plain = str.__str__(key)
    if not 1 <= len(plain) <= LONGEST_STATE_KEY or not plain.isprintable():
        raise StateStoreError(
            f"The key {plain[:60]!r} of task_state_store must have 1 to {LONGEST_STATE_KEY} "
            f"printable characters; it has {len(plain)} characters."
        )
    return plain


def check_state_value(key: str, value: object) -> JsonValue:
    """Return a value as plain JSON, of a size that can be kept; else StateStoreError."""
    if value is None:
        raise StateStoreError(
            f"{_named(key)} is None, which get() returns for a key that is not there; call "
            "delete() to remove a key."
        )
    try:
        plain = check_json(value, _named(key))
    except XComError as error:
        raise StateStoreError(str(error)) from None
    check_state_size(key, plain)
    return plain


def check_state_size(key: str, plain: JsonValue, limit: int = XCOM_LIMIT) -> None:
    """Raise StateStoreError for a value of more bytes as JSON than an XCom may have."""
    size = len(json.dumps(plain, ensure_ascii=False).encode())
    if size > limit:
        raise StateStoreError(
            f"{_named(key)} has {size:,} bytes as JSON; it may have {limit:,}, like an XCom. "
            "Store large data in a file and keep its path."
        )


def check_retention(key: str, retention: object) -> timedelta | None:
    """Return for how long a value is kept; None if it never expires.  Else StateStoreError."""
    if retention is None:
        return DEFAULT_RETENTION
    if retention == NEVER_EXPIRE:
        return None
    if not isinstance(retention, timedelta):
        raise StateStoreError(
            f"{_named(key)} has retention={retention!r}; pass a timedelta, NEVER_EXPIRE or None."
        )
    if not timedelta(0) < retention <= LONGEST_RETENTION:
        raise StateStoreError(
            f"{_named(key)} has retention={retention!r}; pass one above 0 and of at most "
            f"{LONGEST_RETENTION.days:,} days, or NEVER_EXPIRE."
        )
    return retention


def _named(key: str) -> str:
    return f"The value of {key!r} in task_state_store"
