"""Errors of user code as text, without Headway's own frames."""

import importlib
import re
from hashlib import blake2b
from pathlib import Path, PurePath
from traceback import TracebackException
from typing import Final

import headway
from headway.domain.gist import gist

PREFIX: Final = "headway_dag_file"


_MANGLED: Final = re.compile(rf"{PREFIX}_[0-9a-f]{{12}}_")


def module_name(relative_path: PurePath) -> str:
    """Return the name for the DAG file with this path below its bundle; it is always the same."""
    digest = blake2b(relative_path.as_posix().encode(), digest_size=6).hexdigest()
    return f"{PREFIX}_{digest}_{relative_path.stem}"


def shown_names(text: str) -> str:
    """Return a text with the names of modules as their author knows them."""
    return _MANGLED.sub("", text)


LONGEST_MESSAGE: Final = 2_000


LONGEST_TRACEBACK: Final = 20_000


OWN_CODE: Final = str(Path(headway.__file__).parent)


IMPORT_MACHINERY: Final = ("<frozen importlib", importlib.__file__)


def message_of(error: BaseException) -> str:
    """Return what an error says, in a line or a few: its type is named unless it is our own.

    The line that says what is wrong comes first.
    """
    text = "".join(TracebackException.from_exception(error).format_exception_only()).strip()
    if type(error).__module__.startswith("headway."):
        text = text.partition(": ")[2] or type(error).__name__
    said = gist(text)
    return _shortened(text if text.startswith(said) else f"{said}\n{text}", LONGEST_MESSAGE)


def traceback_of(error: BaseException, *callers: str) -> str | None:
    """Return the traceback through the user's code; None when the error has no such frame.

    `callers` are files outside of this package whose frames are none of the user's either.
    """
    whole = TracebackException.from_exception(error, compact=True)
    found = _trim(whole, (OWN_CODE, *IMPORT_MACHINERY, *callers))
    return _shortened("".join(whole.format()), LONGEST_TRACEBACK) if found else None


def _trim(error: TracebackException, hidden: tuple[str, ...]) -> bool:
    """Remove hidden frames, also those of the causes; return whether any frame is left."""
    error.stack[:] = [frame for frame in error.stack if not frame.filename.startswith(hidden)]
    found = bool(error.stack)
    for cause in (error.__cause__, error.__context__):
        if cause is not None:
            found |= _trim(cause, hidden)
    return found


def _shortened(text: str, limit: int) -> str:
    text = shown_names(text)
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - limit:,} characters left out …\n{text[-half:]}"
