"""What people type into forms."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from headway.domain.errors import RequestError
from headway_api.pages.frame.fields import date, json_object, names, number


def test_what_is_empty_is_not_given() -> None:
    assert json_object("", "conf") == {}
    assert date(" ") is None
    assert number(" ", "Days") is None
    assert names(" , ") == []


def test_what_is_typed_is_read() -> None:
    assert json_object('{"a": [1]}', "conf") == {"a": [1]}
    assert date("2024-05-01") == datetime(2024, 5, 1, tzinfo=UTC)
    assert date("2024-05-01T06:00+02:00") == datetime(2024, 5, 1, 4, tzinfo=UTC)
    assert date("2024-05-01", "America/New_York") == datetime(2024, 5, 1, 4, tzinfo=UTC)
    assert number(" 12 ", "Days") == 12
    assert names("a, b  c") == ["a", "b", "c"]


@pytest.mark.parametrize(
    "read",
    [
        lambda: json_object("[1]", "conf"),
        lambda: json_object("{", "conf"),
        lambda: date("soon"),
        lambda: number("-1", "Days"),
        lambda: number("²", "Days"),
        lambda: number("9" * 30, "Days"),
    ],
)
def test_what_is_not_understood_is_said(read: Callable[[], object]) -> None:
    with pytest.raises(RequestError):
        read()
