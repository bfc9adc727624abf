"""States as pages show them: a mark, a word and a colour, never the colour alone."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from markupsafe import Markup

MARKS: Final[Mapping[str, str]] = {
    "success": "✓",
    "failed": "✗",
    "upstream_failed": "⊘",
    "running": "▸",
    "queued": "…",
    "scheduled": "◷",
    "up_for_retry": "↻",
    "restarting": "↺",
    "deferred": "⏸",
    "skipped": "↷",
    "removed": "○",
    "cancelled": "■",
    "create": "+",
    "rerun": "↻",
    "skip": "↷",
    "conflict": "✗",
    "open": "◷",
    "met": "✓",
    "missed": "✗",
    "withdrawn": "○",
    "none": "·",
}

_UNKNOWN: Final = "·"


def mark(name: str) -> str:
    """Return the mark of a state."""
    return MARKS.get(name, _UNKNOWN)


@lru_cache(64)
def state(name: str | None) -> Markup:
    """Return an element that shows a state; None is the state of what is not decided yet."""
    word = name or "none"
    return Markup('<span class="state s-{}"><span aria-hidden="true">{}</span> {}</span>').format(
        word, mark(word), word.replace("_", " ")
    )
