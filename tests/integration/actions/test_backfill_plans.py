"""Backfills as they are planned, paused and cancelled: what is stored, and what is left alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, event, text

from headway.actions.backfills.control import (
    CancelledBackfill,
    cancel_backfill,
    progress_of,
    set_backfill_paused,
)
from headway.actions.backfills.create import BackfillRequest, CreatedBackfill, create_backfill, plan
from headway.actions.change import Author
from headway.actions.explain.explain import ExplainRequest, explain
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.mark import Marking, mark_tasks
from headway.db.reads import backfill_views
from headway.db.reads.backfill_views import BackfillProgress
from headway.db.scheduling import queued_runs, runs
from headway.db.users import backfill_plans
from headway.decide.changes.backfill import Way
from headway.decide.changes.clear import Selection
from headway.domain.backfill import Direction, Reprocess
from headway.domain.dag.catchup import Catchup
from headway.domain.dag.spec import DagSpec, MapInput, TimetableSpec
from headway.domain.errors import ConflictError, NotFoundError, RequestError
from headway.domain.hints import Action, act
from headway.domain.states import RunState, TaskState
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.data.refusals import refused
from headway.testing.database.interleaving import (
    in_background,
    just_before,
    wait_until_blocked,
    waiting,
)
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 30 * seed.DAY
ANN = Author("user:ann")
RUN = f"scheduled__{seed.START.isoformat()}"


def day(number: int) -> datetime:
    return seed.START + number * seed.DAY


def ask_for(first: int, last: int, way: Way | None = None, most: int = 9) -> BackfillRequest:
    return BackfillRequest("etl", day(first), day(last), {}, most, way=way or Way())


def backfill(engine: Engine, request: BackfillRequest) -> CreatedBackfill:
    with engine.begin() as conn:
        return create_backfill(conn, request, NOW, ANN.actor)


def progress(engine: Engine, number: int = 1) -> BackfillProgress:
    with engine.connect() as conn:
        return progress_of(conn, number)


def days(engine: Engine, where: str = "true", order: str = "interval_start") -> list[int]:
    """Return the days of the runs of which that is true."""
    found = text(f"SELECT interval_start FROM dag_run WHERE {where} ORDER BY {order}")
    with engine.connect() as conn:
        return [(start - seed.START).days for start in conn.scalars(found)]


def ended(engine: Engine, spec: DagSpec, states: dict[int, RunState]) -> list[int]:
    """Store the DAG with runs of the schedule that have ended so; return their ids."""
    ids = seed.create_runs(engine, seed.store(engine, spec), list(states))
    run_to_the_end(engine, dict(zip(ids, states.values(), strict=True)))
    return ids


def run_to_the_end(engine: Engine, states: dict[int, RunState]) -> None:
    with engine.begin() as conn:
        queued_runs.start(conn, list(states), NOW, seed.AGING)
    for run, state in states.items():
        force(engine, run, work=str(state))
    with engine.begin() as conn:
        runs.settle(conn, {run: (0, state) for run, state in states.items()}, NOW)


@contextmanager
def executed(engine: Engine) -> Iterator[list[str]]:
    """Note what is executed meanwhile."""
    statements: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", note)


def end_all(engine: Engine, state: RunState = RunState.FAILED) -> None:
    """Start what is queued, and end all so."""
    with engine.begin() as conn:
        ids = list(conn.scalars(text("SELECT id FROM dag_run WHERE ended_at IS NULL")))
        queued_runs.start(conn, ids, NOW, seed.AGING)
        runs.settle(conn, dict.fromkeys(ids, (0, state)), NOW)


def runs_in_state(engine: Engine, state: str) -> list[int]:
    with engine.connect() as conn:
        found = text("SELECT id FROM dag_run WHERE state = :state ORDER BY id")
        return list(conn.scalars(found, {"state": state}))


def start(replica: Replica) -> int:
    return start_runs(replica, NOW)


def test_what_would_become_of_each_date_is_told_and_nothing_is_done(engine: Engine) -> None:
    ended(engine, seed.dag(), {1: RunState.SUCCESS, 2: RunState.FAILED})

    with engine.begin() as conn:
        found = plan(conn, ask_for(0, 2, Way(Reprocess.FAILED)), NOW)

    assert [str(date.decision) for date in found] == ["create", "skip", "rerun"]
    assert days(engine) == [1, 2]
    with refused(NotFoundError, "no backfill 1", act(Action.LIST_BACKFILLS)):
        progress(engine)


@pytest.mark.parametrize(
    ("reprocess", "queued"),
    [(Reprocess.NONE, [0]), (Reprocess.FAILED, [0, 2]), (Reprocess.COMPLETED, [0, 1, 2])],
)
def test_runs_that_have_ended_run_again_in_the_run_queue_of_the_backfill(
    engine: Engine, replica: Replica, reprocess: Reprocess, queued: list[int]
) -> None:
    ended(engine, seed.dag(), {1: RunState.SUCCESS, 2: RunState.FAILED})

    made = backfill(engine, ask_for(0, 2, Way(reprocess)))

    assert (made.created, made.rerun, made.existing) == (1, len(queued) - 1, 3 - len(queued))
    assert days(engine, "state = 'queued' AND backfill_id = 1") == queued
    assert (progress(engine).planned, progress(engine).queued) == (len(queued), len(queued))
    assert start(replica) == len(queued)
    with engine.connect() as conn:
        classes = text(
            "SELECT priority_class FROM task_instance WHERE state IN ('none', 'scheduled')"
        )
        assert list(conn.scalars(classes)) == [1] * len(queued)
        decisions = [date.decision for date in backfill_views.dates(conn, 1)]
    assert decisions == ["create", *("rerun" if name in queued else "skip" for name in (1, 2))]


def test_a_run_that_somebody_runs_again_meanwhile_is_not_taken(engine: Engine) -> None:
    ended(engine, seed.dag(), {0: RunState.FAILED, 1: RunState.FAILED})

    def runs_again() -> None:
        with engine.begin() as conn:
            clear_tasks(conn, "etl", RUN, Selection(), Author("user:bob"))

    with (
        just_before(engine, backfill_plans.LOCK_ENDED, runs_again),
        pytest.raises(ConflictError, match="again here: scheduled__2024-01-01T"),
    ):
        backfill(engine, ask_for(0, 1, Way(Reprocess.FAILED)))

    assert days(engine, "state = 'queued' AND backfill_id IS NULL") == [0]
    assert days(engine, "state = 'failed' AND backfill_id IS NULL") == [1]


def test_runs_run_again_all_at_once(engine: Engine) -> None:
    """However many they are, the DAG is not held for long: each costs no more than its event."""
    spec = replace(seed.dag(seed.task("work"), seed.task("more", "work")), max_active_runs=99)
    ended(engine, spec, dict.fromkeys(range(12), RunState.FAILED))
    counts = []
    for last in (1, 11):
        with executed(engine) as statements:
            backfill(engine, ask_for(0, last, Way(Reprocess.FAILED)))
        counts.append(
            len([statement for statement in statements if "INSERT INTO event" not in statement])
        )
        end_all(engine)

    assert counts[0] == counts[1]


@pytest.mark.parametrize("version", ["own", "latest"])
def test_a_run_of_a_version_that_cannot_be_read_is_left_alone(engine: Engine, version: str) -> None:
    ended(engine, seed.dag(), {0: RunState.FAILED})
    seed.store(engine, seed.dag(seed.task("work"), seed.task("more")))
    with engine.begin() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        conn.execute(text("UPDATE dag_version SET serialized = '\\x00' WHERE number = 1"))

    made = backfill(engine, replace(ask_for(0, 1, Way(Reprocess.FAILED)), version=version))

    assert (made.created, made.rerun) == (1, 0)
    with engine.begin() as conn:
        first, second = backfill_views.dates(conn, 1)
    assert (first.decision, second.decision) == ("conflict", "create")
    reason = f"Its run {RUN} has version 1, which cannot be read: These bytes are no serialized DAG"
    assert first.reason.startswith(reason)


def test_runs_that_run_again_have_the_latest_version_if_that_is_asked_for(
    engine: Engine, replica: Replica
) -> None:
    ended(engine, seed.dag(), {0: RunState.FAILED, 1: RunState.FAILED})
    seed.store(engine, seed.dag(seed.task("work"), seed.task("more")))

    backfill(engine, replace(ask_for(0, 1, Way(Reprocess.FAILED)), version="latest"))

    assert start(replica) == 2
    with engine.connect() as conn:
        found = text(
            "SELECT task_id, state, priority_class FROM task_instance ORDER BY dag_run_id, id"
        )
        rows = [tuple(row) for row in conn.execute(found)]
        entries = text("SELECT details FROM event WHERE action = 'run.clear'")
        noted = list(conn.scalars(entries))
    assert rows == [("work", "none", 1), ("more", "none", 1)] * 2
    assert [detail["version"] for detail in noted] == [{"before": 1, "after": 2}] * 2


def test_a_run_that_was_ended_before_it_began_runs_again(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    with engine.begin() as conn:
        end = "UPDATE dag_run SET state = 'failed', started_at = now(), ended_at = now()"
        conn.execute(text(end))

    assert backfill(engine, ask_for(0, 0, Way(Reprocess.FAILED))).rerun == 1
    assert start(replica) == 1


def test_a_run_is_in_the_backfill_that_has_run_it_last(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    backfill(engine, ask_for(0, 1))
    with engine.begin() as conn:
        ids = list(conn.scalars(text("SELECT id FROM dag_run ORDER BY id")))
        queued_runs.start(conn, ids, NOW, seed.AGING)
        runs.settle(conn, dict.fromkeys(ids, (0, RunState.FAILED)), NOW)

    backfill(engine, ask_for(1, 2, Way(Reprocess.FAILED)))

    assert (progress(engine, 1).planned, progress(engine, 1).state) == (1, "failed")
    assert (progress(engine, 2).planned, progress(engine, 2).state) == (2, "running")


@pytest.mark.parametrize("direction", Direction)
def test_runs_start_in_the_order_of_the_plan(
    engine: Engine, replica: Replica, direction: Direction
) -> None:
    ended(engine, seed.dag(), {2: RunState.FAILED})
    backfill(engine, ask_for(0, 4, Way(Reprocess.FAILED, direction), most=1))
    order = []
    for _ in range(5):
        assert start(replica) == 1
        order += days(engine, "state = 'running'")
        with engine.begin() as conn:
            now_running = list(conn.scalars(text("SELECT id FROM dag_run WHERE state = 'running'")))
            runs.settle(conn, dict.fromkeys(now_running, (0, RunState.SUCCESS)), NOW)

    assert order == ([0, 1, 2, 3, 4] if direction == "forward" else [4, 3, 2, 1, 0])


def test_backward_is_refused_where_tasks_depend_on_the_past(engine: Engine) -> None:
    seed.store(engine, seed.dag(replace(seed.task("work"), depends_on_past=True)))

    with pytest.raises(RequestError, match="depends_on_past"):
        backfill(engine, ask_for(0, 1, Way(direction=Direction.BACKWARD)))


def test_a_rollup_is_one_run_for_each_of_its_dates(engine: Engine, replica: Replica) -> None:
    """Neither the schedule nor another backfill runs one of them again, nor stops at it."""
    seed.store(engine, replace(seed.dag(), max_active_runs=1))

    made = backfill(engine, ask_for(0, 6, Way(rollup=3)))

    assert made.created == 3
    with engine.connect() as conn:
        spans = text("SELECT interval_start, interval_end FROM dag_run ORDER BY 1")
        found = [((a - seed.START).days, (b - seed.START).days) for a, b in conn.execute(spans)]
    assert found == [(0, 3), (3, 6), (6, 7)]
    assert create_runs(replica, day(9)) == 1
    assert days(engine, "run_type = 'scheduled'") == [7]
    with engine.begin() as conn:
        again = plan(conn, ask_for(4, 4), NOW)
    assert [str(date.decision) for date in again] == ["conflict"]
    end_all(engine)
    assert backfill(engine, ask_for(0, 5, Way(Reprocess.COMPLETED))).rerun == 2
    assert progress(engine, 2).queued == progress(engine, 2).planned == 2


def test_the_rollups_of_one_dag_leave_the_schedule_of_another_alone(
    engine: Engine, replica: Replica
) -> None:
    for dag_id in ("etl", "other"):
        seed.store(engine, seed.dag(dag_id=dag_id))
    backfill(engine, ask_for(0, 6, Way(rollup=3)))

    create_runs(replica, day(9))

    assert days(engine, "run_type = 'scheduled' AND dag_id = 'etl'") == [7, 8]
    assert days(engine, "run_type = 'scheduled' AND dag_id = 'other'") == [*range(9)]


EXACT = TimetableSpec(name="cron", arguments={"cron": "0 9 * * *", "timezone": "UTC"})


def test_a_rollup_of_exact_times_is_one_run_for_each_of_them(
    engine: Engine, replica: Replica
) -> None:
    """Neither the schedule nor another backfill runs one of them again, nor stops at it."""
    seed.store(engine, replace(seed.dag(), timetable=EXACT, max_active_runs=1))

    assert backfill(engine, ask_for(0, 6, Way(rollup=3))).created == 3

    nine = timedelta(hours=9)
    with engine.connect() as conn:
        spans = text("SELECT interval_start, interval_end FROM dag_run ORDER BY 1")
        found = [tuple(row) for row in conn.execute(spans)]
    pairs = [(0, 2), (3, 5), (6, 6)]
    assert found == [(day(first) + nine, day(last) + nine) for first, last in pairs]
    end_all(engine)
    assert backfill(engine, ask_for(0, 5, Way(Reprocess.COMPLETED))).rerun == 2
    with engine.begin() as conn:
        again = plan(conn, ask_for(4, 7), NOW)
    assert [str(date.decision) for date in again] == ["conflict", "conflict", "skip", "create"]
    assert create_runs(replica, day(9)) == 1
    assert days(engine, "run_type = 'scheduled'") == [7]


def test_exact_times_that_catchup_has_rolled_up_have_a_run(
    engine: Engine, replica: Replica
) -> None:
    rolled = replace(seed.dag(), catchup=True, catchup_mode=Catchup.ROLLUP)
    seed.store(engine, replace(rolled, timetable=EXACT))
    assert create_runs(replica, day(4)) == 1

    with engine.begin() as conn:
        found = plan(conn, ask_for(1, 4), NOW)
    end_all(engine)
    made = backfill(engine, ask_for(0, 3, Way(Reprocess.COMPLETED)))

    assert [str(date.decision) for date in found] == [*["conflict"] * 3, "create"]
    assert (made.created, made.rerun) == (0, 1)


def test_a_rollup_that_is_gone_keeps_no_date_though_another_run_has_its_name(
    engine: Engine, replica: Replica
) -> None:
    seed.store(engine, seed.dag())
    backfill(engine, ask_for(0, 6, Way(rollup=7)))
    with engine.begin() as conn:
        cancel_backfill(conn, 1, ANN)
    backfill(engine, ask_for(0, 0))

    with engine.begin() as conn:
        again = [str(date.decision) for date in plan(conn, ask_for(0, 6), NOW)]
        shown = [date.state for date in backfill_views.dates(conn, 1)]

    assert again == ["conflict", *["create"] * 6]
    assert shown == [None] * 7
    assert create_runs(replica, day(9)) == 1
    assert days(engine, "run_type = 'scheduled'") == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_paused_backfill_starts_nothing_until_it_goes_on(
    engine: Engine, replica: Replica
) -> None:
    version = seed.store(engine, seed.dag())
    backfill(engine, ask_for(0, 3, most=1))
    start(replica)

    with engine.begin() as conn:
        assert set_backfill_paused(conn, 1, ANN, paused=True)
        assert not set_backfill_paused(conn, 1, ANN, paused=True)
        conn.execute(text("UPDATE backfill SET max_active_runs = 9"))

    assert progress(engine).state == "paused"
    with engine.begin() as conn:
        assert queued_runs.lock_starting(conn, NOW, 9, replica.scope) == {}
    seed.create_runs(engine, version, [9])
    assert (start(replica), start(replica)) == (1, 0)
    assert days(engine, "state = 'running'") == [0, 9]
    with engine.begin() as conn:
        assert set_backfill_paused(conn, 1, ANN, paused=False)
    assert start(replica) == 3


def test_nothing_starts_once_a_backfill_is_paused(engine: Engine, replica: Replica) -> None:
    """A pass that is about to start its runs is waited for."""
    seed.store(engine, seed.dag())
    backfill(engine, ask_for(0, 3, most=2))

    def pause() -> None:
        with engine.begin() as conn:
            set_backfill_paused(conn, 1, ANN, paused=True)

    with waiting(engine, pause) as begin:
        start_runs(replica, NOW, begin)

    assert (progress(engine).state, progress(engine).running) == ("paused", 2)


def test_what_the_schedule_has_gone_past_is_recorded_when_its_backfill_is_cancelled(
    engine: Engine, replica: Replica
) -> None:
    """Each interval has a run or a record; those ahead of the schedule are its own again."""
    seed.store(engine, replace(seed.dag(), max_active_runs=16))
    backfill(engine, ask_for(0, 4, Way(rollup=2)))
    assert create_runs(replica, day(8)) == 1

    with engine.begin() as conn:
        assert cancel_backfill(conn, 1, ANN).skipped == 5
    backfill(engine, ask_for(9, 10))
    with engine.begin() as conn:
        assert cancel_backfill(conn, 2, ANN).skipped == 0
    while create_runs(replica, day(12)):
        pass

    assert days(engine) == [5, 6, 7, 8, 9, 10, 11]
    records = text("SELECT first_start, reason FROM skipped_interval ORDER BY schedule_date")
    with engine.begin() as conn:
        found = [(row.first_start, row.reason) for row in conn.execute(records)]
        assert found == [(day(n), "backfill") for n in range(5)]
        wanted = ExplainRequest("etl", f"scheduled__{day(3).isoformat()}", "work")
        why = explain(conn, wanted, replica.settings, NOW)
        again = plan(conn, ask_for(0, 4), NOW)
    assert why.sentence.endswith("and the schedule of etl had skipped them by then.")
    assert f"backfill create etl --date {day(3).isoformat()} --no-wait`" in str(why.change)
    assert {str(date.decision) for date in again} == {"create"}


def clear(engine: Engine, name: str) -> None:
    with engine.begin() as conn:
        clear_tasks(conn, "etl", name, Selection(), ANN)


def test_a_cancelled_backfill_goes_on_with_a_run_that_is_cleared_and_is_cancelled_again(
    engine: Engine, replica: Replica
) -> None:
    seed.store(engine, seed.dag())
    backfill(engine, ask_for(0, 1, most=1))
    start(replica)
    with engine.begin() as conn:
        cancel_backfill(conn, 1, ANN)
    end_all(engine)
    assert progress(engine).state == "cancelled"

    clear(engine, f"backfill__{seed.START.isoformat()}")

    assert (start(replica), progress(engine).state) == (1, "running")
    with engine.begin() as conn:
        assert set_backfill_paused(conn, 1, ANN, paused=True)
    with engine.begin() as conn:
        assert cancel_backfill(conn, 1, ANN).ended == 1
    end_all(engine)
    assert progress(engine).state == "cancelled"


@pytest.mark.parametrize("over", ["cancelled", "ended", "running"])
@pytest.mark.parametrize("how", ["clear", "mark"])
def test_a_run_of_the_schedule_leaves_a_backfill_that_is_over_when_it_runs_once_more(
    engine: Engine, over: str, how: str
) -> None:
    ended(engine, seed.dag(), dict.fromkeys((0, 1), RunState.FAILED))
    request = replace(ask_for(0, 1, Way(Reprocess.FAILED)), idle_only=True, max_active_runs=1)
    backfill(engine, request)
    if over == "cancelled":
        with engine.begin() as conn:
            cancel_backfill(conn, 1, ANN)
    else:
        run_to_the_end(engine, dict.fromkeys([1, 2][: 1 + (over == "ended")], RunState.FAILED))

    if how == "clear":
        clear(engine, RUN)
    else:
        with engine.begin() as conn:
            mark_tasks(conn, "etl", RUN, Marking(["work"], TaskState.SUCCESS), ANN)

    with engine.connect() as conn:
        its = text("""
            SELECT backfill_id, priority_class
              FROM dag_run AS run JOIN task_instance AS task ON task.dag_run_id = run.id
             WHERE run.id = 1 AND run.state = 'queued'
        """)
        where = [tuple(row) for row in conn.execute(its)]
    assert where == [(1, 2) if over == "running" else (None, 0)]
    assert progress(engine).planned == (2 if over == "running" else 1)


def test_cancelled_what_has_not_begun_is_gone_and_the_rest_ends(
    engine: Engine, replica: Replica
) -> None:
    ended(engine, seed.dag(), {3: RunState.FAILED})
    backfill(engine, ask_for(0, 3, Way(Reprocess.FAILED), most=1))
    start(replica)
    with engine.begin() as conn:
        set_backfill_paused(conn, 1, ANN, paused=True)

    with engine.begin() as conn:
        done = cancel_backfill(conn, 1, Author("user:ann", "enough"))

    assert (done.dropped, done.ended) == (2, 2)
    assert days(engine) == [0, 3]
    found = progress(engine)
    assert (found.planned, found.state, found.paused) == (2, "cancelling", False)
    assert days(engine, "state = 'failed'") == [3]
    with engine.connect() as conn:
        actions = list(conn.scalars(text("SELECT action FROM event ORDER BY id")))
    assert actions[-3:] == ["backfill.cancel", "run.cancel", "run.cancel"]
    with pytest.raises(ConflictError, match="Backfill 1 is cancelling"), engine.begin() as conn:
        cancel_backfill(conn, 1, ANN)
    assert backfill(engine, ask_for(1, 2)).created == 2


@pytest.mark.regression
def test_a_backfill_is_cancelled_beside_a_run_of_it_that_ends(
    engine: Engine, replica: Replica
) -> None:
    """The cancellation waits for the scheduler, and then finds one run less to end."""
    seed.store(engine, seed.dag())
    backfill(engine, ask_for(0, 3, most=2))
    start(replica)
    ending = runs_in_state(engine, "running")[0]

    def cancel() -> CancelledBackfill:
        with engine.begin() as conn:
            return cancel_backfill(conn, 1, ANN)

    with engine.connect() as scheduler:
        runs.settle(scheduler, {ending: (0, RunState.SUCCESS)}, NOW)
        with in_background(cancel) as cancelling:
            wait_until_blocked(engine)
            scheduler.commit()
            done = cancelling.result()

    assert (done.dropped, done.ended) == (2, 1)
    assert days(engine, "state = 'success'") == [0]
    assert progress(engine).state == "cancelling"


def test_the_instances_of_mapped_tasks_are_counted_as_soon_as_they_are_there(
    engine: Engine, replica: Replica
) -> None:
    over = (MapInput(argument="n", length=5),)
    seed.store(engine, seed.dag(replace(seed.task("each"), mapped_over=over)))
    backfill(engine, ask_for(0, 1, most=1))
    assert progress(engine).tasks == 2

    start_runs(replica, NOW)
    schedule_tasks(replica, NOW)
    seed.finish(engine)

    assert (progress(engine).tasks, progress(engine).tasks_ended) == (6, 5)


def test_the_latest_backfills_are_listed_without_a_count_of_their_tasks(engine: Engine) -> None:
    for dag_id in ("etl", "other"):
        seed.store(engine, seed.dag(dag_id=dag_id))
    requests = [ask_for(0, 0), ask_for(1, 2), replace(ask_for(0, 1), dag_id="other")]
    assert [backfill(engine, request).id for request in requests] == [1, 2, 3]

    with engine.connect() as conn:
        found = backfill_views.latest(conn, 2)
        assert [
            (
                backfill_progress.id,
                backfill_progress.queued,
                backfill_progress.state,
                backfill_progress.tasks,
            )
            for backfill_progress in found
        ] == [
            (2, 2, "running", 0),
            (3, 2, "running", 0),
        ]
        assert [
            backfill_progress.id for backfill_progress in backfill_views.latest(conn, 9, "etl")
        ] == [1, 2]
