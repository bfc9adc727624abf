"""SQL text taken apart into statements, by Spark's rules for what a semicolon is part of.  Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# What a semicolon may be inside of, or what may hide the start of such.  Raw strings know
# no escapes; a quote that is doubled begins the next string, which comes to the same.
_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<line>--[^\n]*)
    | (?P<block>/\*)
    | (?P<raw>\b[rR](?:'[^']*'|"[^"]*"))
    | (?P<string>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*`)
    | (?P<word>\w+)
    | (?P<end>;)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_EDGE: Final = re.compile(r"/\*|\*/")
_SILENT: Final = ("space", "line", "block")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement without its semicolon, and the line of the text that it begins in."""

    text: str
    line: int


def split(text: str) -> list[Statement]:
    """Return the statements of a text, in order; those of nothing but comments are left out.

    Strings, quoted names and comments, nested ones too, keep their semicolons.  A script
    (`BEGIN … END`) is one statement, and the last of its text.
    """
    statements: list[Statement] = []
    line, seen = 1, 0
    for start, end in _ends(text):
        line, seen = line + text.count("\n", seen, start), start
        statements.append(Statement(text[start:end], line))
    return statements


def _ends(text: str) -> Iterator[tuple[int, int]]:
    start: int | None = None
    end = 0
    for kind, token in _tokens(text):
        place, end = end, end + len(token)
        if kind == "end":
            if start is not None:
                yield start, place
            start = None
        elif start is None and kind not in _SILENT:
            start = place
            if token.upper() == "BEGIN":
                yield start, start + len(text[start:].rstrip().rstrip(";"))
                return
    if start is not None:
        yield start, start + len(text[start:].rstrip())


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        assert found is not None  # any character is a token
        kind, token = str(found.lastgroup), found[0]
        if kind == "block":
            token = text[place : _end_of_comment(text, place)]
        yield kind, token
        place += len(token)


def _end_of_comment(text: str, place: int) -> int:
    depth = 0
    for edge in _EDGE.finditer(text, place):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return len(text)
