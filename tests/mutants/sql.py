"""Changes of SQL in Python source: locks, guards, comparisons, limits."""

import re
from collections.abc import Iterator
from typing import Final

from tests.mutants.change import Change

_STATEMENT: Final = re.compile(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM)\b")
_COMMENT: Final = re.compile(r"--[^\n]*")
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")
_LOCK: Final = re.compile(r"\bFOR (NO KEY UPDATE|UPDATE|SHARE|KEY SHARE)( OF \w+)?( SKIP LOCKED)?")
_GUARD: Final = re.compile(r"(?m)^[ ]*AND [^\n]*$")

_SWAPS: Final = (
    (re.compile(r" SKIP LOCKED\b"), ""),
    (re.compile(r" < "), " <= "),
    (re.compile(r" <= "), " < "),
    (re.compile(r" > "), " >= "),
    (re.compile(r" >= "), " > "),
    (re.compile(r" <> "), " = "),
    (re.compile(r" = (?!ANY)"), " <> "),
    (re.compile(r"\bAND\b"), "OR"),
    (re.compile(r"\bOR\b"), "AND"),
    (re.compile(r"\bIS NULL\b"), "IS NOT NULL"),
    (re.compile(r"\bIS NOT NULL\b"), "IS NULL"),
    (re.compile(r"\bNOT EXISTS\b"), "EXISTS"),
    (re.compile(r"(?<!NOT )\bEXISTS\b"), "NOT EXISTS"),
    (re.compile(r"\bNOT (?=\w+\.?\w*\b(?! NULL))(?!EXISTS|NULL|IN\b)"), ""),
    (re.compile(r"\bLIMIT [:\w]+"), ""),
    (re.compile(r"\b DESC\b"), ""),
    (re.compile(r"\bleast\("), "greatest("),
    (re.compile(r"\bgreatest\("), "least("),
    (re.compile(r"\bmin\("), "max("),
    (re.compile(r"\bmax\("), "min("),
    (re.compile(r" \+ "), " - "),
    (re.compile(r" - "), " + "),
    (re.compile(r"\bON CONFLICT[^\n]*DO NOTHING\b"), ""),
)


def is_sql(text: str) -> bool:
    """Whether a string literal holds SQL."""
    return _STATEMENT.search(text) is not None


def changes(literal: str, offset: int) -> Iterator[Change]:
    """Yield the changes of a string literal of SQL that begins at that character of its file."""
    hidden = [
        found.span() for found in (*_COMMENT.finditer(literal), *_PLACEHOLDER.finditer(literal))
    ]
    for change in _found(literal):
        if not any(start < change.end and change.start < end for start, end in hidden):
            yield Change(change.start + offset, change.end + offset, change.new)


def _found(literal: str) -> Iterator[Change]:
    for lock in _LOCK.finditer(literal):
        yield Change(lock.start(), lock.end(), "")
    for guard in _GUARD.finditer(literal):
        if _is_whole(guard.group()):
            yield Change(guard.start(), guard.end(), "")
    for pattern, new in _SWAPS:
        for found in pattern.finditer(literal):
            if found.group() == "AND" and _joins_a_range(literal[: found.start()]):
                continue
            yield Change(found.start(), found.end(), new)


def _is_whole(line: str) -> bool:
    """Whether the line is one condition, which the statement can do without."""
    return line.count("(") == line.count(")") and "BETWEEN" not in line and '"' not in line


def _joins_a_range(before: str) -> bool:
    """Whether the AND after that text belongs to BETWEEN."""
    return before.rfind("BETWEEN") > max(before.rfind(" AND "), before.rfind("WHERE"))
