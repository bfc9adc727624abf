"""Other runs whose XComs a task asks for: of its bundle alone, and the last one that has any."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.db.execution import other_runs, xcoms
from headway.domain.arguments import JsonValue
from headway.domain.errors import RequestError
from headway.domain.states import RunState
from headway.testing.data import seed

MOVE = text("UPDATE dag SET bundle = 'elsewhere' WHERE dag_id = :dag_id")
NAME = text("SELECT run_id FROM dag_run WHERE id = :run")
OWN = text("SELECT dag_run_id FROM task_instance WHERE id = :id")
VERSION = text("SELECT version_id FROM dag_run WHERE id = :run")


def run_of(engine: Engine, dag_id: str, day: int, value: JsonValue = None) -> tuple[int, str]:
    """Run the task of a DAG on a day, and let it leave a value; return the run."""
    spec = replace(seed.dag(dag_id=dag_id), max_active_runs=16)
    [key] = seed.running(engine, spec, day)
    with engine.begin() as conn:
        if value is not None:
            xcoms.push(conn, key, "answer", value)
        run = conn.execute(OWN, {"id": key.task_instance_id}).scalar_one()
        name = conn.execute(NAME, {"run": run}).scalar_one()
    seed.report(engine, [key])
    return run, name


def version_of(engine: Engine, run: int) -> int:
    with engine.connect() as conn:
        return int(conn.execute(VERSION, {"run": run}).scalar_one())


def latest(engine: Engine, run: int, named: tuple[str, str], key: str = "answer") -> str | None:
    version = version_of(engine, run)
    with engine.connect() as conn:
        return other_runs.latest(conn, (run, version), named, ("work", key))


def test_a_run_of_another_dag_is_found_by_its_name(engine: Engine) -> None:
    own, name = run_of(engine, "etl", 0)
    other, _ = run_of(engine, "sales", 0, 7)
    version = version_of(engine, own)

    with engine.connect() as conn:
        assert other_runs.find(conn, version, "sales", name) == other
        assert other_runs.find(conn, version, "etl", name) == own
        assert other_runs.find(conn, version, "sales", "never") is None
        assert other_runs.state(conn, version, "sales", name) is RunState.RUNNING
        assert other_runs.state(conn, version, "sales", "never") is None
        assert xcoms.pull(conn, other, "work", "answer") == (7,)


@pytest.mark.parametrize("dag_id", ["sales", "nowhere"])
def test_a_dag_of_another_bundle_is_refused(engine: Engine, dag_id: str) -> None:
    own, name = run_of(engine, "etl", 0)
    run_of(engine, "sales", 0, 7)
    version = version_of(engine, own)
    with engine.begin() as conn:
        conn.execute(MOVE, {"dag_id": "sales"})
        message = f"ask about the DAG '{dag_id}': there is no such DAG in its bundle"

        with pytest.raises(RequestError, match=message):
            other_runs.find(conn, version, dag_id, name)
        with pytest.raises(RequestError, match=message):
            other_runs.latest(conn, (own, version), (dag_id, name), ("work", "answer"))
        with pytest.raises(RequestError, match=message):
            other_runs.state(conn, version, dag_id, name)


def test_a_version_of_a_dag_that_has_moved_asks_about_dags_of_its_own_bundle(
    engine: Engine,
) -> None:
    """And about its own DAG, whose runs are one history."""
    own, name = run_of(engine, "etl", 0)
    stayed, _ = run_of(engine, "stays", 0)
    run_of(engine, "theirs", 0)
    with engine.begin() as conn:
        for dag_id in ("etl", "theirs"):
            conn.execute(MOVE, {"dag_id": dag_id})
    before = version_of(engine, own)
    after = seed.store(engine, seed.dag(seed.task("other")), bundle="elsewhere")

    with engine.connect() as conn:
        assert other_runs.find(conn, before, "stays", name) == stayed
        assert other_runs.find(conn, before, "etl", name) == own
        with pytest.raises(RequestError, match="no such DAG in its bundle"):
            other_runs.find(conn, before, "theirs", name)
        assert other_runs.find(conn, after, "theirs", name) is not None
        assert other_runs.find(conn, after, "etl", name) == own
        with pytest.raises(RequestError, match="no such DAG in its bundle"):
            other_runs.find(conn, after, "stays", name)


def test_the_last_run_that_left_something_up_to_a_date(engine: Engine) -> None:
    runs = [run_of(engine, "etl", day, value) for day, value in enumerate([1, 2, None, 4])]
    (first, first_name), (_, second_name), (third, third_name), (_, last_name) = runs

    assert latest(engine, third, ("etl", third_name)) == second_name
    assert latest(engine, third, ("etl", last_name)) == last_name
    assert latest(engine, first, ("etl", first_name)) == first_name
    assert latest(engine, third, ("etl", third_name), "no such key") is None


def test_of_another_dag_it_is_up_to_the_date_of_the_run_that_asks(engine: Engine) -> None:
    own, name = run_of(engine, "etl", 1)
    _, before = run_of(engine, "sales", 0, 7)
    run_of(engine, "sales", 2, 8)

    assert latest(engine, own, ("sales", name)) == before
