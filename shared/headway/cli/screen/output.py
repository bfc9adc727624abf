"""Show rows to a person as a table, or to a program as JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from headway.domain.gist import gist
from headway.runtime.logs.escaping import say, visible

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WIDEST: Final = 1000
"""Characters of a cell beyond which it is cut."""

COLOURS: Final = {
    "success": "green",
    "running": "cyan",
    "up_for_retry": "yellow",
    "skipped": "bright_black",
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


def show(
    rows: "Iterable[Mapping[str, Any] | DataclassInstance]",
    columns: Sequence[str],
    output: Format,
) -> None:
    """Print rows, or records: as JSON with all their fields, as a table with these columns."""
    found = [dict(row) if isinstance(row, Mapping) else as_row(row) for row in rows]
    if output is Format.JSON:
        print(json.dumps(found, default=_plain, indent=2))
        return
    header = [column.replace("_", " ") for column in columns]
    cells = [[_cell(row[column]) for column in columns] for row in found]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    # A row is a line, however long: it can be cut, searched and copied.
    lines = [typer.style(_line(header, widths), bold=True), *(_line(row, widths) for row in cells)]
    typer.echo("\n".join(lines if found else [*lines, "(none)"]))


def as_row(record: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of a record by their names, in order; of a record in it likewise."""
    from dataclasses import asdict

    return asdict(record)


def tell(sentence: str, row: Mapping[str, Any], output: Format) -> None:
    """Print what a command has done: to a person as a sentence, to a program as a row in JSON."""
    if output is Format.JSON:
        show([row], (), output)
    else:
        say(sentence)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
    shown = [
        typer.style(text, fg=COLOURS[cell]) if cell in COLOURS else text
        for cell, text in zip(row, padded, strict=True)
    ]
    return "  ".join(shown).rstrip()


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
    return visible(gist(str(value)))[:WIDEST]
