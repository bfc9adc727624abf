"""Forms, indexed for a search: which of them begin where, in one pass over a text."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from ahocorasick_rs import BytesAhoCorasick, Implementation

from headway.runtime.masking.leaves import Leaf, grown


class Index:
    """An Aho-Corasick automaton of the anchors of all forms.  It never changes."""

    def __init__(self, forms: Iterable[bytes]) -> None:
        self.forms = frozenset(forms)
        by_anchor: dict[bytes, list[Leaf]] = {}
        for leaf in grown(self.forms):
            by_anchor.setdefault(leaf.anchor, []).append(leaf)
        self._anchors = sorted(by_anchor)
        self._leaves = [by_anchor[anchor] for anchor in self._anchors]
        self._first_bytes = frozenset(anchor[0] for anchor in self._anchors)
        self._inner_bytes = frozenset(b"".join(anchor[:-1] for anchor in self._anchors))
        self.reach = max(map(len, self._anchors))
        self._automaton = BytesAhoCorasick(
            self._anchors, implementation=Implementation.ContiguousNFA
        )

    def __len__(self) -> int:
        return len(self.forms)

    def anchors(self, text: bytes) -> Iterator[tuple[int, int, list[Leaf]]]:
        """Yield where anchors begin and end in a text, and of which leaves they are."""
        for number, start, stop in self._automaton.find_matches_as_indexes(text, overlapping=True):
            yield start, stop, self._leaves[number]

    def unfinished(self, text: bytes) -> int:
        """Return where the longest beginning of an anchor is that ends with the text."""
        if not text or text[-1] not in self._inner_bytes:
            return len(text)  # as the end of a line is in almost none
        for at in range(max(len(text) - self.reach + 1, 0), len(text)):
            if text[at] in self._first_bytes:
                rest = text[at:]
                number = bisect_left(self._anchors, rest)
                if number < len(self._anchors) and self._anchors[number].startswith(rest):
                    return at
        return len(text)
