"""A set of forms as leaves: forms of which none begins another one, and those that begin them."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Final

ANCHOR: Final = 16
"""Bytes at the beginning of a form by which the automaton finds it."""

FEW: Final = 128
"""Leaves that may have one anchor in common; where there are more, anchors are longer."""

LONGEST_ANCHOR: Final = 4096


@dataclass(slots=True, eq=False)
class Leaf:
    """A form that begins no other one, with the lengths of the forms (`ends`) that begin it."""

    form: bytes
    ends: tuple[int, ...]
    anchor: bytes
    _overlaps: Sequence[int] = field(default=())

    def longest_within(self, length: int) -> int:
        """Return the length of the longest form in the first `length` bytes; 0 for none."""
        at = bisect_right(self.ends, length)
        return self.ends[at - 1] if at else 0

    def overlap(self, at: int) -> int:
        """Return for how many bytes the form, from its byte `at` on, is like its beginning."""
        if not self._overlaps:
            self._overlaps = _overlaps(self.form)
        return self._overlaps[at]


def grown(forms: Iterable[bytes]) -> list[Leaf]:
    """Return leaves by whose anchors, and then by comparing on, every form is found.

    At any place of a text each round of this adds one anchor that can match there at most, as
    none of its anchors begins another one.
    """
    leaves: list[Leaf] = []
    left = sorted(set(forms))
    while left:
        uncovered: set[bytes] = set()
        for leaf in _anchored(list(_leaves(left))):
            # A form that ends within the anchor is not found by it.
            uncovered.update(leaf.form[:end] for end in leaf.ends if end < len(leaf.anchor))
            leaf.ends = tuple(end for end in leaf.ends if end >= len(leaf.anchor))
            leaves.append(leaf)
        left = sorted(uncovered)
    return leaves


def _leaves(ordered: Sequence[bytes]) -> Iterator[Leaf]:
    beginnings: list[int] = []  # lengths of the forms that begin the one before, and of itself
    for number, form in enumerate(ordered):
        previous = ordered[number - 1]
        while beginnings and not form.startswith(previous[: beginnings[-1]]):
            beginnings.pop()
        beginnings.append(len(form))
        if number + 1 == len(ordered) or not ordered[number + 1].startswith(form):
            yield Leaf(form, tuple(beginnings), form[:ANCHOR])


def _anchored(leaves: list[Leaf]) -> list[Leaf]:
    for _, group in groupby(leaves, key=lambda leaf: leaf.anchor):
        similar = list(group)
        if len(similar) > FEW:
            _tell_apart(similar)
    return leaves


def _tell_apart(leaves: Sequence[Leaf]) -> None:
    """Make each anchor long enough to be of one leaf alone, as far as it may be so long."""
    shared = [0, *(agreement(a.form, b.form) for a, b in pairwise(leaves)), 0]
    for number, leaf in enumerate(leaves):
        length = max(shared[number], shared[number + 1], ANCHOR - 1) + 1
        leaf.anchor = leaf.form[: min(length, LONGEST_ANCHOR)]


def agreement(form: bytes, text: bytes | bytearray, at: int = 0, known: int = 0) -> int:
    """Return for how many bytes the text is from `at` on like the form; of `known` it is."""
    same, most, step = known, min(len(form), len(text) - at), 1
    while same < most:
        step = min(step, most - same)
        if form[same : same + step] == text[at + same : at + same + step]:
            same += step
            step *= 4
        elif step == 1:
            break
        else:
            most, step = same + step, max(step // 4, 1)
    return same


def _overlaps(form: bytes) -> Sequence[int]:
    """Return the Z function of a form."""
    overlaps = array("I", bytes(4 * len(form)))
    overlaps[0] = len(form)
    left = right = 0
    for at in range(1, len(form)):
        same = min(overlaps[at - left], right - at) if at < right else 0
        while at + same < len(form) and form[same] == form[at + same]:
            same += 1
        if at + same > right:
            left, right = at, at + same
        overlaps[at] = same
    return overlaps
