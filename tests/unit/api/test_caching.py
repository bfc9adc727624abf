"""ETags: which ones a client has already."""

import pytest
from starlette.requests import Request

from headway_api.http.caching import REVALIDATED, is_known, of_body, tagged


def request(known: str | None = None) -> Request:
    headers = [] if known is None else [(b"if-none-match", known.encode())]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": headers})


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ('"a"', True),
        ('W/"a"', True),
        ('"b", W/"a"', True),
        ("*", True),
        ('"b"', False),
        ("a", False),
        ("", False),
        (None, False),
    ],
)
def test_tags_are_compared_whether_weak_or_not(known: str | None, expected: bool) -> None:
    assert is_known(request(known), '"a"') is expected
    assert is_known(request(known), 'W/"a"') is expected


def test_a_tag_is_of_the_body_alone() -> None:
    assert of_body(b"x", strong=True) == of_body(b"x", strong=True) != of_body(b"y", strong=True)
    assert of_body(b"x", strong=False) == f"W/{of_body(b'x', strong=True)}"


def test_a_body_is_sent_once() -> None:
    first = tagged(request(), b"{}", strong=True)
    again = tagged(request(first.headers["etag"]), b"{}", strong=True)
    other = tagged(request(first.headers["etag"]), b"[]", strong=True)

    assert (first.status_code, first.body) == (200, b"{}")
    assert first.headers["cache-control"] == REVALIDATED
    assert (again.status_code, again.body) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert other.status_code == 200
