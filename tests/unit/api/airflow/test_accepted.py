"""Which media type an answer has."""

import pytest

from headway_api.airflow.accepted import JSON, LINES, TEXT, preferred


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("image/png", JSON),
        ("text/plain", TEXT),
        ("Text/Plain; charset=utf-8", TEXT),
        ("image/png, application/x-ndjson;q=0.5, text/plain", LINES),
    ],
)
def test_the_first_that_is_offered_is_preferred(accept: str, media_type: str) -> None:
    assert preferred(accept, (JSON, LINES, TEXT)) == media_type
