"""Secrets replaced by `***`, in a stream and in texts."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import itemgetter
from typing import Final, TypeAlias

from headway.runtime.masking.index import Index
from headway.runtime.masking.pursuit import Search
from headway.runtime.masking.secrets import Secrets

MASK: Final = b"***"

Span: TypeAlias = tuple[int, int]
"""Where a secret begins and ends, in places of the stream."""

_START, _STOP = itemgetter(0), itemgetter(1)

_BLOCK: Final = 64 * 2**10
"""Bytes that are searched at a time: what is found in them is in memory at once."""


class Masker:
    """Replace secrets by `***`, in a stream (`feed`, `flush`) and in texts (`mask`).

    Of a stream only what could be the beginning of a secret is held back.  Any thread may call
    `prepare` and `adopt`; they count from the next `feed` or `mask` on.  A stream is one thread's.
    """

    def __init__(self) -> None:
        self._secrets = Secrets()
        self._held = bytearray()
        self._base = 0  # the place in the stream of the first byte of `_held`
        self._covered = 0  # bytes of `_held` that stand under a mask already given out
        self._spans: list[Span] = []  # where secrets are that were not given out yet, in order
        self._indexes: tuple[Index, ...] = ()
        self._searches: list[Search] = []

    @property
    def holds(self) -> bool:
        """Whether anything of the stream is held back."""
        return bool(self._held)

    def another(self) -> "Masker":
        """Return a masker of the same secrets, also of those that are added later, for a stream."""
        sibling = Masker()
        sibling._secrets = self._secrets
        return sibling

    def prepare(self, *secrets: str) -> None:
        """Register secrets and index them, in this thread.

        The first one of fewer than `SHORTEST_SECRET` characters is warned of; none is masked.
        """
        self._secrets.prepare(secrets)

    def adopt(self, other: "Masker") -> None:
        """Register the secrets that another masker has by now, and index them in this thread."""
        self._secrets.prepare(other._secrets.values)  # noqa: SLF001 - it is of this class

    def mask(self, text: str) -> str:
        """Return the text without secrets; the stream is left alone."""
        if not self._secrets.indexes:
            return text
        stream = self.another()
        kept = stream.feed(text.encode("utf-8", "surrogatepass")) + stream.flush()
        return kept.decode("utf-8", "surrogatepass")

    def feed(self, data: bytes) -> bytes:
        """Return what may be given out, now that these bytes have come."""
        if self._secrets.indexes is not self._indexes:
            self._search_anew()
        if not self._indexes:
            return data
        blocks = (data[at : at + _BLOCK] for at in range(0, len(data), _BLOCK))
        return b"".join(map(self._take, blocks))

    def flush(self) -> bytes:
        """Return what was held back, because nothing follows."""
        return self._give_up(len(self._held))

    def flush_lines(self) -> bytes:
        """Return the whole lines that were held back, because nothing has come for a while.

        A secret of several lines that goes on only then is masked line by line.
        """
        return self._give_up(self._held.rfind(b"\n") + 1)

    def _take(self, block: bytes) -> bytes:
        self._held += block
        for search in self._searches:
            self._hide(search.go_on(self._held, self._base))
        held = [search.unfinished(self._held, self._base) for search in self._searches]
        return self._give_out(min(held) - self._base)

    def _give_up(self, end: int) -> bytes:
        """Return the first bytes of what is held, though forms may begin there that go on."""
        if end == 0:
            return b""
        self._search_anew()
        for search in self._searches:
            self._hide(search.go_on(self._held, self._base, to_the_end=True))
        kept = self._give_out(end)
        self._search_anew()
        return kept

    def _search_anew(self) -> None:
        """Forget what was found: what is held is searched again."""
        self._indexes = self._secrets.indexes
        self._searches = [Search(index, self._base) for index in self._indexes]
        self._spans = []

    def _hide(self, found: Iterable[Span]) -> None:
        """Add to `_spans`; those that overlap become one.

        What is there already is not looked at again: a read must not cost more, the more waits.
        """
        for start, stop in found:
            low = bisect_right(self._spans, start, key=_STOP)
            high = bisect_left(self._spans, stop, lo=low, key=_START)
            overlapping = [(start, stop), *self._spans[low:high]]
            self._spans[low:high] = [(min(map(_START, overlapping)), max(map(_STOP, overlapping)))]

    def _give_out(self, end: int) -> bytes:
        """Return the first bytes of what is held, with secrets masked."""
        kept: list[bytes] = []
        at, count = self._covered, bisect_left(self._spans, self._base + end, key=_START)
        for start, stop in self._spans[:count]:
            if start - self._base >= at:  # otherwise it stands under the mask before it
                kept += (bytes(self._held[at : start - self._base]), MASK)
            at = max(at, stop - self._base)
        kept.append(bytes(self._held[at:end]))
        self._covered = max(at - end, 0)
        del self._spans[:count], self._held[:end]
        self._base += end
        return b"".join(kept)
