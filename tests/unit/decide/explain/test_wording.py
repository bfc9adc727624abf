from datetime import UTC, datetime, timedelta

import pytest

from headway.decide.explain.wording import counted, lasting, listed, ordinal, timed

NOW = datetime(2024, 1, 1, 12, 0, 0, 400_000, tzinfo=UTC)


def test_a_number_with_its_noun() -> None:
    assert [counted(number, "slot") for number in (0, 1, 2, 1200)] == [
        "0 slots",
        "1 slot",
        "2 slots",
        "1,200 slots",
    ]


def test_ordinals() -> None:
    numbers = (1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111, 1003)

    assert " ".join(map(ordinal, numbers)) == (
        "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 101st 111th 1,003rd"
    )


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b, c and d"),
        (["a", "b", "c", "d", "e", "f"], "a, b, c, d and 2 more"),
    ],
)
def test_a_list(names: list[str], said: str) -> None:
    assert listed(names) == said


def test_a_list_of_which_not_all_is_given() -> None:
    assert listed(["a", "b"], total=5) == "a, b and 3 more"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-1, "0 s"),
        (0.4, "0 s"),
        (59, "59 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (7200, "2 h"),
        (86400, "24 h"),
        (172800, "2 d"),
    ],
)
def test_a_duration(seconds: float, said: str) -> None:
    assert lasting(seconds) == said


def test_a_time_and_how_far_it_is() -> None:
    assert timed(NOW + timedelta(hours=3), NOW) == "2024-01-01T15:00:00Z (in 3 h)"
    assert timed(NOW + timedelta(seconds=0.5), NOW) == "2024-01-01T12:00:00Z (in 0 s)"
    assert timed(NOW - timedelta(seconds=90), NOW) == "2024-01-01T11:58:30Z (90 s ago)"
