"""A parse that is to be stored, and the one that it is the check of."""

from headway.db.parsing.files import FileKey
from headway_parser.parse.answer import ParsedFile
from headway_parser.publish.stored_parse import StoredParse


def reading(secret: str) -> ParsedFile:
    return ParsedFile(mask=lambda text: text.replace(secret, "***"))


def test_what_either_of_two_parses_has_read_is_masked() -> None:
    """A variable may have another value in the second one; a warning tells of both."""
    key = FileKey("main", "a.py")
    one = StoredParse(file=key, result=reading("after"), signature="", paths=(), seconds=0.1)
    both = StoredParse(
        file=key,
        result=reading("after"),
        signature="",
        paths=(),
        seconds=0.1,
        first=reading("before"),
    )

    assert one.mask("it was before, then after") == "it was before, then ***"
    assert both.mask("it was before, then after") == "it was ***, then ***"
