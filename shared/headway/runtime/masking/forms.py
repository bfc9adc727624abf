"""The forms in which a secret can appear: as it is, its lines, and what encodings make of it."""

import json
from base64 import b64encode, urlsafe_b64encode
from typing import Final
from urllib.parse import quote, quote_plus

SHORTEST_SECRET: Final = 5
"""Characters that a secret must have to be masked: a shorter one is found in any text."""

SHORTEST_LINE: Final = 8
"""Characters that one line of a secret of several lines must have to be masked by itself."""

_UNESCAPED_BY_JAVASCRIPT: Final = "!~*'()"
_ALIGNED_AT: Final = (0, 2, 3)
"""The first character of base64 that holds nothing of the 0, 1 or 2 bytes before a secret."""


def raw(value: str) -> bytes:
    """Return the plain form."""
    return value.encode("utf-8", "surrogatepass")


def lines(secret: str) -> list[str]:
    """Return the lines of a secret that are masked by themselves."""
    stripped = (line.strip() for line in secret.splitlines())
    return [line for line in stripped if len(line) >= SHORTEST_LINE and line != secret]


def derived(value: str) -> set[bytes]:
    """Return what encodings make of a value, without its plain form.

    Two to four bits of the value may remain in the character before, and after, a base64
    encoding that goes on there.
    """
    escaped = json.dumps(value)[1:-1]
    texts = {
        escaped,
        json.dumps(value, ensure_ascii=False)[1:-1],
        escaped.replace("/", "\\/"),
        repr(value)[1:-1],
        repr('"' + value)[2:-1],  # its own ' are escaped in a text that has a " as well
    }
    plain = raw(value)
    for quoted in (
        quote(plain, safe=""),
        quote(plain),
        quote(plain, safe=_UNESCAPED_BY_JAVASCRIPT),
        quote_plus(plain),
    ):
        texts |= {quoted, _lower_case_escapes(quoted)}
    return ({raw(text) for text in texts} | _in_base64(plain)) - {plain}


def _lower_case_escapes(quoted: str) -> str:
    first, *rest = quoted.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _in_base64(plain: bytes) -> set[bytes]:
    """Return what of base64 the bytes decide, after 0, 1 and 2 others; with its end if it ends."""
    forms: set[bytes] = set()
    for before, first in enumerate(_ALIGNED_AT):
        whole_characters = (before + len(plain)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            encoded = encode(bytes(before) + plain)
            forms |= {encoded[first:], encoded[first:whole_characters]}
    return forms
