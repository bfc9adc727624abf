from dataclasses import replace

import pytest

from headway.db.parsing.files import FileRow
from headway_parser.parse.jobs import ParseReason, may_forget, why

OTHER = 7
ME = 1
ROW = FileRow(
    signature="stored",
    paths=("a.py",),
    due=False,
    parse_requested=False,
    claimed=False,
    parser_id=OTHER,
    failures=0,
)


def reason(
    row: FileRow | None, mine: str = "stored", *, changed: bool = False, alive: bool = True
) -> ParseReason | None:
    return why(row, mine, ME, {OTHER} if alive else set(), changed=changed)


def test_a_file_that_nobody_knows_is_new() -> None:
    assert reason(None) is ParseReason.NEW


def test_what_has_not_changed_is_left_alone() -> None:
    assert reason(ROW) is None
    assert reason(ROW, changed=True) is None


def test_what_has_changed_is_parsed() -> None:
    assert reason(ROW, mine="edited", changed=True) is ParseReason.CHANGED


def test_what_another_parser_sees_differently_is_left_to_it() -> None:
    """This one has parsed what it sees; the other has stored something else since."""
    assert reason(ROW, mine="late") is None
    assert reason(replace(ROW, due=True), mine="late") is None


def test_what_a_parser_that_is_gone_saw_differently_is_parsed() -> None:
    assert reason(ROW, mine="late", alive=False) is ParseReason.CHANGED
    assert reason(replace(ROW, parser_id=ME), mine="late", alive=False) is None


def test_what_is_due_or_asked_for_is_parsed() -> None:
    assert reason(replace(ROW, due=True)) is ParseReason.DUE
    assert reason(replace(ROW, parse_requested=True)) is ParseReason.REQUESTED


@pytest.mark.parametrize("row", [ROW, replace(ROW, due=True), replace(ROW, parse_requested=True)])
def test_a_file_that_is_being_parsed_is_left_alone_as_long_as_its_parser_lives(
    row: FileRow,
) -> None:
    row = replace(row, claimed=True)

    assert reason(row, mine="edited", changed=True) is None
    assert reason(row, mine="edited", alive=False) is ParseReason.ABANDONED


def test_a_claim_of_its_own_that_came_to_nothing_is_taken_up() -> None:
    assert reason(replace(ROW, claimed=True, parser_id=ME)) is ParseReason.ABANDONED


def test_who_parsed_a_file_last_says_that_it_is_gone() -> None:
    assert not may_forget(ROW, {OTHER})
    assert may_forget(ROW, set())
    assert may_forget(replace(ROW, parser_id=ME), {OTHER})
