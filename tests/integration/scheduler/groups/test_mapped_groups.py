"""Mapped groups in runs of a real database: expanded, and decided about by map index."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import Engine, TextClause, event, text
from tests.integration.scheduler.groups.grouped_runs import (
    FAILED,
    SKIPPED,
    SPEC,
    claim,
    dag,
    end,
    go_on,
    inside,
    settle,
    start,
    states,
)

from headway.db.execution import xcoms
from headway.db.scheduling import run_snapshots, runs, tasks, wakes
from headway.testing.data import seed
from headway.testing.database.interleaving import just_before
from headway.testing.database.invariants import violations
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.replica.replica import Replica


def unfinished(engine: Engine) -> int | None:
    with engine.connect() as conn:
        found: int | None = conn.scalar(text("SELECT unfinished FROM dag_run"))
    return found


def test_all_tasks_of_the_group_have_their_instances_at_once(
    engine: Engine, replica: Replica
) -> None:
    start(engine, replica, [7, 8])

    assert states(engine) == {
        "list": "success",
        "a0": "scheduled",
        "a1": "scheduled",
        **{f"{name}{index}": "none" for name in "bcd" for index in (0, 1)},
        "last": "none",
        "report": "none",
    }
    assert unfinished(engine) == 10
    with engine.connect() as conn:
        waits = "SELECT task_id, up_total FROM task_instance WHERE state = 'none' ORDER BY id"
        found = [tuple(row) for row in conn.execute(text(waits))]
    assert sorted(found) == sorted(
        [(name, 1) for name in "bcd" for _ in range(2)] + [("last", 4), ("report", 2)]
    )


def test_an_instance_goes_on_when_the_one_before_it_has_ended(
    engine: Engine, replica: Replica
) -> None:
    start(engine, replica, [7, 8, 9])
    running = claim(engine)

    end(engine, running["a1"])
    settle(replica)
    assert states(engine, "b") == {"b0": "none", "b1": "scheduled", "b2": "none"}
    end(engine, running["a0"], FAILED)
    end(engine, running["a2"], SKIPPED)
    settle(replica)

    assert states(engine, "b", "c", "d") == {
        "b0": "upstream_failed",
        "b1": "scheduled",
        "b2": "skipped",
        "c0": "upstream_failed",
        "c1": "none",
        "c2": "skipped",
        "d0": "scheduled",
        "d1": "none",
        "d2": "scheduled",
    }
    assert states(engine, "last", "report") == {"last": "upstream_failed", "report": "none"}


def test_what_is_outside_waits_for_all_instances(engine: Engine, replica: Replica) -> None:
    start(engine, replica, [7, 8])
    go_on(engine, replica)

    assert set(states(engine).values()) == {"success"}
    assert seed.run_states(engine) == {"success": 1}
    assert violations(engine) == []


@pytest.mark.parametrize("items", [[], {}])
def test_no_items_skip_the_tasks_of_the_group(
    engine: Engine, replica: Replica, items: Sequence[object]
) -> None:
    start(engine, replica, items)

    assert states(engine, "a", "b", "c", "d") == dict.fromkeys("abcd", "skipped")
    assert states(engine, "last", "report") == {"last": "skipped", "report": "scheduled"}


def test_too_many_items_fail_the_group(engine: Engine, new_replica: Callable[..., Replica]) -> None:
    start(engine, new_replica(max_map_length=2), [1, 2, 3])

    assert states(engine, "a", "b") == {"a": "failed", "b": "upstream_failed"}
    with engine.connect() as conn:
        problem = conn.scalar(text("SELECT details ->> 'problem' FROM event WHERE task_id = 'a'"))
    assert "which makes 3 instances; max_map_length allows 2" in problem


def test_a_choice_counts_for_its_own_map_index(engine: Engine, replica: Replica) -> None:
    start(engine, replica, [7, 8])
    running = claim(engine)

    end(engine, running["a1"], seed.SUCCESS, "b", "report")
    settle(replica)
    end(engine, running["a0"])
    settle(replica)

    assert states(engine, "b", "c") == {
        "b0": "scheduled",
        "b1": "skipped",
        "c0": "none",
        "c1": "skipped",
    }
    assert states(engine, "report") == {"report": "none"}, "it is outside of the group"
    with engine.begin() as conn:
        wakes.add(conn, [1])
    settle(replica)
    assert states(engine, "report") == {"report": "none"}


def test_a_choice_skips_an_instance_of_a_task_that_had_no_instances_yet(
    engine: Engine, replica: Replica
) -> None:
    """The task waits for one outside of the group, which waits for the choices of all."""
    spec = dag(
        seed.task("list"),
        inside("chooses", "list"),
        seed.task("outside", "chooses"),
        inside("c", "list", "outside"),
        inside("below", "c"),
    )
    start(engine, replica, [7, 8], spec)
    running = claim(engine)
    assert states(engine, "c") == {"c": "none"}

    end(engine, running["chooses1"], seed.SUCCESS, "c")
    settle(replica)
    assert states(engine, "c", "below") == {
        "below0": "none",
        "below1": "skipped",
        "c0": "none",
        "c1": "skipped",
    }
    end(engine, running["chooses0"])
    settle(replica)
    go_on(engine, replica)

    assert states(engine, "c", "below") == {
        "below0": "success",
        "below1": "skipped",
        "c0": "success",
        "c1": "skipped",
    }
    assert seed.run_states(engine) == {"success": 1}
    assert violations(engine) == []


def statements(engine: Engine, work: Callable[[], None]) -> list[str]:
    said: list[str] = []

    def note(*arguments: Any) -> None:
        said.append(arguments[2])

    event.listen(engine, "before_cursor_execute", note)
    work()
    event.remove(engine, "before_cursor_execute", note)
    return said


def test_instances_are_advanced_by_counts_also_where_some_never_run(
    engine: Engine, replica: Replica
) -> None:
    """A whole look at each of them would take the square of their number."""
    start(engine, replica, range(4), dag(*(it for it in SPEC.tasks if it.task_id != "last")))
    running = claim(engine)

    def work() -> None:
        end(engine, running["a0"], FAILED)
        end(engine, running["a1"], SKIPPED)
        end(engine, running["a2"], seed.SUCCESS, "b")
        settle(replica)

    assert not any("undecided" in said for said in statements(engine, work))
    assert states(engine, "b") == {
        "b0": "upstream_failed",
        "b1": "skipped",
        "b2": "skipped",
        "b3": "none",
    }
    assert unfinished(engine) == 17 - 3 * 3, "three of a, of b and of c have ended"


def test_a_run_without_mapped_groups_needs_no_statement_for_them(
    engine: Engine, replica: Replica
) -> None:
    seed.start_run(engine, seed.dag(seed.task("one"), seed.task("two", "one")))
    settle(replica)
    [claimed] = claim(engine).values()
    end(engine, claimed)

    said = statements(engine, lambda: settle(replica))

    assert any("DELETE FROM wake" in each for each in said)
    assert not any("it.map_index" in each or "task_instance_id\n" in each for each in said)


EACH = [run_snapshots.LOCK_WOKEN, wakes.TAKE_EACH, run_snapshots.BELOW_BY_INDEX, runs.SETTLE]


@pytest.mark.parametrize("statement", EACH, ids=["lock", "take", "below", "settle"])
def test_a_report_while_facts_are_counted_is_not_lost(
    engine: Engine, replica: Replica, statement: TextClause
) -> None:
    start(engine, replica, [7, 8])
    running = claim(engine)
    end(engine, running["a0"])

    with just_before(engine, statement, lambda: end(engine, running["a1"])):
        schedule_tasks(replica, seed.START)
    settle(replica)

    assert states(engine, "b") == {"b0": "scheduled", "b1": "scheduled"}
    assert unfinished(engine) == 8


@pytest.mark.parametrize("statement", [run_snapshots.WHOLE, tasks.GROW, runs.SETTLE])
def test_two_schedulers_make_the_instances_once(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica], statement: TextClause
) -> None:
    other = new_replica()
    seed.start_run(engine, SPEC)
    settle(replica)
    first = claim(engine)["list"]
    with engine.begin() as conn:
        assert xcoms.push(conn, first.key, "return_value", [7, 8])
    end(engine, first)

    with just_before(engine, statement, lambda: settle(other)):
        schedule_tasks(replica, seed.START)
    settle(other)

    assert states(engine, "a", "b") == {
        "a0": "scheduled",
        "a1": "scheduled",
        "b0": "none",
        "b1": "none",
    }
    go_on(engine, other)
    assert seed.run_states(engine) == {"success": 1}


@pytest.mark.parametrize("change", ["state = 'running'", "map_index = 3"])
def test_what_is_no_placeholder_any_more_does_not_grow(engine: Engine, change: str) -> None:
    seed.start_run(engine, SPEC)
    with engine.begin() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        conn.execute(text(f"UPDATE task_instance SET {change} WHERE task_id = 'b'"))
        [number] = conn.scalars(text("SELECT id FROM task_instance WHERE task_id = 'b'"))

        assert tasks.grow(conn, {number: 5}) == 0
        assert conn.scalar(text("SELECT count(*) FROM task_instance WHERE task_id = 'b'")) == 1


def test_the_instances_of_the_group_are_alike_in_all_that_decides_their_place(
    engine: Engine, replica: Replica
) -> None:
    b = inside("b", "a", pool="db", pool_slots=2, queue="gpu", max_active_tis_per_dagrun=1)
    start(engine, replica, [7, 8, 9], dag(*SPEC.tasks[:2], b))

    with engine.connect() as conn:
        columns = text("""
            SELECT DISTINCT state, pool, pool_slots, queue, limited, attempt, up_total
              FROM task_instance WHERE task_id = 'b'
        """)
        [row] = conn.execute(columns)
    assert tuple(row) == ("none", "db", 2, "gpu", True, 0, 1)


def test_no_counts_are_kept_on_what_is_looked_at_as_a_whole_each_time(
    engine: Engine, replica: Replica
) -> None:
    """With a setup no counts are asked for: every look would write them on all that waits."""
    spec = dag(seed.task("list"), inside("make", "list", is_setup=True), inside("use", "make"))
    start(engine, replica, [7, 8, 9], spec)
    running = claim(engine)
    end(engine, running["make0"])
    written: list[int] = []

    def note(*executed: Any) -> None:
        if "SET up_total" in executed[2]:
            written.append(executed[1].rowcount)

    event.listen(engine, "after_cursor_execute", note)
    settle(replica)
    event.remove(engine, "after_cursor_execute", note)

    assert states(engine, "use") == {"use0": "scheduled", "use1": "none", "use2": "none"}
    assert written == []
