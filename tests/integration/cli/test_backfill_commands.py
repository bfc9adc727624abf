"""What the commands of backfills say, and with what they exit."""

from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text
from typer.testing import CliRunner

from headway.actions.backfills import create as backfill
from headway.actions.backfills.control import progress_of
from headway.actions.backfills.create import BackfillRequest, CreatedBackfill, plan
from headway.cli.input import session
from headway.cli.main import app
from headway.cli.screen import watch_backfill
from headway.cli.screen.errors import message
from headway.db.scheduling import queued_runs, runs
from headway.domain.errors import ConflictError, NotFoundError, RequestError
from headway.domain.states import RunState
from headway.testing.data import seed

NOW = seed.START + 30 * seed.DAY
CREATE = ("backfill", "create", "etl", "--from", "2024-01-01", "--to", "2024-01-02", "--no-wait")
DEADLOCK = text("DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$")


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    """The commands reach the database of the test."""
    monkeypatch.setattr(session, "database_url", lambda: database_url)


def say(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return " ".join(result.output.split())


def test_dates_that_are_left_alone_are_told_from_those_in_conflict(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0, 1, 2])
    with engine.begin() as conn:
        queued_runs.start(conn, [1], NOW, seed.AGING)
        runs.settle(conn, {1: (0, RunState.SUCCESS)}, NOW)

    said = say(
        "backfill", "create", "etl", "--from", "2023-12-31", "--to", "2024-01-04", "--no-wait"
    )

    assert said == (
        "Backfill 1 of etl: 2 runs with version 1; 1 date left alone; 2 dates in conflict with a "
        "run, as `headway backfill show 1 --dates` tells; 1 date before the start_date, where the "
        "schedule has none."
    )


def test_when_all_have_run_it_says_what_to_do(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0, 1])

    with pytest.raises(ConflictError, match="All 2 intervals have a run already") as refused:
        say(*CREATE)
    assert "`--reprocess` runs again what has ended" in message(refused.value)


def test_the_reason_is_in_the_journal(engine: Engine) -> None:
    seed.store(engine, seed.dag())

    say(*CREATE, "--reason", "late data")

    with engine.connect() as conn:
        details = conn.scalar(text("SELECT details FROM event WHERE action = 'backfill.create'"))
    assert details == {"backfill": 1, "runs": 2, "reason": "late data"}


def test_limits_that_cannot_be_are_refused_in_a_dry_run_too(engine: Engine) -> None:
    seed.store(engine, seed.dag())

    with pytest.raises(RequestError, match="not 0, and 10,000 at most"), engine.begin() as conn:
        plan(conn, BackfillRequest("etl", seed.START, seed.START, {}, 0), NOW)


def test_it_makes_way_for_another_transaction_and_is_created_then(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed.store(engine, seed.dag())
    create, tries = backfill.create_backfill, []

    def victim(conn: Connection, *given: Any) -> CreatedBackfill:
        tries.append(create(conn, *given))
        if len(tries) == 1:
            conn.execute(DEADLOCK)
        return tries[-1]

    monkeypatch.setattr(backfill, "create_backfill", victim)

    say(*CREATE)

    assert len(tries) == 2
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM backfill")) == 1


def test_a_backfill_that_nothing_starts_says_so(engine: Engine) -> None:
    seed.store(engine, seed.dag(), paused=True)

    assert "DAG etl is paused: the backfill starts nothing until" in say(*CREATE)

    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET state = 'running', started_at = now()"))
        conn.execute(text("UPDATE dag_run SET state = 'failed', ended_at = now()"))
    assert "paused" not in say("backfill", "watch", "1")


def test_there_must_be_one_to_run(engine: Engine) -> None:
    with pytest.raises(NotFoundError, match="There is no backfill 77"):
        say("backfill", "run", "77")


def test_one_whose_runs_are_in_a_later_one_is_empty(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    say(*CREATE)
    with engine.begin() as conn:
        queued_runs.start(conn, [1, 2], NOW, seed.AGING)
        runs.settle(conn, dict.fromkeys((1, 2), (0, RunState.FAILED)), NOW)

    say(*CREATE, "--reprocess", "failed")

    with engine.connect() as conn:
        assert (progress_of(conn, 1).state, progress_of(conn, 2).state) == ("empty", "running")


def test_a_backfill_that_is_deleted_while_it_is_watched(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    say(*CREATE)

    def delete() -> None:
        with engine.begin() as conn:
            conn.execute(text("DELETE FROM dag_run"))
            conn.execute(text("DELETE FROM backfill"))

    with pytest.raises(NotFoundError, match="There is no backfill 1"):
        watch_backfill.watch_backfill(1, meanwhile=delete)
