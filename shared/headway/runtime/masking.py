"""Secrets out of text: in a stream of bytes, however it is cut, and in single texts.

A secret is also found where it was JSON-escaped, quoted by Python or for a URL, or is a part
of what was encoded as base64.  Two to four bits of it may remain in the character before, and
after, a base64 encoding that goes on there.
"""

import json
import logging
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Final
from urllib.parse import quote, quote_plus

log = logging.getLogger(__name__)

MASK: Final = b"***"

SHORTEST_SECRET: Final = 5
"""Characters that a secret must have to be masked: a shorter one is found in any text."""

SHORTEST_LINE: Final = 8
"""Characters that one line of a secret of several lines must have to be masked by itself."""

_UNESCAPED_BY_JAVASCRIPT: Final = "!~*'()"
_ALIGNED_AT: Final = (0, 2, 3)
"""The first character of base64 that holds nothing of the 0, 1 or 2 bytes before a secret."""


class Masker:
    """Replace secrets by `***`, in a stream (`feed`, `flush`) and in texts (`mask`).

    Of a stream only what could be the beginning of a secret is held back.  `add` may be
    called from any thread, as may `adopt`, and counts from the next `feed` or `mask` on; a
    stream is one thread's.
    """

    def __init__(self) -> None:
        self._secrets = _Secrets()
        self._held = b""
        self._covered = 0  # bytes of `_held` that stand under a mask already given out

    @property
    def holds(self) -> bool:
        """Whether anything of the stream is held back."""
        return bool(self._held)

    def another(self) -> "Masker":
        """Return a masker of the same secrets, also of those that are added later, for a stream."""
        sibling = Masker()
        sibling._secrets = self._secrets
        return sibling

    def add(self, secret: str) -> None:
        """Register a secret; one of fewer than `SHORTEST_SECRET` characters is only warned of.

        That is done for the first one.
        """
        if len(secret) < SHORTEST_SECRET:
            self._secrets.warn_of_short_ones(len(secret))
            return
        lines = (line.strip() for line in secret.splitlines())
        self._secrets.add({secret, *(line for line in lines if len(line) >= SHORTEST_LINE)})

    def adopt(self, other: "Masker") -> None:
        """Register the secrets that another masker has by now."""
        self._secrets.adopt(other._secrets.forms)  # noqa: SLF001 - it is of this class

    def mask(self, text: str) -> str:
        """Return the text without secrets; the stream is left alone."""
        forms = self._secrets.forms
        if not forms:
            return text
        data = text.encode("utf-8", "surrogatepass")
        kept, _ = _masked(data, forms, 0, len(data))
        return kept.decode("utf-8", "surrogatepass")

    def feed(self, data: bytes) -> bytes:
        """Return what may be given out, now that these bytes have come."""
        forms = self._secrets.forms
        if not forms:
            return data
        data = self._held + data
        return self._give_out(data, _hold_from(data, forms))

    def flush(self) -> bytes:
        """Return what was held back, because nothing follows."""
        return self._give_out(self._held, len(self._held))

    def flush_lines(self) -> bytes:
        """Return the whole lines that were held back, because nothing has come for a while.

        A secret of several lines that goes on only then is masked line by line.
        """
        return self._give_out(self._held, self._held.rfind(b"\n") + 1)

    def _give_out(self, data: bytes, end: int) -> bytes:
        kept, covered = _masked(data, self._secrets.forms, self._covered, end)
        self._held, self._covered = data[end:], covered
        return kept


class _Secrets:
    """Every form of every secret; the set is replaced as a whole, so that any thread may look."""

    def __init__(self) -> None:
        self.forms: frozenset[bytes] = frozenset()
        self._adding = Lock()
        self._warned = False

    def add(self, secrets: Iterable[str]) -> None:
        self.adopt(frozenset().union(*map(_forms, secrets)))

    def adopt(self, forms: frozenset[bytes]) -> None:
        with self._adding:
            self.forms |= forms

    def warn_of_short_ones(self, characters: int) -> None:
        with self._adding:
            warned, self._warned = self._warned, True
        if not warned:
            log.warning(
                "action=not_masked reason=A secret of %d characters is too short to be masked; "
                "choose one of %d or more.",
                characters,
                SHORTEST_SECRET,
            )


def _masked(data: bytes, forms: frozenset[bytes], covered: int, end: int) -> tuple[bytes, int]:
    """Return data[:end] with its secrets masked, and how many bytes from `end` on a mask covers.

    The first `covered` bytes stand under a mask that was given out before.
    """
    kept: list[bytes] = []
    at = covered
    for start, stop in _spans(data, forms, covered):
        if start >= end:
            break
        if start >= covered:
            kept += (data[at:start], MASK)
        at = stop
    kept.append(data[at:end])
    return b"".join(kept), max(at - end, 0)


def _spans(data: bytes, forms: frozenset[bytes], covered: int) -> Iterator[tuple[int, int]]:
    """Yield where secrets are, in order; those that overlap are one, as is what is `covered`."""
    found = sorted(place for form in forms for place in _places(data, form))
    start, stop = 0, covered
    for begin, end in found:
        if begin >= stop:
            if stop:
                yield start, stop
            start = begin
        stop = max(stop, end)
    if stop:
        yield start, stop


def _places(data: bytes, form: bytes) -> Iterator[tuple[int, int]]:
    at = data.find(form)
    while at >= 0:
        start, stop = at, at + len(form)
        at = data.find(form, at + 1)
        while start < at < stop:
            stop = at + len(form)
            at = data.find(form, at + 1)
        yield start, stop


def _hold_from(data: bytes, forms: frozenset[bytes]) -> int:
    """Return where the longest beginning of a secret is that ends with the data."""
    earliest = len(data)
    last = data[-1:]
    for form in forms:
        if last not in form:
            continue  # as the end of a line is in almost none
        at = data.find(form[0], max(len(data) - len(form) + 1, 0), earliest)
        while at >= 0:
            if form.startswith(data[at:]):
                earliest = at
                break
            at = data.find(form[0], at + 1, earliest)
    return earliest


def _forms(secret: str) -> set[bytes]:
    texts = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(secret)[1:-1].replace("/", "\\/"),
        repr(secret)[1:-1],
        repr('"' + secret)[2:-1],  # its own ' are escaped in a text that has a " as well
    }
    raw = secret.encode("utf-8", "surrogatepass")
    for escaped in (
        quote(raw, safe=""),
        quote(raw),
        quote(raw, safe=_UNESCAPED_BY_JAVASCRIPT),
        quote_plus(raw),
    ):
        texts |= {escaped, _lower_case_escapes(escaped)}
    return {text.encode("utf-8", "surrogatepass") for text in texts} | _in_base64(raw)


def _lower_case_escapes(quoted: str) -> str:
    first, *rest = quoted.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _in_base64(raw: bytes) -> set[bytes]:
    """Return what of base64 the bytes decide, after 0, 1 and 2 others; with its end if it ends."""
    forms: set[bytes] = set()
    for before, first in enumerate(_ALIGNED_AT):
        whole_characters = (before + len(raw)) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            encoded = encode(bytes(before) + raw)
            forms |= {encoded[first:], encoded[first:whole_characters]}
    return forms
