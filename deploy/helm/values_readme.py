"""Write README.md of the chart: README.head.md, and a table of every value in values.yaml.

The description of a value is the comment above it that begins with `# --`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

CHART: Final = Path(__file__).parent / "headway"
HEAD: Final = CHART.parent / "README.head.md"
PATH: Final = CHART / "README.md"

_BEGINNING: Final = "# -- "


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the chart: its path, apart by dots, its default in JSON, and what it is for."""

    path: str
    default: str
    description: str


def values(text: str) -> Iterator[Value]:
    """Yield what the table tells of: what has a description, or is no block of further values."""
    lines = text.splitlines()
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    yield from _below(root, "", lines)


def table() -> str:
    """Return the table of all values."""
    rows = [
        f"| `{value.path}` | `{value.default}` | {_cell(value.description)} |"
        for value in values((CHART / "values.yaml").read_text())
    ]
    return "\n".join(["| value | default | meaning |", "|---|---|---|", *rows])


def text() -> str:
    """Return the file's text."""
    return f"{HEAD.read_text()}\n{table()}\n"


def _below(node: yaml.MappingNode, above: str, lines: list[str]) -> Iterator[Value]:
    for key, value in node.value:
        path = f"{above}{key.value}"
        description = _comment_above(lines, key.start_mark.line)
        if isinstance(value, yaml.MappingNode) and value.value and not description:
            yield from _below(value, f"{path}.", lines)
        else:
            default = yaml.SafeLoader("").construct_document(value)
            yield Value(path, json.dumps(default), description)


def _comment_above(lines: list[str], line: int) -> str:
    """Return the comment that ends above a line, without its marks; empty without one."""
    found: list[str] = []
    while line > 0 and (comment := lines[line - 1].strip()).startswith("#"):
        line -= 1
        found.insert(0, comment)
        if comment.startswith(_BEGINNING):
            words = " ".join(each.removeprefix(_BEGINNING).lstrip("# ") for each in found)
            return re.sub(r"\s+", " ", words)
    return ""


def _cell(text: str) -> str:
    return text.replace("|", "&#124;")


if __name__ == "__main__":
    PATH.write_text(text())
