"""Expect an error together with its hint."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headway.domain.errors import HeadwayError
from headway.domain.hints import HintPart


@contextmanager
def refused(kind: type[HeadwayError], message: str, *parts: HintPart) -> Iterator[None]:
    """Expect that error: its message matches, and its hint has these parts."""
    with pytest.raises(kind, match=message) as caught:
        yield
    found = () if caught.value.hint is None else caught.value.hint.parts
    assert set(map(repr, parts)) <= set(map(repr, found)), found
