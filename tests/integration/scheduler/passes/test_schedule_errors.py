"""A timetable that fails, or has no next run for now, is asked again, and stops no other DAG."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count

import pytest
from sqlalchemy import Engine, text
from typer.testing import CliRunner

from headway.actions.explain.explain import ExplainRequest, explain
from headway.cli.main import app
from headway.decide.explain.explanation import Explanation, Reason
from headway.domain.dag.catchup import Catchup
from headway.domain.dag.spec import TimetableSpec
from headway.domain.errors import TimetableError
from headway.domain.interval import DataInterval
from headway.testing.data import seed
from headway.timetables import registry
from headway.timetables.base import Timetable
from headway.timetables.kinds.cron import DataTimetable
from headway.timetables.kinds.days import Workdays
from headway.timetables.kinds.delta import TimeDeltaTimetable
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.replica.replica import Replica

RUN = f"scheduled__{(seed.START + 2 * seed.DAY).isoformat()}"


def at(day: float) -> datetime:
    return seed.START + day * seed.DAY


def runs(engine: Engine) -> int:
    with engine.connect() as conn:
        return int(conn.scalar(text("SELECT count(*) FROM dag_run")) or 0)


def ask(engine: Engine, replica: Replica, now: datetime) -> Explanation:
    with engine.begin() as conn:
        return explain(conn, ExplainRequest("etl", RUN, "work"), replica.settings, now)


def test_a_timetable_that_fails_is_told_of_and_asked_again(
    engine: Engine,
    replica: Replica,
    monkeypatch: pytest.MonkeyPatch,
    database_url: str,
) -> None:
    def fail(*_: object) -> None:
        raise TimetableError("The calendar is not installed.")

    monkeypatch.setattr("headway.cli.input.session.database_url", lambda: database_url)
    seed.store(engine, seed.dag())
    with monkeypatch.context() as broken:
        broken.setattr(TimeDeltaTimetable, "first_from", fail)
        assert create_runs(replica, at(2.5)) == 1
        assert create_runs(replica, at(2.5) + timedelta(minutes=9)) == 0
    assert runs(engine) == 0

    found = ask(engine, replica, at(2.5))
    assert found.reason is Reason.TIMETABLE_FAILS
    assert "the timetable of etl fails. The calendar is not installed." in found.sentence
    assert "asked again at 2024-01-03T12:10:00Z" in found.change
    for command in (["dags", "list"], ["dags", "show", "etl"]):
        shown = CliRunner().invoke(app, command, catch_exceptions=False).stdout
        assert "The calendar is not installed." in shown
    [row] = json.loads(CliRunner().invoke(app, ["dags", "list", "-o", "json"]).stdout)
    assert row["next_run_after"] is None

    assert create_runs(replica, at(2.5) + timedelta(minutes=10)) == 1
    assert runs(engine) == 2
    assert ask(engine, replica, at(2.5)).reason is not Reason.TIMETABLE_FAILS


def test_a_dag_that_computes_for_too_long_does_not_stop_the_others(
    engine: Engine, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the first in the pass, and never comes to an end."""
    monkeypatch.setattr("headway_scheduler.passes.create_runs.LONGEST_PLAN", 0.2)
    endless = TimetableSpec(name="data", arguments=dict(DataTimetable("@daily").arguments()))

    def compute(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(DataTimetable, "first_from", compute)
    seed.store(engine, replace(seed.dag(), timetable=endless))
    seed.store(engine, seed.dag(dag_id="other"))

    assert [create_runs(replica, at(2)) for _ in range(3)] == [1, 1, 0]

    assert runs(engine) == 2
    with engine.connect() as conn:
        error = conn.scalar(text("SELECT schedule_error FROM dag WHERE dag_id = 'etl'"))
    assert error == "It takes more than 0.2 s to tell its runs."


def test_what_one_pass_computes_is_bounded(
    engine: Engine, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each DAG takes two seconds, and a pass ends after three."""
    seconds = count(step=2)
    monkeypatch.setattr(
        "headway_scheduler.passes.create_runs.computed", lambda: float(next(seconds))
    )
    for dag_id in "abc":
        seed.store(engine, seed.dag(dag_id=dag_id))

    assert [create_runs(replica, at(5)) for _ in range(3)] == [2, 1, 0]


def test_what_one_pass_rolls_up_is_bounded(
    engine: Engine, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway_scheduler.passes.create_runs.MOST_ROLLED", 5)
    for dag_id in ("one", "two"):
        spec = replace(seed.dag(dag_id=dag_id), catchup_mode=Catchup.ROLLUP)
        seed.store(engine, spec)

    assert [create_runs(replica, at(5)) for _ in range(3)] == [1, 1, 0]


@pytest.mark.parametrize("timetable", [Workdays("US"), TimeDeltaTimetable(timedelta(days=1))])
def test_of_a_schedule_without_a_next_run_its_calendars_end_is_told(
    engine: Engine, replica: Replica, monkeypatch: pytest.MonkeyPatch, timetable: Timetable
) -> None:
    spec = replace(seed.dag(), catchup=False, timetable=registry.encode(timetable))
    seed.store(engine, spec)
    for name in ("first_from", "last_starting"):
        monkeypatch.setattr(type(timetable), name, lambda *_: None)
    create_runs(replica, at(1))

    found = ask(engine, replica, at(1))

    assert "has no further runs" in found.sentence
    assert found.facts == timetable.remarks
    assert ["The calendar 'US' has data from" in fact for fact in found.facts] == (
        [True] if isinstance(timetable, Workdays) else []
    )


def test_a_schedule_without_a_next_run_goes_on_when_there_is_one(
    engine: Engine, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a calendar that ends, and a newer package that knows of more."""
    seed.store(engine, replace(seed.dag(), catchup=False))

    def end(*_: object) -> DataInterval | None:
        return None

    with monkeypatch.context() as ended:
        ended.setattr(TimeDeltaTimetable, "first_from", end)
        ended.setattr(TimeDeltaTimetable, "last_starting", end)
        create_runs(replica, at(1))
    found = ask(engine, replica, at(1))
    assert found.sentence.endswith("the schedule of etl has no further runs that are known now.")
    assert "asked again at 2024-01-02T01:00:00Z" in found.change

    assert create_runs(replica, at(1) + timedelta(minutes=59)) == 0
    assert create_runs(replica, at(1) + timedelta(minutes=60)) == 1
    assert create_runs(replica, at(2)) == 1
    assert runs(engine) == 1
