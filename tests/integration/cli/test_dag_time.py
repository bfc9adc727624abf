"""What the command says of a DAG's runs to come, and runs over an interval of one's own."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Engine, text
from typer.testing import CliRunner

from headway.cli.main import app
from headway.domain.dag.catchup import Catchup
from headway.domain.dag.spec import TimetableSpec
from headway.testing.data import seed

NOW = datetime.fromisoformat("2026-03-07T12:00Z")
WEEKDAYS = replace(
    seed.dag(),
    timetable=TimetableSpec(
        name="data",
        arguments={"cron": "0 0 * * MON-FRI", "timezone": "America/New_York", "interval": 86400.0},
    ),
    timezone="America/New_York",
    start_date=datetime.fromisoformat("2026-03-04T05:00Z"),
)


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    """The commands reach the database of the test, on 7 March 2026."""
    monkeypatch.setattr("headway.cli.input.session.database_url", lambda: database_url)
    monkeypatch.setattr("headway.db.core.server.now", lambda _: NOW)


def say(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def coming(number: int) -> list[Any]:
    found = json.loads(say("dags", "next", "etl", "-n", str(number), "-o", "json"))
    return [(run["run_after"], run["notes"]) for run in found]


def test_the_next_runs_of_a_dag(engine: Engine) -> None:
    """It catches up from Wednesday, 4 March, on; the clocks go forward on Sunday."""
    seed.store(engine, WEEKDAYS)
    weekend = ["gap: 2026-03-08 02:00 to 03:00 is skipped", "skipped: 2026-03-07, 2026-03-08"]

    assert coming(4) == [
        ("2026-03-05T05:00:00Z", []),
        ("2026-03-06T05:00:00Z", []),
        ("2026-03-07T05:00:00Z", []),
        ("2026-03-10T04:00:00Z", weekend),
    ]
    assert "Thu 2026-03-05 00:00:00 EST" in say("dags", "next", "etl")


@pytest.mark.parametrize(
    ("name", "ds"), [("data", ["2026-03-04", "2026-03-05"]), ("cron", ["2026-03-05", "2026-03-06"])]
)
def test_the_ds_of_a_run_is_shown(engine: Engine, name: str, ds: list[str]) -> None:
    """By `interval` and by `trigger`: the runs fall due at the same times."""
    cron = TimetableSpec(name=name, arguments={"cron": "0 0 * * *", "timezone": "UTC"})
    if name == "data":
        cron = replace(cron, arguments={**cron.arguments, "interval": None})
    start = datetime.fromisoformat("2026-03-04T00:00Z" if name == "data" else "2026-03-04T01:00Z")
    seed.store(engine, replace(WEEKDAYS, timetable=cron, timezone="UTC", start_date=start))
    with engine.begin() as conn:
        conn.execute(
            text(
                "UPDATE dag SET next_interval_start = :start, next_interval_end = :start,"
                " next_run_after = '2026-03-05T00:00Z'"
            ),
            {"start": f"{ds[0]}T00:00Z"},
        )

    found = json.loads(say("dags", "next", "etl", "-n", "2", "-o", "json"))

    assert [(run["run_after"], run["ds"]) for run in found] == [
        ("2026-03-05T00:00:00Z", ds[0]),
        ("2026-03-06T00:00:00Z", ds[1]),
    ]
    assert f"2026-03-05T00:00:00Z  Thu 2026-03-05 00:00:00 UTC  {ds[0]}" in say(
        "dags", "next", "etl"
    )
    assert f"next run: 2026-03-05 00:00:00, ds {ds[0]}" in say("dags", "show", "etl")
    assert json.loads(say("dags", "show", "etl", "-o", "json"))[0]["next_ds"] == ds[0]


def test_they_go_on_from_the_last_one_that_was_scheduled(engine: Engine) -> None:
    day = (datetime.fromisoformat("2026-03-05T00:00Z") - seed.START).days
    seed.create_runs(engine, seed.store(engine, WEEKDAYS), [day])  # over 5 March in UTC

    assert coming(1) == [("2026-03-07T05:00:00Z", [])]


@pytest.mark.parametrize(
    ("catchup", "first"),
    [
        (Catchup.NONE, "2026-03-10T04:00:00Z"),
        (Catchup.LATEST, "2026-03-07T05:00:00Z"),
        (Catchup.ROLLUP, "2026-03-07T05:00:00Z"),
    ],
)
def test_what_catchup_leaves_out_is_not_to_come(
    engine: Engine, catchup: Catchup, first: str
) -> None:
    seed.store(engine, replace(WEEKDAYS, catchup_mode=catchup))

    assert coming(1)[0][0] == first


def test_what_fell_due_before_a_break_was_missed_and_what_came_after_was_not(
    engine: Engine,
) -> None:
    seed.store(engine, replace(WEEKDAYS, catchup=False))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET scheduled_since = '2026-03-06T12:00Z'"))
    assert coming(1)[0][0] == "2026-03-07T05:00:00Z"

    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET paused = true"))
    assert coming(1)[0][0] == "2026-03-10T04:00:00Z"


def test_a_run_over_a_month_of_a_daily_dag(engine: Engine) -> None:
    """February in New York, though the DAG runs over single days."""
    seed.store(engine, WEEKDAYS)

    said = say("dags", "trigger", "etl", "--interval", "2026-02-01", "2026-03-01")

    assert said == f"Created the run manual__{NOW.isoformat()} of etl.\n"
    with engine.connect() as conn:
        run = conn.execute(text("SELECT * FROM dag_run")).one()
        details = conn.scalar(text("SELECT details FROM event WHERE action = 'run.trigger'"))
    begin, end = "2026-02-01T05:00:00+00:00", "2026-03-01T05:00:00+00:00"
    assert (run.interval_start.isoformat(), run.interval_end.isoformat()) == (begin, end)
    assert (run.run_type, run.run_after) == ("manual", NOW)
    assert details == {"conf": {}, "interval": [begin, end]}


@pytest.mark.parametrize("end", ["2026-02-01", "2026-01-31"])
def test_an_interval_that_does_not_end_after_it_starts_is_refused(engine: Engine, end: str) -> None:
    seed.store(engine, WEEKDAYS)
    arguments = ["dags", "trigger", "etl", "--interval", "2026-02-01", end]
    result = CliRunner().invoke(app, arguments)

    assert result.exit_code != 0
    assert "An interval cannot end" in str(result.exception)
