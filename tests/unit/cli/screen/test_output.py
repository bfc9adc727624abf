import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from headway.cli.screen.output import Format, iso, show

LATE = datetime(2013, 1, 1, 19, 30, 1, 250_000, tzinfo=timezone(timedelta(hours=-5)))
ROWS: list[dict[str, object]] = [
    {"task_id": "land", "state": "success", "started_at": LATE, "tags": ["a", "b"], "extra": 1},
    {"task_id": "[red]x", "state": "failed", "started_at": None, "tags": [], "extra": {"k": LATE}},
]


def test_a_date_is_shown_in_utc() -> None:
    assert iso(LATE) == "2013-01-02T00:30:01.250000Z"
    assert iso(datetime(2013, 1, 1, tzinfo=UTC)) == "2013-01-01T00:00:00Z"


def test_json_has_every_field_of_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS, ("task_id",), Format.JSON)

    one, other = json.loads(capsys.readouterr().out)
    assert one == {
        "task_id": "land",
        "state": "success",
        "started_at": "2013-01-02T00:30:01.250000Z",
        "tags": ["a", "b"],
        "extra": 1,
    }
    assert (other["started_at"], other["extra"]) == (None, {"k": "2013-01-02T00:30:01.250000Z"})


def test_no_rows_are_an_empty_list(capsys: pytest.CaptureFixture[str]) -> None:
    show([], ("task_id",), Format.JSON)

    assert json.loads(capsys.readouterr().out) == []


def test_a_table_has_the_columns_that_were_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    show(ROWS, ("task_id", "state", "started_at", "tags"), Format.TABLE)

    header, one, other = capsys.readouterr().out.splitlines()
    assert header.split("  ")[0] == "task id"
    assert one.split() == ["land", "success", "2013-01-02T00:30:01Z", "a,", "b"]
    assert other.split() == ["[red]x", "failed", "-"]


def test_a_row_is_one_line_however_long_and_whatever_it_holds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show([{"error": "x" * 300}, {"error": "first\nsecond"}], ("error",), Format.TABLE)

    _, long, first = capsys.readouterr().out.splitlines()
    assert (long.strip(), first.strip()) == ("x" * 300, "first")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(True, "yes"), (False, "no"), (None, "-"), (0, "0"), ({"a": 1}, '{"a": 1}'), ("", "")],
)
def test_how_a_value_is_shown(
    capsys: pytest.CaptureFixture[str], value: object, shown: str
) -> None:
    show([{"a": value}], ("a",), Format.TABLE)

    assert capsys.readouterr().out.splitlines()[1].strip() == shown


def test_an_empty_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show([], ("task_id",), Format.TABLE)

    assert capsys.readouterr().out.splitlines()[-1] == "(none)"


def test_a_cell_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show([{"error": "\x1b[2Jgone"}], ("error",), Format.TABLE)

    assert capsys.readouterr().out.splitlines()[1] == r"\x1b[2Jgone"
