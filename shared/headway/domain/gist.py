"""Errors as text: the line that says what is wrong."""

import re
from textwrap import dedent
from typing import Final

_TRACEBACK: Final = "Traceback (most recent call last):"
_JVM: Final = "JVM stacktrace:"
_PLACE: Final = re.compile(r'File ".*", line \d+')
_PLACES: Final = re.compile(r'^ +(File ".*", line \d+)', re.MULTILINE)
_SYNTAX: Final = re.compile(r"^\w*(?:Syntax|Indentation|Tab)Error: .*", re.MULTILINE)


def gist(error: str) -> str:
    """Return, in one line, what an error says.

    Of a traceback that is its last exception, and where that was raised. Behind a head that only
    announces a cause, such as `PythonException:`, stands the cause.
    """
    head, _, rest = error.partition(_JVM)[0].strip().partition("\n")
    head = head.strip()
    if not rest:
        return head
    if head == _TRACEBACK:
        return f"{_raised(rest) or head}{_where(rest)}"
    if _PLACE.match(head):
        found = _SYNTAX.search(rest)
        return f"{found[0]} ({head})" if found else head
    if _TRACEBACK in rest:
        return f"{_announcing(head)} {_raised(rest)}".strip()
    return f"{head} {gist(dedent(rest))}" if head.endswith(":") else head


def _where(text: str) -> str:
    """Return the place of the last frame of a traceback, unless the error is of a place itself."""
    places = _PLACES.findall(text)
    return f" ({places[-1]})" if places and not _SYNTAX.search(text) else ""


def _announcing(head: str) -> str:
    """Return a head without a remark that more follows, which Spark's has."""
    return head if head.endswith(":") or head == "" else f"{head.rstrip('.')}:"


def _raised(text: str) -> str:
    """Return the line of the last exception of which the traceback is in the text."""
    before, mark, last = text.rpartition(_TRACEBACK)
    margin = before[before.rfind("\n") + 1 :] if mark else ""
    lines = [line.removeprefix(margin) for line in last.strip("\n").splitlines()]
    first = next((n for n, line in enumerate(lines) if line.startswith(" ")), None)
    if first is None:
        return lines[0].strip() if lines else ""
    said = [line.strip() for line in lines[first:] if line.strip() and line[:1] != " "]
    return gist("\n".join(said[:2])) if said else lines[-1].strip()
