"""Whether a query has given what it must."""

from decimal import Decimal, InvalidOperation
from typing import Any, Final

from headway.sdk.exceptions import AirflowFailException

Rows = list[dict[str, Any]]
CENT: Final = Decimal("0.01")


class WrongResultError(AirflowFailException):
    """A query has given something else: a retry would give the same."""


def demand_equal(query: str, found: Rows, wanted: Rows) -> None:
    """Raise WrongResultError, with every difference, unless the rows are equal to the cent."""
    differences = [
        f"row {number}: {name} should be {row[name]} and is {other.get(name)}"
        for number, (row, other) in enumerate(zip(wanted, found, strict=False), start=1)
        for name in row
        if not _equal(row[name], other.get(name))
    ]
    if len(found) != len(wanted):
        differences.append(f"there should be {len(wanted)} rows and are {len(found)}")
    if differences:
        raise WrongResultError(f"{query}: {'; '.join(differences)}.")


def _equal(wanted: object, found: object) -> bool:
    try:
        return abs(Decimal(str(wanted)) - Decimal(str(found))) <= CENT
    except InvalidOperation:
        return wanted == found
