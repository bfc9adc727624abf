"""Values that a provider package asks to hide, such as a token that it was given in exchange.

What Headway hands to a task is hidden by the worker, in all that the task prints.  These values
the worker does not know: they are hidden in what this process logs.
"""

import logging
from typing import Any, Final

from headway.domain.sensitive import secret_texts

MASK: Final = "***"
SHORTEST: Final = 5
"""Characters of a text below which it would hide too much besides."""

_HIDDEN: Final[set[str]] = set()


def mask_secret(secret: Any, name: str | None = None) -> None:  # noqa: ARG001 - Airflow's argument
    """Hide a text, or the texts in a list or a dictionary, in what is logged from now on."""
    hidden = {text for text in secret_texts(secret) if len(text) >= SHORTEST}
    if hidden and not _HIDDEN:
        _wrap()
    _HIDDEN.update(hidden)


def forget() -> None:
    """Hide nothing any more."""
    _HIDDEN.clear()


def _wrap() -> None:
    """Have each record of a log made without the hidden texts."""
    make = logging.getLogRecordFactory()

    def make_hidden(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        try:
            said = record.getMessage()
        except (TypeError, ValueError):  # the handler says what is wrong with it
            return record
        hidden = _without(said)
        if hidden != said:
            record.msg, record.args = hidden, ()
        return record

    logging.setLogRecordFactory(make_hidden)


def _without(said: str) -> str:
    for text in sorted(_HIDDEN, key=len, reverse=True):
        said = said.replace(text, MASK)
    return said
