import pytest

from headway.domain.dag.names import LONGEST_NAME, check_key, check_run_id
from headway.domain.errors import DagError


@pytest.mark.parametrize(
    "value", ["a", "A-1_b.c", "0", ".hidden", "a.", "...a", "x" * LONGEST_NAME]
)
def test_what_may_be_a_key(value: str) -> None:
    assert check_key("DAG", value) == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "must have 1 to 250 characters; '' has 0"),
        ("x" * (LONGEST_NAME + 1), "has 251"),
        ("a b", "may hold only letters"),
        ("a/b", "may hold only letters"),
        ("a\n", "may hold only letters"),
        ("ä", "may hold only letters"),
        ("٣", "may hold only letters"),
        (".", "may hold only letters"),
        ("..", "may hold only letters"),
        (None, "must be a string, not NoneType: None"),
        (7, "must be a string, not int: 7"),
    ],
)
def test_what_may_not(value: object, message: str) -> None:
    with pytest.raises(DagError, match=message):
        check_key("task", value)


def test_the_message_says_what_was_to_be_named() -> None:
    with pytest.raises(DagError, match=r"^The pool id 'a b'"):
        check_key("pool", "a b")


@pytest.mark.parametrize(
    "value", ["scheduled__2013-01-01T05:00:00+00:00", "by hand, twice", "ä", "r" * LONGEST_NAME]
)
def test_what_may_be_a_run_id(value: str) -> None:
    assert check_run_id(value) == value


@pytest.mark.parametrize("value", ["r" * (LONGEST_NAME + 1), "a/b", "a\nb", "a\0", "a\x1b[2J"])
def test_what_may_not_be_a_run_id(value: str) -> None:
    with pytest.raises(DagError, match="printable characters, and no slash"):
        check_run_id(value)


def test_an_empty_run_id_is_refused() -> None:
    with pytest.raises(DagError, match="The run id is empty"):
        check_run_id("")
