"""A cursor leads on in its own list, and is refused by every other one."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from headway.db.reads.pages.cursors import Key, PagedList
from headway.domain.errors import RequestError

AT = datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=UTC)
LISTING = PagedList("runs", ((datetime, type(None)), int), "ended", False, {"dag_id": "etl"})


@pytest.mark.parametrize("key", [(AT, 7), (None, 7), (AT.replace(year=1904), 2**63 - 1)])
def test_a_cursor_gives_back_its_key(key: Key) -> None:
    assert LISTING.key(LISTING.cursor(key)) == key


@pytest.mark.parametrize("none", [None, ""])
def test_without_a_cursor_a_list_begins(none: str | None) -> None:
    assert LISTING.key(none) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(LISTING, name="tasks"),
        replace(LISTING, order="started"),
        replace(LISTING, descending=True),
        replace(LISTING, filters={"dag_id": "ml"}),
        replace(LISTING, filters={"dag_id": "etl", "states": ["failed"]}),
    ],
)
def test_a_cursor_of_another_list_is_refused(other: PagedList) -> None:
    with pytest.raises(RequestError, match="another list") as refused:
        LISTING.key(other.cursor((AT, 7)))

    assert refused.value.hint is not None


@pytest.mark.parametrize("text", ["x", "%%%", "AAAA", "é", "A" * 9_000, "wA", "gA"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="cursor"):
        LISTING.key(text)


@pytest.mark.parametrize(
    "key", [(AT,), (AT, 7, 7), (AT, "7"), (AT, True), (AT, None), (AT, 2**63), ("x", 7)]
)
def test_a_key_that_the_list_cannot_have_is_refused(key: Key) -> None:
    with pytest.raises(RequestError, match="none that a list has given"):
        LISTING.key(LISTING.cursor(key))


def test_a_text_that_the_database_does_not_take_is_refused() -> None:
    tags = PagedList("tags", (str,))

    with pytest.raises(RequestError, match="none that a list has given"):
        tags.key(tags.cursor(("a\0b",)))
