"""Tasks with dates of their own: a run outside of these skips them."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Engine, text

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.domain.dag.spec import MapInput, TaskSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.testing.data import seed
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

ALL_DONE = TriggerRule.ALL_DONE
SECOND_DAY = seed.START + seed.DAY
NOW = seed.START + 30 * seed.DAY


def start(engine: Engine, replica: Replica, tasks: Sequence[TaskSpec], days: int) -> list[int]:
    runs = seed.create_runs(engine, seed.store(engine, seed.dag(*tasks)), range(days))
    go_on(replica)
    return runs


def go_on(replica: Replica) -> None:
    start_runs(replica, NOW)
    while schedule_tasks(replica, NOW).runs:
        pass


def test_a_run_before_the_start_date_skips_the_task(engine: Engine, replica: Replica) -> None:
    """And what waits for it decides by its own trigger rule."""
    late = replace(seed.task("late"), start_date=SECOND_DAY)
    below = seed.task("below", "late"), replace(seed.task("end", "late"), trigger_rule=ALL_DONE)

    first, second = start(engine, replica, (late, *below), 2)

    skipped = {"late": "skipped", "below": "skipped", "end": "scheduled"}
    assert seed.task_states(engine, first) == skipped
    assert seed.task_states(engine, second) == {"late": "scheduled", "below": "none", "end": "none"}


def test_a_run_after_the_end_date_skips_the_task(engine: Engine, replica: Replica) -> None:
    """It does so at once, whatever is above it; other tasks go on by counts."""
    early = replace(seed.task("early", "work"), end_date=seed.START)
    first, second = start(engine, replica, (seed.task("work"), early, seed.task("n", "work")), 2)
    assert seed.task_states(engine, second) == {
        "work": "scheduled",
        "early": "skipped",
        "n": "none",
    }

    seed.finish(engine)
    go_on(replica)

    ready = {"work": "success", "early": "scheduled", "n": "scheduled"}
    assert seed.task_states(engine, first) == ready
    assert seed.task_states(engine, second) == ready | {"early": "skipped"}


def test_a_run_without_any_task_left_succeeds(engine: Engine, replica: Replica) -> None:
    start(engine, replica, [replace(seed.task("late"), start_date=SECOND_DAY)], 1)

    assert seed.run_states(engine) == {"success": 1}


def test_a_mapped_task_is_skipped_as_one(engine: Engine, replica: Replica) -> None:
    over = (MapInput(argument="x", length=3),)
    late = replace(seed.task("late"), start_date=SECOND_DAY, mapped_over=over)

    [run] = start(engine, replica, [late, seed.task("other")], 1)

    assert seed.task_states(engine, run) == {"late": "skipped", "other": "scheduled"}


def test_a_task_does_not_wait_for_a_run_that_skipped_it(engine: Engine, replica: Replica) -> None:
    late = replace(seed.task("late"), start_date=SECOND_DAY, depends_on_past=True)

    _, second = start(engine, replica, [late, seed.task("other")], 2)

    assert seed.task_states(engine, second) == {"late": "scheduled", "other": "scheduled"}


def test_a_manual_run_keeps_to_the_dates(engine: Engine, replica: Replica) -> None:
    late = replace(seed.task("late"), start_date=SECOND_DAY)
    version = seed.store(engine, seed.dag(late, seed.task("other")))
    [run] = seed.create_runs(engine, version, [0])
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET run_type = 'manual'"))

    go_on(replica)

    assert seed.task_states(engine, run) == {"late": "skipped", "other": "scheduled"}


def test_a_backfill_runs_what_it_is_asked_for(engine: Engine, replica: Replica) -> None:
    late = replace(seed.task("late"), start_date=SECOND_DAY)
    seed.store(engine, seed.dag(late, seed.task("other")))
    request = BackfillRequest("etl", seed.START, seed.START, {}, 1)
    with engine.begin() as conn:
        create_backfill(conn, request, NOW, "user:ann")
        run = conn.execute(text("SELECT id FROM dag_run")).scalar_one()

    go_on(replica)

    assert seed.task_states(engine, run) == {"late": "scheduled", "other": "scheduled"}
