"""Show rows to a person as a table, or to a program as JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from rich.text import Text

WIDEST: Final = 1000
"""Columns of text beyond which a row of a table is cut."""

STYLES: Final = {
    "success": "green",
    "running": "cyan",
    "up_for_retry": "yellow",
    "skipped": "dim",
    "failed": "red",
    "upstream_failed": "red",
}
"""How states look on a terminal."""


class Format(StrEnum):
    """How to show rows."""

    TABLE = "table"
    JSON = "json"


Output = Annotated[
    Format, typer.Option("--output", "-o", help="A table for people, or JSON for programs.")
]


def show(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], output: Format) -> None:
    """Print rows: as JSON with all their fields, as a table with these columns."""
    found = [dict(row) for row in rows]
    if output is Format.JSON:
        print(json.dumps(found, default=_plain, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.replace("_", " "), no_wrap=True)
    for row in found:
        table.add_row(*(_cell(row[column]) for column in columns))
    # A row is a line, however long: it can be cut, searched and copied.
    Console(width=WIDEST, soft_wrap=True).print(table)
    if not found:
        print("(none)")


def iso(moment: datetime) -> str:
    """Return an instant in UTC, ISO 8601, ending in Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return iso(value)
    return str(value)


def _cell(value: object) -> "Text":
    from rich.text import Text

    match value:
        case None:
            return Text("-")
        case bool():
            return Text("yes" if value else "no")
        case datetime():
            return Text(iso(value.replace(microsecond=0)))
        case list():
            return Text(", ".join(map(str, value)))
        case dict():
            return Text(json.dumps(value, default=_plain))
    line = str(value).strip().partition("\n")[0]
    return Text(line, style=STYLES.get(line, ""))
