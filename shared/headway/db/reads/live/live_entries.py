"""A subject as named entries: two of them are compared entry by entry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, TextClause


@dataclass(frozen=True, slots=True)
class LiveEntries:
    """What is there of a subject: JSON texts by name, in which equal values are equal texts.

    While `unfinished`, something of it may change of which no notice tells.
    """

    values: Mapping[str, str]
    unfinished: bool


def read(
    conn: Connection,
    statement: TextClause,
    bundles: Sequence[str] | None,
    parameters: Mapping[str, object],
) -> LiveEntries | None:
    """Return what a statement tells by rows of (name, unfinished, value); None without a row."""
    within = None if bundles is None else list(bundles)
    rows = conn.execute(statement, {**parameters, "bundles": within}).all()
    if not rows:
        return None
    return LiveEntries({row[0]: row[2] for row in rows}, any(row[1] for row in rows))
