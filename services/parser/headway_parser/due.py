"""Which files are to be parsed, and why: decided on what is listed and what is stored."""

from collections.abc import Collection
from enum import StrEnum

from headway.db.parsing.files import FileRow


class ParseReason(StrEnum):
    """Why a file is parsed."""

    NEW = "new"
    ASKED = "asked"
    CHANGED = "changed"
    ABANDONED = "abandoned"
    DUE = "due"
    INCOMPLETE = "incomplete"


def why(
    row: FileRow | None, mine: str, me: int, others: Collection[int], *, changed: bool
) -> ParseReason | None:
    """Return why this parser is to parse the file; None when it is to leave it alone.

    `mine` is the signature of the content that this parser sees; `changed` is whether that is
    another one than it had parsed, or found stored, before.  `others` are the other parsers
    that are alive.

    A parser acts on what changes before its own eyes.  What another has parsed otherwise
    is left alone, as long as that one lives: two parsers that see different files, one of
    them being late, would else go on correcting each other.
    """
    if row is None:
        return ParseReason.NEW
    if row.claimed and row.parser_id in others:
        return None
    if row.claimed:
        return ParseReason.ABANDONED
    if row.asked:
        return ParseReason.ASKED
    if row.signature != mine:
        orphaned = row.parser_id not in others and row.parser_id != me
        return ParseReason.CHANGED if changed or orphaned else None
    return ParseReason.DUE if row.due else None


def may_forget(row: FileRow, others: Collection[int]) -> bool:
    """Tell whether a file that this parser does not find any more is its own to forget.

    Who parsed a file last sees it last: as long as that parser lives it is the judge.
    """
    return row.parser_id not in others
