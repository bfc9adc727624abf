"""What a test knows to be there, though a record may be without it."""

from typing import TypeVar

T = TypeVar("T")


def known(value: T | None) -> T:
    """Return the value; AssertionError when it is None."""
    assert value is not None
    return value
