"""What a play prints of what it has found."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

_MOST_TOLD: Final = 50


def tell_violations(violations: Sequence[str]) -> None:
    """Print a line for each violation, up to a bound."""
    for each in violations[:_MOST_TOLD]:
        print(f"VIOLATION {each}")
    if (more := len(violations) - _MOST_TOLD) > 0:
        print(f"VIOLATION ... and {more} more")


def counted(what: Counter[str]) -> str:
    """Return names with their numbers, for a line."""
    return ", ".join(f"{name} {number}" for name, number in sorted(what.items())) or "none"
