"""What a run gets when it starts: its tasks, the first of them scheduled, and who looks at it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from headway.db.core import events
from headway.db.core.events import Event
from headway.domain.dag.spec import DagSpec, MapInput
from headway.domain.dag.trigger_rules import TriggerRule
from headway.testing.data import seed
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 100 * seed.DAY


def start(replica: Replica) -> int:
    return start_runs(replica, NOW)


def test_a_started_run_gets_its_tasks_and_the_first_are_scheduled(
    engine: Engine, replica: Replica
) -> None:
    load = replace(seed.task("load", "extract"), pool="db", pool_slots=2, priority_weight=3)
    seed.create_runs(engine, seed.store(engine, seed.dag(seed.task("extract"), load)), [0])

    start(replica)

    rows = text("""
        SELECT task_id, map_index, state, attempt, pool, pool_slots, limited, up_total, rank
          FROM task_instance ORDER BY id
    """)
    rank = NOW.timestamp() - 60.0
    with engine.connect() as conn:
        assert conn.execute(rows).all() == [
            ("extract", -1, "scheduled", 0, "default_pool", 1, False, 0, rank - 3 * 60),
            ("load", -1, "none", 0, "db", 2, False, 1, rank - 2 * 60),
        ]
        assert conn.execute(text("SELECT started_at, unfinished FROM dag_run")).one() == (NOW, 2)
        assert conn.scalar(text("SELECT count(*) FROM wake")) == 0, "there is nothing to decide"


@pytest.mark.parametrize(
    "spec",
    [
        seed.dag(seed.task("a"), replace(seed.task("b", "a"), trigger_rule=TriggerRule.ALWAYS)),
        seed.dag(replace(seed.task("a"), depends_on_past=True)),
        seed.dag(replace(seed.task("a"), mapped_over=(MapInput(argument="n", length=2),))),
        replace(seed.dag(), tasks=()),
    ],
    ids=["always", "past", "mapped", "empty"],
)
def test_a_run_whose_first_tasks_are_to_be_decided_about_is_looked_at_as_a_whole(
    engine: Engine, replica: Replica, spec: DagSpec
) -> None:
    [run_id] = seed.create_runs(engine, seed.store(engine, spec), [0])

    start(replica)

    assert set(seed.task_states(engine).values()) <= {"none"}
    with engine.connect() as conn:
        assert conn.execute(text("SELECT dag_run_id, task_id FROM wake")).all() == [(run_id, None)]
        assert conn.scalar(text("SELECT unfinished FROM dag_run")) is None


def test_a_run_that_starts_again_keeps_its_tasks_and_is_looked_at_as_a_whole(
    engine: Engine, replica: Replica
) -> None:
    run_id = seed.start_run(engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    seed.finish(engine)
    again = text("""
        UPDATE dag_run SET state = :state, started_at = :at, ended_at = :at WHERE id = :run
    """)
    with engine.begin() as conn:
        events.add(conn, Event(actor="user:test", action="run.clear"))
        conn.execute(again, {"state": "failed", "at": NOW, "run": run_id})
        conn.execute(again, {"state": "queued", "at": None, "run": run_id})
        conn.execute(text("DELETE FROM wake"))
        conn.execute(text("DELETE FROM task_instance WHERE task_id = 'b'"))

    start(replica)

    assert seed.task_states(engine) == {"a": "success", "b": "none"}
    with engine.connect() as conn:
        assert conn.execute(text("SELECT dag_run_id, task_id FROM wake")).all() == [(run_id, None)]
        assert conn.scalar(text("SELECT unfinished FROM dag_run")) is None


@pytest.mark.parametrize(
    ("limits", "limited"),
    [
        (({}, {}), (False, False)),
        (({"max_active_tis_per_dag": 2}, {}), (True, False)),
        (({"max_active_tis_per_dagrun": 2}, {}), (True, False)),
        (({}, {"max_active_tasks_per_dagrun": 2}), (True, True)),
    ],
)
def test_a_task_under_a_limit_narrower_than_its_dags_is_marked(
    engine: Engine,
    replica: Replica,
    limits: tuple[dict[str, int], dict[str, int]],
    limited: tuple[bool, bool],
) -> None:
    of_task, of_dag = limits
    spec = seed.dag(replace(seed.task("one"), **of_task), seed.task("other"))  # type: ignore[arg-type]
    seed.create_runs(engine, seed.store(engine, replace(spec, **of_dag)), [0])  # type: ignore[arg-type]

    start(replica)

    with engine.connect() as conn:
        marks = conn.scalars(text("SELECT limited FROM task_instance ORDER BY task_id")).all()
    assert tuple(marks) == limited


def test_a_run_that_may_take_only_so_long_gets_a_deadline(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, replace(seed.dag(), dagrun_timeout=90.0)), [0])

    start(replica)

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT deadline FROM dag_run")) == NOW + timedelta(seconds=90)
