"""Durations in words."""

import pytest

from headway_api.pages.frame.durations import in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0.0, "0.0 s"),
        (-0.3, "0.0 s"),
        (9.94, "9.9 s"),
        (10.4, "10 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (3_600, "1 h"),
        (3_599.7, "1 h"),
        (7_380, "2 h 3 min"),
        (90_000, "1 d 1 h"),
        (86_400, "1 d"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float | None, words: str) -> None:
    assert in_words(seconds) == words
