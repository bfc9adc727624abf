"""Show rows to a person as a table, or to a program as JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer


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
        table.add_column(column.replace("_", " "), overflow="fold")
    for row in found:
        table.add_row(*(_cell(row[column]) for column in columns))
    Console(soft_wrap=False).print(table)
    if not found:
        print("(none)")


def iso(moment: datetime) -> str:
    """Return an instant in UTC, ISO 8601, ending in Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return iso(value)
    return str(value)


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return iso(value.replace(microsecond=0))
        case list():
            return ", ".join(map(str, value))
        case dict():
            return json.dumps(value, default=_plain)
    return str(value)
