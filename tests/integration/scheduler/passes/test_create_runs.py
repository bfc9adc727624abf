"""The pass that creates runs: which, how many, and never one twice."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.db.scheduling import dags
from headway.db.users import dag_changes
from headway.domain.dag.spec import DagSpec, TimetableSpec
from headway.testing.data import seed
from headway.testing.database.interleaving import just_before
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.replica.replica import Replica

DAY_5 = seed.START + 5 * seed.DAY


def create(replica: Replica, day: float = 5) -> int:
    """Run the pass as of so many days after the start."""
    return create_runs(replica, seed.START + day * seed.DAY)


def days(engine: Engine, dag_id: str = "etl", kind: str = "scheduled") -> list[int]:
    """Return the days after the start that have a run of that kind."""
    starts = text("""
        SELECT interval_start FROM dag_run WHERE dag_id = :dag AND run_type = :kind
         ORDER BY schedule_date
    """)
    with engine.connect() as conn:
        found = conn.scalars(starts, {"dag": dag_id, "kind": kind})
        return [(start - seed.START).days for start in found]


def backfill(engine: Engine, first: int, last: int) -> None:
    request = BackfillRequest(
        "etl", seed.START + first * seed.DAY, seed.START + last * seed.DAY, conf={}
    )
    with engine.begin() as conn:
        create_backfill(conn, request, DAY_5 + 5 * seed.DAY, "user:test")


def end_runs(engine: Engine, most: int) -> None:
    """End the oldest runs that have not ended."""
    end = text("""
        UPDATE dag_run SET state = 'success', started_at = now(), ended_at = now()
         WHERE id IN (SELECT id FROM dag_run WHERE ended_at IS NULL ORDER BY id LIMIT :most)
    """)
    with engine.begin() as conn:
        conn.execute(end, {"most": most})


def test_catchup_creates_every_interval_that_is_over(engine: Engine, replica: Replica) -> None:
    seed.store(engine, seed.dag())

    assert create(replica, day=3.5) == 1

    assert days(engine) == [0, 1, 2]
    with engine.connect() as conn:
        run = conn.execute(text("SELECT * FROM dag_run ORDER BY schedule_date")).first()
        planned = conn.execute(text("SELECT * FROM dag")).one()
    assert run is not None
    assert (run.run_id, run.state) == ("scheduled__2024-01-01T00:00:00+00:00", "queued")
    assert run.schedule_date == run.run_after == run.interval_end == seed.START + seed.DAY
    assert planned.planned_version_id == planned.version_id == run.version_id
    assert planned.next_run_after == planned.next_interval_end == seed.START + 4 * seed.DAY
    assert planned.next_interval_start == seed.START + 3 * seed.DAY


def test_a_dag_that_is_planned_is_left_alone_until_it_is_due(
    engine: Engine, replica: Replica
) -> None:
    seed.store(engine, seed.dag())

    assert [create(replica, day) for day in (0.5, 0.9, 1, 1.5, 2)] == [1, 0, 1, 0, 1]
    assert days(engine) == [0, 1]


def test_no_more_runs_are_created_than_may_be_active(engine: Engine, replica: Replica) -> None:
    seed.store(engine, replace(seed.dag(), max_active_runs=2))

    assert create(replica) == 1
    assert create(replica) == 0
    assert days(engine) == [0, 1]

    end_runs(engine, most=1)
    assert create(replica) == 1
    assert days(engine) == [0, 1, 2]

    end_runs(engine, most=2)
    assert create(replica) == 1
    assert days(engine) == [0, 1, 2, 3, 4]


def test_runs_by_hand_and_of_backfills_take_no_room(engine: Engine, replica: Replica) -> None:
    seed.store(engine, replace(seed.dag(), max_active_runs=1))
    backfill(engine, 3, 4)

    create(replica)

    assert days(engine) == [0]


@pytest.mark.parametrize("change", ["paused = true", "active = false", "version_id = NULL"])
def test_a_dag_that_is_not_scheduled_gets_no_run(
    engine: Engine, replica: Replica, change: str
) -> None:
    seed.store(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(text(f"UPDATE dag SET {change}"))

    assert create(replica) == 0
    assert days(engine) == []


def test_a_dag_that_was_unpaused_is_planned_anew(engine: Engine, replica: Replica) -> None:
    seed.store(engine, replace(seed.dag(), catchup=False))
    create(replica, day=1)
    for paused in (True, False):
        with engine.begin() as conn:
            dag_changes.set_paused(conn, "etl", paused=paused)

    assert create(replica, day=1.5) == 1
    assert create(replica, day=1.5) == 0


def test_a_new_version_is_planned_at_once_and_its_runs_are_of_it(
    engine: Engine, replica: Replica
) -> None:
    seed.store(engine, seed.dag())
    create(replica, day=1)
    hourly = TimetableSpec(name="delta", arguments={"delta": 3600.0, "interval": None})
    second = seed.store(engine, replace(seed.dag(), timetable=hourly))

    assert create(replica, day=1) == 1

    with engine.connect() as conn:
        due = conn.execute(text("SELECT next_run_after, planned_version_id FROM dag")).one()
        assert due == (seed.START + seed.DAY + timedelta(hours=1), second)
        create(replica, day=1.5)
        later = text("SELECT DISTINCT version_id FROM dag_run WHERE schedule_date > :first")
        assert list(conn.scalars(later, {"first": seed.START + seed.DAY})) == [second]


def test_the_longest_overdue_come_first(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    for dag_id, due in (("b", 2), ("a", 3), ("c", 1)):
        seed.store(engine, replace(seed.dag(dag_id=dag_id), start_date=seed.START + due * seed.DAY))
    create(replica, day=0)

    one_at_a_time = new_replica(max_dagruns_to_create_per_loop=1)
    for _ in range(3):
        assert create(one_at_a_time, day=9) == 1

    with engine.connect() as conn:
        order = list(conn.scalars(text("SELECT DISTINCT ON (dag_id) dag_id FROM dag_run")))
        ids = conn.execute(text("SELECT dag_id FROM dag_run GROUP BY 1 ORDER BY min(id)"))
        assert (len(order), list(ids.scalars())) == (3, ["c", "b", "a"])


@pytest.mark.regression
def test_the_latest_and_the_longest_overdue_have_their_turns(
    engine: Engine, replica: Replica
) -> None:
    """Should a pass not get through all of them, neither half is left for the next one."""
    for day, dag_id in enumerate("abcd", 1):
        seed.store(engine, replace(seed.dag(dag_id=dag_id), start_date=seed.START + day * seed.DAY))
    create(replica, day=0)

    with engine.begin() as conn:
        found = dags.lock_due(conn, seed.START + 9 * seed.DAY, 4)

    assert [dag.dag_id for dag in found] == ["d", "a", "c", "b"]


@pytest.mark.parametrize("readable", ["a", "d"])
@pytest.mark.parametrize("planned", [True, False])
def test_dags_that_this_scheduler_cannot_read_are_left_to_another(
    engine: Engine, replica: Replica, planned: bool, readable: str
) -> None:
    versions = {dag_id: seed.store(engine, seed.dag(dag_id=dag_id)) for dag_id in "abcd"}
    if planned:
        create(replica, day=0)
    others = [version for dag_id, version in versions.items() if dag_id != readable]

    with engine.begin() as conn:
        found = dags.lock_due(conn, DAY_5, 2, others)

    assert [dag.dag_id for dag in found] == [readable]


def test_dags_without_room_do_not_fill_the_batch(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    one_at_a_time = new_replica(max_dagruns_to_create_per_loop=1)
    for dag_id in ("a", "b"):
        seed.store(engine, replace(seed.dag(dag_id=dag_id), max_active_runs=1))
        create(one_at_a_time)
    later = seed.START + 2 * seed.DAY
    seed.store(engine, replace(seed.dag(dag_id="z"), start_date=later))
    create(one_at_a_time, day=2)

    assert create(one_at_a_time) == 1
    assert days(engine, "z") == [2, 3, 4]


def test_two_schedulers_create_nothing_twice(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    """The other one runs when the first has written, and has not committed."""
    seed.store(engine, seed.dag(dag_id="one"))
    seed.store(engine, seed.dag(dag_id="two"))
    one_at_a_time, other = new_replica(max_dagruns_to_create_per_loop=1), new_replica()
    planned: list[int] = []

    mine = create_runs(one_at_a_time, DAY_5, lambda: planned.append(create(other)))

    assert (mine, planned) == (1, [1])
    assert days(engine, "one") == days(engine, "two") == [0, 1, 2, 3, 4]


def test_runs_are_counted_after_the_dag_is_locked(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    """Another scheduler creates them just before this one gets its lock."""
    seed.store(engine, replace(seed.dag(), max_active_runs=2))
    other = new_replica()

    with just_before(engine, dags.LOCK_DUE, lambda: create(other)):
        create(replica)

    assert days(engine) == [0, 1]


def test_an_interval_of_a_backfill_is_not_run_again(engine: Engine, replica: Replica) -> None:
    seed.store(engine, seed.dag())
    backfill(engine, 1, 2)

    create(replica)

    assert days(engine) == [0, 3, 4]
    assert days(engine, kind="backfill") == [1, 2]


@pytest.mark.parametrize("most", [1, 2])
def test_a_backfill_does_not_bring_the_schedule_to_a_halt(
    engine: Engine, replica: Replica, most: int
) -> None:
    """It holds more of the intervals that are due than the DAG may have active runs."""
    seed.store(engine, replace(seed.dag(), max_active_runs=most))
    backfill(engine, 0, 3)

    for _ in range(10):
        if not create(replica):
            break
    else:
        pytest.fail("the scheduler plans the same DAG again and again")

    assert days(engine) == [4]


@pytest.mark.parametrize(
    "timetable",
    [
        TimetableSpec(name="unknown"),
        TimetableSpec(name="delta", arguments={"delta": "soon"}),
        TimetableSpec(name="delta", arguments={"delta": -1.0, "interval": None}),
    ],
)
def test_a_dag_whose_timetable_fails_does_not_stop_the_others(
    engine: Engine, replica: Replica, timetable: TimetableSpec
) -> None:
    seed.store(engine, replace(seed.dag(dag_id="broken"), timetable=timetable))
    seed.store(engine, seed.dag(dag_id="whole"))

    assert create(replica) == 1
    assert create(replica) == 0

    assert days(engine, "broken") == []
    assert days(engine, "whole") == [0, 1, 2, 3, 4]
    with engine.connect() as conn:
        planned = conn.scalar(text("SELECT planned_version_id FROM dag WHERE dag_id = 'broken'"))
    assert planned is None, "it is left to a scheduler that knows the timetable"


def test_a_dag_at_the_end_of_the_calendar_does_not_stop_the_others(
    engine: Engine, replica: Replica
) -> None:
    last = seed.START.replace(year=9999, month=12, day=31)
    seed.store(engine, replace(seed.dag(dag_id="late"), start_date=last))
    seed.store(engine, seed.dag(dag_id="whole"))

    create(replica)

    assert days(engine, "whole") == [0, 1, 2, 3, 4]


def damage(engine: Engine, spec: DagSpec) -> None:
    """Have it that another release has stored the DAG's version."""
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE dag_version SET serialized = 'other' WHERE dag_id = :dag"),
            {"dag": spec.dag_id},
        )


def test_a_version_that_cannot_be_read_does_not_stop_the_others(
    engine: Engine, replica: Replica
) -> None:
    other_release, whole = seed.dag(dag_id="other"), seed.dag(dag_id="whole")
    seed.store(engine, other_release)
    seed.store(engine, whole)
    damage(engine, other_release)

    create(replica)

    assert days(engine, "whole") == [0, 1, 2, 3, 4]
