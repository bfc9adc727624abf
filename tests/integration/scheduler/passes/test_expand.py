"""The pass that settles runs makes the instances of mapped tasks, and knows when all have ended."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text

from headway.db.execution import attempts, xcoms
from headway.db.execution.attempts import Claimed, Report
from headway.db.scheduling import tasks, wakes
from headway.domain.arguments import JsonValue
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import Combined, DagSpec, MapInput
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.replica.replica import Replica

LIST = seed.task("list")
EACH = replace(seed.task("each", "list"), mapped_over=(MapInput(argument="it", task_id="list"),))
TOTAL = seed.task("total", "each")
FAN = seed.dag(LIST, EACH, TOTAL)
FAILED = Next(TaskState.FAILED)


def settle(replica: Replica) -> None:
    while schedule_tasks(replica, seed.START).runs:
        pass


def claim_all(engine: Engine) -> list[Claimed]:
    """Have whatever is scheduled claimed by a worker."""
    ready = text("SELECT id FROM task_instance WHERE state = 'scheduled' ORDER BY map_index")
    with engine.begin() as conn:
        tasks.queue(conn, list(conn.scalars(ready)), seed.START, seed.SCHEDULER)
    return seed.claim(engine, seed.register(engine, "worker"))


def leave(engine: Engine, value: JsonValue) -> None:
    """Have the first task end and leave this."""
    [claimed] = claim_all(engine)
    with engine.begin() as conn:
        assert xcoms.push(conn, claimed.key, "return_value", value)
        attempts.report(
            conn, [Report(key=claimed.key, outcome=Outcome.SUCCESS, following=seed.SUCCESS)]
        )


def instances(engine: Engine, task_id: str = "each") -> list[tuple[int, str]]:
    rows = text("SELECT map_index, state FROM task_instance WHERE task_id = :task ORDER BY 1")
    with engine.connect() as conn:
        return [tuple(row) for row in conn.execute(rows, {"task": task_id})]


def unfinished(engine: Engine) -> int | None:
    with engine.connect() as conn:
        found: int | None = conn.scalar(text("SELECT unfinished FROM dag_run"))
    return found


def start(engine: Engine, replica: Replica, value: JsonValue, spec: DagSpec = FAN) -> int:
    run = seed.start_run(engine, spec)
    leave(engine, value)
    settle(replica)
    return run


@pytest.mark.parametrize("items", [["a", "b", "c"], {"a": 1, "b": 2, "c": 3}])
def test_there_is_an_instance_for_each_item(
    engine: Engine, replica: Replica, items: JsonValue
) -> None:
    start(engine, replica, items)

    assert instances(engine) == [(0, "scheduled"), (1, "scheduled"), (2, "scheduled")]
    assert instances(engine, "total") == [(-1, "none")]
    assert unfinished(engine) == 4
    with engine.connect() as conn:
        total = text("SELECT up_total FROM task_instance WHERE task_id = 'total'")
        assert conn.scalar(total) == 3


def test_instances_are_alike_in_all_that_decides_their_place(
    engine: Engine, replica: Replica
) -> None:
    each = replace(
        EACH, pool="db", pool_slots=2, queue="gpu", priority_weight=5, max_active_tis_per_dagrun=1
    )
    start(engine, replica, [1, 2, 3], seed.dag(LIST, each, TOTAL))

    with engine.connect() as conn:
        columns = text("""
            SELECT DISTINCT state, pool, pool_slots, queue, priority, rank, limited, attempt
              FROM task_instance WHERE task_id = 'each'
        """)
        [row] = conn.execute(columns)
    rank = seed.START.timestamp() - 6 * seed.AGING
    assert tuple(row) == ("scheduled", "db", 2, "gpu", 6, rank, True, 0)


def test_what_is_below_waits_for_the_last_instance(engine: Engine, replica: Replica) -> None:
    start(engine, replica, [1, 2, 3])
    first, second, third = (attempt.key for attempt in claim_all(engine))

    seed.report(engine, [first, third])
    settle(replica)
    assert instances(engine, "total") == [(-1, "none")]
    assert unfinished(engine) == 2

    seed.report(engine, [second])
    settle(replica)
    assert instances(engine, "total") == [(-1, "scheduled")]
    seed.finish(engine)
    settle(replica)
    assert seed.run_states(engine) == {"success": 1}


def test_one_instance_that_fails_fails_what_is_below(engine: Engine, replica: Replica) -> None:
    start(engine, replica, [1, 2, 3])
    first, *others = (attempt.key for attempt in claim_all(engine))

    seed.report(engine, [first], Outcome.FAILED, FAILED)
    seed.report(engine, others)
    settle(replica)

    assert instances(engine, "total") == [(-1, "upstream_failed")]
    assert seed.run_states(engine) == {"failed": 1}


def test_a_rule_may_take_partial_failure(engine: Engine, replica: Replica) -> None:
    total = replace(TOTAL, trigger_rule=TriggerRule.ALL_DONE)
    start(engine, replica, [1, 2, 3], seed.dag(LIST, EACH, total))
    first, *others = (attempt.key for attempt in claim_all(engine))

    seed.report(engine, [first], Outcome.FAILED, FAILED)
    settle(replica)
    assert instances(engine, "total") == [(-1, "none")]
    seed.report(engine, others)
    settle(replica)

    assert instances(engine, "total") == [(-1, "scheduled")]


def test_nothing_to_map_over_skips_the_task(engine: Engine, replica: Replica) -> None:
    start(engine, replica, [])

    assert instances(engine) == [(-1, "skipped")]
    assert seed.run_states(engine) == {"success": 1}


def test_what_a_skipped_task_would_have_listed_is_nothing(engine: Engine, replica: Replica) -> None:
    """Whatever the trigger rule: it is no failure, and there is nothing to expand over."""
    stubborn = replace(EACH, trigger_rule=TriggerRule.ALL_DONE)
    seed.start_run(engine, seed.dag(LIST, stubborn, TOTAL))
    [claimed] = claim_all(engine)
    seed.report(engine, [claimed.key], Outcome.SKIPPED, Next(TaskState.SKIPPED))
    settle(replica)

    assert instances(engine) == [(-1, "skipped")]
    assert instances(engine, "total") == [(-1, "skipped")]
    assert seed.run_states(engine) == {"success": 1}


@pytest.mark.parametrize(
    ("items", "state", "problem"),
    [
        ([1, 2, 3], "failed", "max_map_length allows 2"),
        (7, "upstream_failed", "has left no 'return_value' to expand it over"),
    ],
    ids=["too many", "no list"],
)
def test_what_cannot_be_expanded_ends_with_the_reason_in_the_journal(
    engine: Engine,
    new_replica: Callable[..., Replica],
    items: JsonValue,
    state: str,
    problem: str,
) -> None:
    start(engine, new_replica(max_map_length=2), items)

    assert instances(engine) == [(-1, state)]
    assert seed.run_states(engine) == {"failed": 1}
    with engine.connect() as conn:
        journal = text("SELECT dag_id, run_id, task_id, details ->> 'problem' FROM event")
        [(dag_id, run_id, task_id, said)] = conn.execute(journal)
    assert (dag_id, run_id, task_id) == ("etl", "scheduled__2024-01-01T00:00:00+00:00", "each")
    assert problem in said


@pytest.mark.parametrize("moved", ["state = 'skipped', ended_at = now()", "map_index = 7"])
def test_what_is_no_placeholder_any_more_is_not_expanded(engine: Engine, moved: str) -> None:
    """The lock on the run keeps that from happening; so does the guard of the statement."""
    seed.start_run(engine, FAN)
    [each] = find(engine, "each")
    with engine.begin() as conn:
        conn.execute(text(f"UPDATE task_instance SET {moved} WHERE id = :id"), {"id": each})
        tasks.expand(conn, {each: 3}, seed.START, seed.AGING)

    assert find(engine, "each") == [each]
    assert "scheduled" not in dict(instances(engine)).values()


def find(engine: Engine, task_id: str) -> list[int]:
    ids = text("SELECT id FROM task_instance WHERE task_id = :task")
    with engine.connect() as conn:
        return list(conn.scalars(ids, {"task": task_id}))


def test_literal_items_are_expanded_when_the_run_starts(engine: Engine, replica: Replica) -> None:
    literal = replace(seed.task("each"), mapped_over=(MapInput(argument="n", length=2),))
    seed.start_run(engine, seed.dag(literal, TOTAL))

    settle(replica)

    assert instances(engine) == [(0, "scheduled"), (1, "scheduled")]


def test_a_task_is_mapped_over_the_instances_of_another(engine: Engine, replica: Replica) -> None:
    again = replace(
        seed.task("again", "each"), mapped_over=(MapInput(argument="x", task_id="each"),)
    )
    start(engine, replica, [1, 2], seed.dag(LIST, EACH, again))
    claimed = claim_all(engine)
    with engine.begin() as conn:
        for attempt in claimed:
            xcoms.push(conn, attempt.key, "return_value", attempt.map_index)
    seed.report(engine, [attempt.key for attempt in claimed])

    settle(replica)

    assert instances(engine, "again") == [(0, "scheduled"), (1, "scheduled")]


def test_a_task_is_mapped_over_outputs_one_after_the_other(
    engine: Engine, replica: Replica
) -> None:
    parts = tuple(MapInput(argument="it", task_id=name) for name in ("list", "each"))
    both = MapInput(argument="it", combined=Combined.CONCAT, parts=parts)
    again = replace(seed.task("again", "each", "list"), mapped_over=(both,))
    start(engine, replica, [1, 2], seed.dag(LIST, EACH, again))
    claimed = claim_all(engine)
    with engine.begin() as conn:
        xcoms.push(conn, claimed[0].key, "return_value", 7)
    seed.report(engine, [attempt.key for attempt in claimed])

    settle(replica)

    assert instances(engine, "again") == [(index, "scheduled") for index in range(3)]


def test_one_instance_that_is_cleared_runs_again_and_is_waited_for(
    engine: Engine, replica: Replica
) -> None:
    run = start(engine, replica, [1, 2, 3])
    seed.report(engine, [attempt.key for attempt in claim_all(engine)])
    clear = text("""
        WITH told AS (SELECT set_config('headway.actor', 'user:test', true))
        UPDATE task_instance SET state = 'none', ended_at = NULL FROM told
         WHERE task_id = 'each' AND map_index = 1
    """)
    with engine.begin() as conn:
        conn.execute(clear)
        wakes.add(conn, [run])
    settle(replica)
    assert instances(engine) == [(0, "success"), (1, "scheduled"), (2, "success")]
    assert instances(engine, "total") == [(-1, "none")]

    seed.finish(engine)
    settle(replica)
    assert instances(engine, "total") == [(-1, "scheduled")]
