"""The kinds of what is kept under a name and granted to DAGs."""

from enum import StrEnum
from typing import Final

LARGEST_SECRET: Final = 256 * 2**10
"""Bytes that a connection or a variable may have."""


class SecretKind(StrEnum):
    """A connection or a variable."""

    CONNECTION = "connection"
    VARIABLE = "variable"
