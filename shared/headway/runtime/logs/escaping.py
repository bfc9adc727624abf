"""Text that others have written, which must not command the terminal that it is shown on."""

_PLAIN = frozenset("\n\t")


def visible(text: str) -> str:
    """Return the text with every character that is not printed as what it is spelled out."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in _PLAIN else _spelled(letter) for letter in text
    )


def say(text: str) -> None:
    """Print what others have written, or what quotes it."""
    print(visible(text))


def _spelled(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
