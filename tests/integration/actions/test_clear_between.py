"""Runs of a range of logical dates are locked at once, in the one order, before one is cleared."""

import pytest
from sqlalchemy import Connection, Engine, event, text

from headway.actions.change import Author
from headway.actions.runs.clear_between import clear_runs, lock_runs
from headway.actions.runs.version_choice import LATEST
from headway.db.reads.pages.paging import TimeRange
from headway.decide.changes.clear import Selection
from headway.decide.scheduling.graph import DagGraph
from headway.domain.errors import DagNotFoundError, TaskNotFoundError
from headway.testing.data import seed
from headway.testing.data.forced import force

ANN = Author("user:ann")
FIRST_TWO = TimeRange(seed.START, seed.START + 2 * seed.DAY)


def a_alone(_graph: DagGraph) -> list[Selection]:
    return [Selection(["a"], downstream=False)]


@pytest.fixture
def days(engine: Engine) -> None:
    """Runs of days 2, 1 and 0, in this order, whose tasks a and b have failed."""
    for day in (2, 1, 0):
        run = seed.start_run(engine, seed.dag(seed.task("a"), seed.task("b")), day)
        force(engine, run, a="failed", b="failed")
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET state = 'failed', ended_at = now()"))


def free(engine: Engine, table: str) -> list[int]:
    """The rows that nobody has locked, by number."""
    found = text(f"SELECT id FROM {table} ORDER BY id FOR NO KEY UPDATE SKIP LOCKED")
    with engine.begin() as conn:
        return list(conn.scalars(found))


@pytest.mark.usefixtures("days")
def test_all_runs_are_locked_before_one_is_cleared_and_of_these_the_tasks_alone(
    engine: Engine,
) -> None:
    with engine.begin() as conn:
        locked = lock_runs(conn, "etl", FIRST_TWO, a_alone)
        runs = conn.scalars(text("SELECT id FROM dag_run ORDER BY id")).all()
        others = conn.scalars(
            text(
                "SELECT id FROM task_instance WHERE task_id = 'b' OR dag_run_id = :run ORDER BY id"
            ),
            {"run": runs[0]},
        ).all()

        assert [run.id for run in locked.runs] == list(runs[1:])
        assert free(engine, "dag_run") == [runs[0]]
        assert free(engine, "task_instance") == list(others)


@pytest.mark.usefixtures("days")
def test_backfills_are_locked_before_runs_and_runs_before_tasks(engine: Engine) -> None:
    backfill = text("""
        INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)
        VALUES ('etl', now(), now(), 1, 1) RETURNING id
    """)
    asked: list[str] = []

    def noted(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        if "FOR NO KEY UPDATE" in statement:
            asked.append(statement.split("FROM", 1)[1].split(maxsplit=1)[0])

    with engine.begin() as conn:
        number = conn.scalar(backfill)
        conn.execute(text("UPDATE dag_run SET backfill_id = :it"), {"it": number})
    with engine.begin() as conn:
        event.listen(conn, "before_cursor_execute", noted)
        lock_runs(conn, "etl", FIRST_TWO, a_alone)
        assert free(engine, "backfill") == []

    assert asked == ["backfill", "dag_run", "task_instance"]


@pytest.mark.usefixtures("days")
def test_a_second_choice_of_a_run_finds_what_the_first_one_left(engine: Engine) -> None:
    more = seed.dag(seed.task("a"), seed.task("b"), seed.task("c"))
    seed.store(engine, more)

    def each(_graph: DagGraph) -> list[Selection]:
        return [Selection([task], downstream=False) for task in ("a", "b")]

    def clear(conn: Connection) -> list[bool]:
        locked = lock_runs(conn, "etl", FIRST_TWO, each, LATEST)
        done = clear_runs(conn, locked, each, ANN, LATEST)
        return [
            change.versions.before == change.versions.after
            for change in done
            if change.versions is not None
        ]

    with engine.begin() as conn:
        assert clear(conn) == [False, True] * 2


def test_what_is_not_there_is_said(engine: Engine) -> None:
    with engine.begin() as conn, pytest.raises(DagNotFoundError):
        lock_runs(conn, "none", FIRST_TWO, a_alone)
    seed.start_run(engine, seed.dag(seed.task("b")))
    with engine.begin() as conn:
        locked = lock_runs(conn, "etl", FIRST_TWO, a_alone)
        with pytest.raises(TaskNotFoundError):
            clear_runs(conn, locked, a_alone, ANN)
