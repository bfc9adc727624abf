import pytest

from headway_parser.imported_names import imported_names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import a", {"a"}),
        ("import a.b as c, d  # e", {"a.b", "d"}),
        ("if x:\n    import a", {"a"}),
        ("from a.b import c, d as e", {"a.b", "a.b.c", "a.b.d"}),
        ("from a import (\n    b,  # c, d\n    e as f,\n)", {"a", "a.b", "a.e"}),
        ("from a import *", {"a"}),
        ("from . import a", set()),
        ("from .a import b", set()),
        ("# import a\nx = 'import b'", set()),
        ("x = 1; import a", set()),
    ],
)
def test_names_are_told_from_the_text(source: str, names: set[str]) -> None:
    assert imported_names(source.encode()) == names


def test_a_name_that_is_no_ascii_is_left_out() -> None:
    assert imported_names("import ä".encode()) == set()
    assert imported_names(b"import \xff") == set()
