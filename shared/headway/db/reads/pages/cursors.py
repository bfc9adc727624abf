"""Cursors: where a page of a list has ended, as text that the same list alone takes back."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from typing import Final, TypeAlias, cast

import msgpack

from headway.domain.errors import RequestError
from headway.domain.hints import Parameter, hint

KeyPart: TypeAlias = str | int | datetime | None
Key: TypeAlias = tuple[KeyPart, ...]
Kinds: TypeAlias = tuple[type | tuple[type, ...], ...]

_LONGEST: Final = 8_192
_DIGEST_BYTES: Final = 8
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PagedList:
    """What a cursor is bound to: a list, its order, and its filters.

    `kinds` are the types of the parts of a key; a part that may be missing has None's as well.
    """

    name: str
    kinds: Kinds
    order: str = ""
    descending: bool = False
    filters: Mapping[str, object] = field(default_factory=dict)

    def cursor(self, key: Key) -> str:
        """Return the cursor of the rows that follow this key."""
        packed: bytes = msgpack.packb([self._digest(), *key], datetime=True)
        return urlsafe_b64encode(packed).rstrip(b"=").decode()

    def key(self, cursor: str | None) -> Key | None:
        """Return the key that rows shall follow; None, as for an empty cursor, at the beginning."""
        if not cursor:
            return None
        digest, *parts = _unpacked(cursor)
        if digest != self._digest():
            raise RequestError(
                "The cursor is of another list, or of other filters, or of another order.",
                hint=_AGAIN,
            )
        if len(parts) != len(self.kinds) or not all(map(_fits, parts, self.kinds)):
            raise _malformed()
        return cast(Key, tuple(parts))

    def following(self, key: Key | None) -> str | None:
        """Return the cursor of the rows that follow this key; None where none follow."""
        return None if key is None else self.cursor(key)

    def preceding(self, keys: Sequence[Key]) -> str | None:
        """Return the cursor of the rows before the first of these, of the list in reverse."""
        return replace(self, descending=not self.descending).cursor(keys[0]) if keys else None

    def _digest(self) -> bytes:
        filters = sorted((name, _plain(value)) for name, value in self.filters.items())
        bound = [self.name, self.order, self.descending, filters]
        packed: bytes = msgpack.packb(bound, datetime=True)
        return blake2b(packed, digest_size=_DIGEST_BYTES).digest()


_AGAIN: Final = hint(
    "Give ", Parameter("cursor"), " as the page before has it, with the same filters and order."
)


def _malformed() -> RequestError:
    return RequestError("The cursor is none that a list has given.", hint=_AGAIN)


def _unpacked(cursor: str) -> Sequence[object]:
    if len(cursor) > _LONGEST:
        raise _malformed()
    try:
        packed = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        parts = msgpack.unpackb(packed, timestamp=3)
    except (ValueError, OverflowError, binascii.Error, msgpack.UnpackException) as error:
        raise _malformed() from error
    if not isinstance(parts, list) or not parts:
        raise _malformed()
    return parts


def _fits(part: object, kind: type | tuple[type, ...]) -> bool:
    """Whether the part of a key is of its type, and is a value that the database takes."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if isinstance(part, bool) or type(part) not in kinds:
        return isinstance(part, bool) and bool in kinds
    if isinstance(part, str):
        return "\0" not in part
    return not isinstance(part, int) or abs(part) <= _LARGEST


def _plain(value: object) -> object:
    """Return the value of a filter as what stands in the digest."""
    if isinstance(value, Mapping):
        return sorted((name, _plain(each)) for name, each in value.items())
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    return [_plain(each) for each in value]
