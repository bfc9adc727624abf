"""Which modules a source imports at the start of a line, told from its text in microseconds."""

import re
from collections.abc import Iterator
from typing import Final

_FROM: Final = re.compile(
    rb"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]{0,1000}\)|[^\n#;]*)", re.MULTILINE
)
_IMPORT: Final = re.compile(rb"^[ \t]*import[ \t]+([^\n#;]+)", re.MULTILINE)
_COMMENT: Final = re.compile(rb"#[^\n]*")


def imported_names(source: bytes) -> set[str]:
    """Return the dotted names that may be modules which the source imports.

    Of `from a import b` that is `a` as well as `a.b`.  Names in texts and comments may be among
    them: whoever asks looks which of them are modules.
    """
    return {name.decode() for name in _names(source) if name.isascii()}


def _names(source: bytes) -> Iterator[bytes]:
    for module, rest in _FROM.findall(source):
        if not module.startswith(b"."):
            yield module
            yield from (module + b"." + name for name in _words(rest.strip(b"()")))
    for rest in _IMPORT.findall(source):
        yield from _words(rest)


def _words(rest: bytes) -> Iterator[bytes]:
    for part in _COMMENT.sub(b"", rest).split(b","):
        words = part.split()
        if words and words[0] != b"*":
            yield words[0]
