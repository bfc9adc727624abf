"""Runs as commands, the API and the pages show them."""

from datetime import UTC

import pytest
from sqlalchemy import Engine, text

from headway.db.reads import run_views
from headway.domain.states import RunState, RunType
from headway.testing.data import seed

SCHEDULED = text("UPDATE dag_run SET schedule_date = :date WHERE id = :id")


def test_a_run_has_its_times_in_utc_and_none_where_nothing_has_happened(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])

    with engine.connect() as conn:
        [run] = run_views.runs(conn, "etl")

    assert (run.state, run.run_type, run.version, run.conf) == (
        *(RunState.QUEUED, RunType.SCHEDULED, 1),
        {},
    )
    assert (run.interval_start, run.interval_end) == (seed.START, seed.START + seed.DAY)
    assert run.interval_start.tzinfo is UTC or run.interval_start.utcoffset() == 0 * seed.DAY
    assert (run.started_at, run.ended_at, run.backfill_id, run.ended) == (None, None, None, False)


def test_runs_of_a_dag_come_by_date_and_runs_of_all_by_their_creation(engine: Engine) -> None:
    first, second = (seed.start_run(engine, seed.dag(), day) for day in (0, 1))
    seed.start_run(engine, seed.dag(dag_id="other"))
    with engine.begin() as conn:
        conn.execute(SCHEDULED, {"date": seed.START + 9 * seed.DAY, "id": first})
        of_dag = [run.interval_start for run in run_views.runs(conn, "etl")]
        of_all = [(run.dag_id, run.interval_start) for run in run_views.runs(conn)]

    assert second > first
    assert of_dag == [seed.START, seed.START + seed.DAY]
    assert of_all == [
        ("other", seed.START),
        ("etl", seed.START + seed.DAY),
        ("etl", seed.START),
    ]


@pytest.mark.parametrize("dag_id", ["etl", None])
def test_runs_are_chosen_by_their_state_and_no_more_than_so_many(
    engine: Engine, dag_id: str | None
) -> None:
    for day in range(3):
        seed.start_run(engine, seed.dag(), day)
    with engine.begin() as conn:
        conn.execute(
            text("""
                UPDATE dag_run SET state = 'failed', ended_at = now()
                 WHERE schedule_date = (SELECT min(schedule_date) FROM dag_run)
            """)
        )
        failed = run_views.runs(conn, dag_id, RunState.FAILED)
        two = run_views.runs(conn, dag_id, limit=2)

    assert [(run.state, run.ended, run.interval_start) for run in failed] == [
        (RunState.FAILED, True, seed.START)
    ]
    assert len(two) == 2


def test_one_run_is_found_by_its_dag_and_its_name(engine: Engine) -> None:
    seed.start_run(engine, seed.dag())
    seed.start_run(engine, seed.dag(), day=1)
    seed.start_run(engine, seed.dag(dag_id="other"))
    name = f"scheduled__{seed.START.isoformat()}"

    with engine.connect() as conn:
        found = [run_views.run(conn, dag_id, name) for dag_id in ("etl", "other", "none")]
        absent = run_views.run(conn, "etl", "no such run")

    assert [run and (run.dag_id, run.run_id) for run in found] == [
        ("etl", name),
        ("other", name),
        None,
    ]
    assert absent is None
