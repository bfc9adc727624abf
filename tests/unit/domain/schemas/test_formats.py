"""Which text is of which format."""

import pytest

from headway.domain.schemas.formats import FORMATS

FIT = {
    "date": ["2024-02-29"],
    "date-time": ["2024-05-01T06:00:00+00:00", "2024-05-01t06:00z", "2024-05-01 06:00:00.5-05:00"],
    "time": ["06:30", "06:30:01", "06:30:01.25", "06:30:01Z"],
    "duration": ["PT15M", "P1D", "P1Y2M3DT4H5M6.5S", "P2W"],
    "email": ["ann@example.org"],
    "ipv4": ["127.0.0.1"],
    "ipv6": ["::1"],
    "uri": ["https://example.org/a", "s3://bucket/key", "mailto:ann@example.org"],
    "uuid": ["123E4567-e89b-12d3-a456-426614174000"],
    "multiline": ["a\nb", ""],
}  # fmt: skip
FAIL = {
    "date": ["2023-02-29", "20240229", "2024-05-01T00:00", ""],
    "date-time": ["2024-05-01T06:00:00", "2024-05-01", "2024-05-01T25:00:00Z", "soon"],
    "time": ["6:30", "25:00:00", "0630", ""],
    "duration": ["P", "PT", "15M", "P1DT", ""],
    "email": ["ann", "ann@", "a b@c"],
    "ipv4": ["127.0.0.256", "::1"],
    "ipv6": ["127.0.0.1", "g::"],
    "uri": ["example.org", "https://", "http://a b", "http://[", ""],
    "uuid": ["123e4567", ""],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in FIT for text in FIT[name]])
def test_what_fits(name: str, text: str) -> None:
    assert FORMATS[name][1](text)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in FAIL for text in FAIL[name]])
def test_what_does_not(name: str, text: str) -> None:
    assert not FORMATS[name][1](text)


def test_every_format_is_tried() -> None:
    assert FIT.keys() == FORMATS.keys()
    assert FAIL.keys() == FORMATS.keys() - {"multiline"}
