"""What the layer has to tell the author of a DAG file: each thing once."""

from typing import Final

_NOTES: Final[dict[str, str]] = {}


def note(about: str, sentence: str) -> None:
    """Keep a sentence, unless there is one about the same already."""
    _NOTES.setdefault(about, sentence)


def notes() -> list[str]:
    """Return the sentences in the order in which they came up."""
    return list(_NOTES.values())


def forget() -> None:
    """Begin with another DAG file."""
    _NOTES.clear()
