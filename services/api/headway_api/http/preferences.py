"""The header Prefer (RFC 7240): what a client would like, of which one preference is known."""

import re
from typing import Final

_WAIT: Final = re.compile(r"\s*wait\s*=\s*\"?(\d{1,6})\"?\s*", re.IGNORECASE)


def preferred_wait(header: str | None) -> float:
    """Return for how many seconds the client would wait for an end; 0 unless it says so."""
    for preference in (header or "").split(","):
        found = _WAIT.fullmatch(preference.partition(";")[0])
        if found is not None:
            return float(found[1])
    return 0.0
