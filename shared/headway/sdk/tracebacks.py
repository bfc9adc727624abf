"""Errors of user code as text, without Headway's own frames."""

from pathlib import Path
from traceback import TracebackException
from typing import Final

import headway
from headway.sdk.modules import shown_names

LONGEST_MESSAGE: Final = 2_000
LONGEST_TRACEBACK: Final = 20_000
OWN_CODE: Final = str(Path(headway.__file__).parent)


def message_of(error: BaseException) -> str:
    """Return what an error says, in a line or a few: its type is named unless it is our own."""
    text = "".join(TracebackException.from_exception(error).format_exception_only()).strip()
    if type(error).__module__.startswith("headway."):
        text = text.partition(": ")[2] or type(error).__name__
    return _shortened(text, LONGEST_MESSAGE)


def traceback_of(error: BaseException) -> str | None:
    """Return the traceback through the user's code; None when the error has no such frame."""
    whole = TracebackException.from_exception(error, compact=True)
    return _shortened("".join(whole.format()), LONGEST_TRACEBACK) if _trim(whole) else None


def _trim(error: TracebackException) -> bool:
    """Remove our own frames, also those of the causes; return whether any frame is left."""
    error.stack[:] = [frame for frame in error.stack if not frame.filename.startswith(OWN_CODE)]
    found = bool(error.stack)
    for cause in (error.__cause__, error.__context__):
        if cause is not None:
            found |= _trim(cause)
    return found


def _shortened(text: str, limit: int) -> str:
    text = shown_names(text)
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - limit:,} characters left out …\n{text[-half:]}"
