"""Which media type an answer has, going by the header Accept."""

from collections.abc import Sequence
from typing import Final

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
TEXT: Final = "text/plain"


def preferred(accept: str, offered: Sequence[str]) -> str:
    """Return the first media type of the header that is offered; else the first that is offered."""
    for given in accept.split(","):
        media_type = given.partition(";")[0].strip().lower()
        if media_type in offered:
            return media_type
    return offered[0]
