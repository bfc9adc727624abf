"""Numbers of bytes are told with units."""

import pytest

from headway.domain.sizes import in_bytes


@pytest.mark.parametrize(
    ("number", "expected"),
    [(None, "unknown"), (0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**50, "1024.0 TiB")],
)
def test_sizes(number: int | None, expected: str) -> None:
    assert in_bytes(number) == expected
