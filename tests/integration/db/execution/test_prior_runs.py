"""The last run that succeeded before another one."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.db.execution import prior_runs
from headway.domain.interval import DataInterval, PriorRun
from headway.testing.data import seed

STARTED = seed.START + 30 * seed.DAY

END = text("""
    UPDATE dag_run SET state = 'running', started_at = :started WHERE id = :id;
    UPDATE dag_run SET state = :state, ended_at = :ended WHERE id = :id
""")


def end(engine: Engine, run: int, state: str = "success") -> None:
    with engine.begin() as conn:
        ended = STARTED + timedelta(hours=1)
        conn.execute(END, {"id": run, "state": state, "started": STARTED, "ended": ended})


def before(engine: Engine, run: int) -> PriorRun | None:
    with engine.connect() as conn:
        return prior_runs.last_success(conn, run)


@pytest.fixture
def days(engine: Engine) -> list[int]:
    """Runs of a schedule about four days in a row, queued; another DAG's have succeeded."""
    for other in seed.create_runs(engine, seed.store(engine, seed.dag(dag_id="other")), range(4)):
        end(engine, other)
    return seed.create_runs(engine, seed.store(engine, seed.dag()), range(4))


def test_of_the_first_run_there_is_none(engine: Engine, days: list[int]) -> None:
    for later in days[1:]:
        end(engine, later)

    assert before(engine, days[0]) is None


def test_it_is_the_last_by_date_of_those_that_succeeded(engine: Engine, days: list[int]) -> None:
    end(engine, days[1])
    end(engine, days[0])
    end(engine, days[2], "failed")

    interval = DataInterval(seed.START + seed.DAY, seed.START + 2 * seed.DAY)
    assert before(engine, days[3]) == PriorRun(interval, STARTED, STARTED + timedelta(hours=1))


def test_while_none_has_succeeded_there_is_none(engine: Engine, days: list[int]) -> None:
    end(engine, days[0], "failed")

    assert before(engine, days[2]) is None


def test_a_manual_run_is_none_of_the_schedule_and_has_one_before_it(
    engine: Engine, days: list[int]
) -> None:
    dag_id = seed.dag().dag_id
    date = seed.START + 3.5 * seed.DAY
    with engine.begin() as conn:
        name = trigger(conn, TriggerRequest(dag_id, {}, logical_date=date), date, "test")
        manual = conn.scalar(text("SELECT id FROM dag_run WHERE run_id = :name"), {"name": name})
    end(engine, days[0])
    end(engine, manual)

    start = DataInterval(seed.START, seed.START + seed.DAY)
    for run in (days[3], manual):
        prior = before(engine, run)
        assert prior is not None
        assert prior.data_interval == start
