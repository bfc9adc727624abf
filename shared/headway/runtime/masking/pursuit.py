"""The search for forms in a stream: what an index finds, followed to its end."""

from collections import deque
from typing import Final

from headway.runtime.masking.index import Index
from headway.runtime.masking.leaves import Leaf, agreement

_SMALL: Final = 1024
"""Bytes that are rather compared again than a table is made of the whole form."""


class Pursuit:
    """One leaf in one stream: from where on the stream is like it, and where it may begin next."""

    def __init__(self, leaf: Leaf) -> None:
        self._leaf = leaf
        self.start = -1
        self._length = 0
        self._later: deque[int] = deque()

    @property
    def is_over(self) -> bool:
        """Whether the leaf begins nowhere in what is known of the stream."""
        return self.start < 0

    def begins(self, at: int) -> None:
        """Note a place where the anchor of the leaf is; places come in their order."""
        if self.is_over:
            self.start, self._length = at, len(self._leaf.anchor)
        else:
            self._later.append(at)

    def go_on(
        self, text: bytearray, base: int, found: list[tuple[int, int]], *, to_the_end: bool
    ) -> None:
        """Note in `found` where forms are, up to where more bytes of the stream are needed.

        `base` is the place of the first byte of the text.  `to_the_end` says that none follow.
        """
        form, end = self._leaf.form, base + len(text)
        while not self.is_over:
            self._length = agreement(form, text, self.start - base, self._length)
            reached = self.start + self._length
            if reached == end and self._length < len(form) and not to_the_end:
                return
            if longest := self._leaf.longest_within(self._length):
                found.append((self.start, self.start + longest))
            self._next(reached, found)

    def _next(self, reached: int, found: list[tuple[int, int]]) -> None:
        """Go to the next place of which it is not known how far the text is like the leaf there.

        From `start` the text is like the leaf up to `reached`, and no further.
        """
        leaf, start, self.start = self._leaf, self.start, -1
        while self._later:
            at = self._later.popleft()
            if reached - at <= _SMALL:
                self.start, self._length = at, len(leaf.anchor)
                return
            same, known = leaf.overlap(at - start), reached - at
            if same == known:
                self.start, self._length = at, known
                return
            # Where `same` is more, the leaf goes on there with the byte that the text has not.
            if longest := leaf.longest_within(min(same, known)):
                found.append((at, at + longest))


class Search:
    """All forms of one index in one stream."""

    def __init__(self, index: Index, base: int) -> None:
        self._index = index
        self._searched = base
        self._pursuits: dict[Leaf, Pursuit] = {}

    def go_on(
        self, text: bytearray, base: int, *, to_the_end: bool = False
    ) -> list[tuple[int, int]]:
        """Return where forms are, in places of the stream; `text` is the stream from `base` on."""
        found: list[tuple[int, int]] = []
        first = max(base, self._searched - self._index.reach + 1)
        for begin, stop, leaves in self._index.anchors(bytes(text[first - base :])):
            if first + stop <= self._searched:
                continue  # it was found the last time
            for leaf in leaves:
                if len(leaf.form) == stop - begin:
                    found.append((first + begin, first + stop))
                    continue
                if leaf not in self._pursuits:
                    self._pursuits[leaf] = Pursuit(leaf)
                self._pursuits[leaf].begins(first + begin)
        self._searched = base + len(text)
        for leaf, pursuit in list(self._pursuits.items()):
            pursuit.go_on(text, base, found, to_the_end=to_the_end)
            if pursuit.is_over:
                del self._pursuits[leaf]
        return found

    def unfinished(self, text: bytearray, base: int) -> int:
        """Return the first place where a form may have begun that has not ended."""
        first = max(base, self._searched - self._index.reach + 1)
        at = first + self._index.unfinished(bytes(text[first - base :]))
        return min([at, *(pursuit.start for pursuit in self._pursuits.values())])
