"""`headway timetable preview`: without a database, for people and for programs."""

import json

import pytest
from typer.testing import CliRunner

from headway.cli.main import app

pytestmark = pytest.mark.usefixtures("no_settings")

LINEAGE = "Hours(3, 9, 18) & Minutes(2, 30, 19) | Hours(17) & Minutes(0, 15, 45)"


def say(*arguments: str) -> str:
    found = CliRunner().invoke(app, ["timetable", "preview", *arguments], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def test_runs_as_json() -> None:
    options = (
        "--tz",
        "America/New_York",
        "--from",
        "2026-03-07",
        "--to",
        "2026-03-08",
        "-o",
        "json",
    )

    assert json.loads(say("@daily", *options)) == [
        {
            "run_after": "2026-03-08T05:00:00Z",
            "ds": "2026-03-07",
            "data_interval_start": "2026-03-07T05:00:00Z",
            "data_interval_end": "2026-03-08T05:00:00Z",
            "notes": [],
        },
        {
            "run_after": "2026-03-09T04:00:00Z",
            "ds": "2026-03-08",
            "data_interval_start": "2026-03-08T05:00:00Z",
            "data_interval_end": "2026-03-09T04:00:00Z",
            "notes": ["gap: 2026-03-08 02:00 to 03:00 is skipped"],
        },
    ]


def test_runs_as_a_table() -> None:
    options = ("--tz", "Europe/Paris", "--from", "2026-01-01", "-n", "1")
    header, line = say("DataTimetable('0 0 * * *', interval='P1D')", *options).splitlines()

    assert header.split("  ")[0] == "run after"
    assert line.split("  ") == [
        "2026-01-01T23:00:00Z",
        "Fri 2026-01-02 00:00:00 CET",
        "2025-12-31",
        "2025-12-31T23:00:00Z",
        "2026-01-01T23:00:00Z",
        "2026-01-01 00:00:00 to 2026-01-02 00:00:00",
        "-",
    ]


def test_an_hour_that_comes_twice_is_no_instant() -> None:
    """In Berlin, 02:00 to 03:00 comes twice on 25 October 2026: from 00:00 and from 01:00 UTC."""
    options = ("--tz", "Europe/Berlin", "--from", "2026-10-25", "-n", "4")
    lines = [line.split("  ") for line in say("@hourly", *options).splitlines()]

    assert [line[5].strip() for line in lines[2:]] == [
        "2026-10-25 01:00:00 to 2026-10-25 02:00:00",
        "2026-10-25 02:00:00 CEST to 2026-10-25 02:00:00 CET",
        "2026-10-25 02:00:00 to 2026-10-25 03:00:00",
    ]


def test_the_first_run_begins_with_the_end_of_a_gap() -> None:
    """New York skips 02:00 to 03:00 on 8 March 2026."""
    for start in ("2026-03-08T02:30", "2026-03-08T03:00"):
        options = ("--tz", "America/New_York", "--from", start, "-n", "1", "-o", "json")
        assert json.loads(say("@hourly", *options))[0]["data_interval_start"] == (
            "2026-03-08T07:00:00Z"
        )


@pytest.mark.parametrize(
    "expression", ["@daily", "P1D", "P1Y", "@once", "CronTimetable('0 0 * * *') & Workdays()"]
)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
def test_runs_from_the_beginning_of_the_calendar(expression: str, zone: str) -> None:
    """They begin a year later, where there is a day before them."""
    options = ("--tz", zone, "--from", "0001-01-02", "-n", "1", "-o", "json")
    (run,) = json.loads(say(expression, *options))

    assert "0002-01-01" <= run["data_interval_start"] < "0002-01-03"


def test_how_many() -> None:
    assert len(json.loads(say(LINEAGE, "-o", "json"))) == 20, "from now on"
    week = ("--from", "2026-01-01", "--to", "2026-01-07T23:59")
    assert len(json.loads(say(LINEAGE, *week, "-o", "json"))) == 7 * 12
    assert len(json.loads(say(LINEAGE, *week, "-n", "5", "-o", "json"))) == 5
    assert say("@once", "--from", "2026-01-01").count("\n") == 2


def test_what_is_cut_off_is_told() -> None:
    """A week has 10,080 minutes; both bounds are among them."""
    week = ("preview", "* * * * *", "--from", "2026-01-01", "--to", "2026-01-08", "-o", "json")
    cut = CliRunner().invoke(app, ["timetable", *week])
    whole = CliRunner().invoke(app, ["timetable", *week, "-n", "10081"])
    few = CliRunner().invoke(app, ["timetable", *week, "-n", "5"])

    assert len(json.loads(cut.stdout)) == 10_000
    assert cut.stderr == "These are the first 10,000 runs; pass -n for more of them.\n"
    assert (len(json.loads(whole.stdout)), whole.stderr) == (10_081, "")
    assert (len(json.loads(few.stdout)), few.stderr) == (5, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Hours(25)",), "the hour field cannot be '25'"),
        (("@daily", "--tz", "Mars"), "'Mars' is no time zone"),
        (("@daily", "--from", "soon"), "'soon' is no date"),
        (("@daily", "--from", "2026-01-02", "--to", "2026-01-01"), "is before --from"),
    ],
)
def test_what_cannot_be_shown_is_told(arguments: tuple[str, ...], message: str) -> None:
    found = CliRunner().invoke(app, ["timetable", "preview", *arguments])

    assert found.exit_code != 0
    assert message in str(found.exception)


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (
            "CronTimetable('0 9 * * *') & CronTimetable('0 10 * * *')",
            "search for the next run was given up",
        ),
        ("EventsTimetable(['2020-01-01'])", "There is no run within these dates"),
        ("P9999Y", "There is no run within these dates"),
        ("@once", ""),
        ("EventsTimetable(['2026-02-01'])", ""),
    ],
)
def test_where_no_run_comes_it_is_told_why(expression: str, told: str) -> None:
    found = CliRunner().invoke(
        app, ["timetable", "preview", expression, "--from", "2026-01-01", "-o", "json"]
    )

    assert found.exit_code == 0
    assert (json.loads(found.stdout) == []) is bool(told)
    assert told in found.stderr
    assert bool(found.stderr) is bool(told)


def test_what_begins_with_a_dash_comes_after_two() -> None:
    assert "-- before it" in CliRunner().invoke(app, ["timetable", "preview", "--help"]).stdout
