"""What the pass makes of runs that were missed, or that overlap, and what it records of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.actions.change import Author
from headway.actions.explain.explain import ExplainRequest, explain
from headway.actions.runs.delete import delete_run
from headway.db.access.logins import Login
from headway.db.core.notices import NoticeSender
from headway.db.parsing import dag_registration
from headway.db.parsing.dag_registration import DagEntry
from headway.db.reads.explain import run_state
from headway.db.scheduling import runs, schedulers, tasks
from headway.db.users import backfill_plans, dag_changes
from headway.decide.changes.backfill import Way
from headway.decide.explain.explanation import Reason
from headway.domain.arguments import JsonValue
from headway.domain.backfill import Reprocess
from headway.domain.dag.catchup import Catchup, Overlap
from headway.domain.dag.spec import DagSpec, TimetableSpec
from headway.domain.interval import DataInterval
from headway.domain.states import Outcome, RunType
from headway.metrics.scheduler import RUNS_ENDED
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.database.interleaving import just_before
from headway.testing.database.logins import logged_in
from headway.testing.metrics.metrics import value
from headway.testing.time.clock import FakeClock, SetClock
from headway.timetables.base import DagRunInfo
from headway_scheduler.jobs.scheduler_job import SchedulerJob
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica


def at(day: float) -> datetime:
    return seed.START + day * seed.DAY


def dag(catchup: Catchup = Catchup.ALL, **changes: Any) -> DagSpec:
    """Return a daily DAG with that catchup, which began on the first day."""
    mode = catchup if catchup in {Catchup.LATEST, Catchup.ROLLUP} else None
    flag = catchup in {Catchup.ALL, Catchup.ROLLUP}
    return replace(seed.dag(), catchup=flag, catchup_mode=mode, **changes)


def store(engine: Engine, spec: DagSpec, since: float = 0) -> None:
    """Store a DAG as of that day."""
    seed.store(engine, spec)
    scheduled_since(engine, since)


def scheduled_since(engine: Engine, day: float) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET scheduled_since = :at"), {"at": at(day)})


def create(replica: Replica, day: float) -> int:
    """Run the pass until it finds nothing more to do; return how often it planned."""
    for times in range(50):
        if not create_runs(replica, at(day)):
            return times
    raise AssertionError("the scheduler plans the same DAG again and again")


def spans(engine: Engine) -> list[tuple[int, int]]:
    """Return the days that each run is about, from the first to where the last ends."""
    found = text("SELECT interval_start, interval_end FROM dag_run ORDER BY schedule_date")
    with engine.connect() as conn:
        return [tuple((moment - seed.START).days for moment in row) for row in conn.execute(found)]


def records(engine: Engine, dag_id: str = "%") -> list[tuple[int, int, str, str | None]]:
    """Return what has no run of its own: from which day to which, why, and what covers it."""
    found = text("""
        SELECT first_start, skipped_interval.interval_end, reason, run_id
          FROM skipped_interval LEFT JOIN dag_run ON dag_run.id = dag_run_id
         WHERE skipped_interval.dag_id LIKE :dag_id
         ORDER BY skipped_interval.schedule_date
    """)
    with engine.connect() as conn:
        return [
            ((row[0] - seed.START).days, (row[1] - seed.START).days, row[2], row[3])
            for row in conn.execute(found, {"dag_id": dag_id})
        ]


def journal(engine: Engine) -> list[tuple[str, str | None, dict[str, Any]]]:
    with engine.connect() as conn:
        rows = conn.execute(text("SELECT action, run_id, details FROM event ORDER BY id"))
        return [(row.action, row.run_id, row.details) for row in rows]


def end_runs(engine: Engine) -> None:
    """End whatever has not ended."""
    end = text("""
        UPDATE dag_run SET state = 'success', started_at = now(), ended_at = now()
         WHERE ended_at IS NULL
    """)
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE dag_run SET state = 'running', started_at = now() WHERE state = 'queued'")
        )
        conn.execute(end)


def told(engine: Engine, replica: Replica, day: int) -> tuple[Reason, str]:
    run_id = f"scheduled__{at(day).isoformat()}"
    with engine.begin() as conn:
        found = explain(conn, ExplainRequest("etl", run_id, "work"), replica.settings, at(40))
    return found.reason, found.sentence


def run_id(day: int) -> str:
    return f"scheduled__{at(day).isoformat()}"


@pytest.mark.parametrize(
    ("catchup", "expected", "recorded"),
    [
        (Catchup.NONE, [], [(0, 4, "catchup", None)]),
        (Catchup.LATEST, [(3, 4)], [(0, 3, "catchup", None)]),
        (Catchup.ALL, [(0, 1), (1, 2), (2, 3), (3, 4)], []),
        (Catchup.ROLLUP, [(0, 4)], [(0, 4, "rollup", run_id(0))]),
    ],
)
def test_a_new_dag(
    engine: Engine,
    replica: Replica,
    catchup: Catchup,
    expected: list[tuple[int, int]],
    recorded: list[tuple[int, int, str, str | None]],
) -> None:
    store(engine, dag(catchup), since=4.5)

    create(replica, 4.5)

    assert (spans(engine), records(engine)) == (expected, recorded)
    create(replica, 6.5)
    assert (spans(engine), records(engine)) == ([*expected, (4, 5), (5, 6)], recorded)


@pytest.mark.parametrize("catchup", Catchup)
def test_what_was_decided_is_not_decided_again(
    engine: Engine, replica: Replica, catchup: Catchup
) -> None:
    """Neither with a new version of the same schedule, nor when the DAG is unpaused at once."""
    store(engine, dag(catchup), since=4.5)
    create(replica, 4.5)
    before = spans(engine), records(engine), journal(engine)

    store(engine, dag(catchup, description="new"), since=4.6)
    assert create(replica, 4.7) == 1

    assert (spans(engine), records(engine), journal(engine)) == before


@pytest.mark.parametrize(
    ("catchup", "later"),
    [
        (Catchup.NONE, []),
        (Catchup.LATEST, [(30, 31)]),
        (Catchup.ALL, [(n, n + 1) for n in range(1, 31)]),
        (Catchup.ROLLUP, [(1, 31)]),
    ],
)
def test_a_dag_that_was_paused_for_a_month(
    engine: Engine, replica: Replica, catchup: Catchup, later: list[tuple[int, int]]
) -> None:
    store(engine, dag(catchup, max_active_runs=100))
    create(replica, 1)
    with engine.begin() as conn:
        dag_changes.set_paused(conn, "etl", paused=True)
    assert create(replica, 31.5) == 0
    with engine.begin() as conn:
        dag_changes.set_paused(conn, "etl", paused=False)
    create(replica, 31.5)

    assert spans(engine) == [(0, 1), *later]
    scheduled_since(engine, 31.5)
    create(replica, 32)
    assert spans(engine) == [(0, 1), *later, (31, 32)]


def test_pausing_ends_the_schedule_and_unpausing_begins_it_anew(engine: Engine) -> None:
    store(engine, dag())
    since = text("SELECT scheduled_since FROM dag")
    for paused, anew in ((True, False), (False, True)):
        with engine.begin() as conn:
            dag_changes.set_paused(conn, "etl", paused=paused)
            assert (conn.scalar(since) != at(0)) == anew


def test_a_dag_whose_file_defines_it_again_is_as_new(engine: Engine) -> None:
    spec = dag()
    store(engine, spec)
    since = text("SELECT scheduled_since FROM dag")
    for active, anew in ((True, False), (False, True)):
        with engine.begin() as conn:
            conn.execute(text("UPDATE dag SET active = :active"), {"active": active})
            dag_registration.enter(conn, [DagEntry("main", spec.relative_path, spec)], paused=False)
            assert (conn.scalar(since) != at(0)) == anew


def begins_anew(engine: Engine, seen: timedelta, threshold: float = 15) -> bool:
    """Tell whether the uptime begins anew when nobody was seen for so long."""
    with engine.begin() as conn:
        schedulers.extend_uptime(conn, threshold)
        conn.execute(
            text("UPDATE scheduler_uptime SET since = :at, seen_at = clock_timestamp() - :seen"),
            {"at": at(0), "seen": seen},
        )
        schedulers.extend_uptime(conn, threshold)
        return bool(conn.scalar(text("SELECT since > :at FROM scheduler_uptime"), {"at": at(0)}))


def test_the_uptime_begins_anew_when_nobody_was_there_for_the_threshold(engine: Engine) -> None:
    assert not begins_anew(engine, timedelta(seconds=1))
    assert not begins_anew(engine, timedelta(seconds=60), threshold=600)
    assert begins_anew(engine, timedelta(seconds=601), threshold=600)


def test_what_fell_due_while_no_scheduler_was_there_was_missed(
    engine: Engine, replica: Replica
) -> None:
    store(engine, dag(Catchup.ROLLUP))
    create(replica, 1)
    with engine.begin() as conn:
        schedulers.extend_uptime(conn, 15)
        conn.execute(text("UPDATE scheduler_uptime SET since = :at"), {"at": at(5.5)})

    create(replica, 6)

    assert spans(engine) == [(0, 1), (1, 5), (5, 6)]


@pytest.mark.parametrize("watched", [False, True])
def test_what_falls_due_after_the_first_look_was_not_missed_though_the_clock_is_behind(
    engine: Engine, replica: Replica, *, watched: bool
) -> None:
    """By the database's clock the DAG, or the uptime, is there since noon; two hours are over."""
    store(engine, dag(Catchup.NONE, timetable=HOURLY), since=0 if watched else 0.5)
    if watched:
        with engine.begin() as conn:
            schedulers.extend_uptime(conn, 15)
            conn.execute(text("UPDATE scheduler_uptime SET since = :at"), {"at": at(0.5)})
    create(replica, 2.5 / 24)
    create(replica, 4.5 / 24)

    with engine.connect() as conn:
        starts = conn.scalars(text("SELECT interval_start FROM dag_run ORDER BY 1"))
        assert list(starts) == [at(2 / 24), at(3 / 24)]


def test_a_schedule_that_changes_is_not_scheduled_since_a_time_to_come(
    engine: Engine, replica: Replica
) -> None:
    """The scheduler's clock is a year ahead of the database's."""
    with engine.connect() as conn:
        ahead = conn.execute(text("SELECT now() + interval '1 year'")).scalar_one()
    store(engine, dag(Catchup.NONE))
    create_runs(replica, ahead)
    seed.store(engine, dag(Catchup.NONE, timetable=HOURLY))
    create_runs(replica, ahead)

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT scheduled_since <= now() FROM dag"))


def test_a_window_bounds_what_is_caught_up(engine: Engine, replica: Replica) -> None:
    store(engine, dag(catchup_window=2 * 86400.0), since=9.5)

    create(replica, 9.5)

    assert spans(engine) == [(7, 8), (8, 9)]
    assert records(engine) == [(0, 7, "window", None)]
    [(action, _, details)] = journal(engine)
    assert (action, details["reason"]) == ("dag.skip", "window")
    assert (details["from"], details["to"]) == (at(0).isoformat(), at(7).isoformat())


def test_a_run_that_would_overlap_is_skipped(engine: Engine, replica: Replica) -> None:
    store(engine, dag(overlap=Overlap.SKIP))
    create(replica, 1)
    create(replica, 2)
    create(replica, 3)
    end_runs(engine)
    create(replica, 4)

    assert spans(engine) == [(0, 1), (3, 4)]
    assert records(engine) == [(1, 2, "overlap", None), (2, 3, "overlap", None)]
    reason, sentence = told(engine, replica, 2)
    assert reason is Reason.INTERVAL_SKIPPED
    assert "while another run had not ended, and the overlap of etl" in sentence


def test_a_run_takes_the_place_of_one_that_runs_and_of_one_that_waits(
    engine: Engine, replica: Replica
) -> None:
    store(engine, dag(overlap=Overlap.CANCEL_RUNNING, max_active_runs=1))
    create(replica, 1)
    assert start_runs(replica, at(1)) == 1
    schedule_tasks(replica, at(1))
    worker = seed.register(engine, "worker")
    with engine.begin() as conn:
        ids = list(conn.scalars(text("SELECT id FROM task_instance")))
        tasks.queue(conn, ids, at(1), seed.SCHEDULER)
    [claimed] = seed.claim(engine, worker)
    ended: list[int] = []
    counted = value(RUNS_ENDED, "etl", "failed") or 0

    create_runs(replica, at(2), cancelled=ended.append)
    assert ended == [1]
    assert seed.run_states(engine) == {"running": 1, "queued": 1}
    assert start_runs(replica, at(2)) == 0, "the one that is being stopped still counts"
    create_runs(replica, at(3), cancelled=ended.append)
    assert ended == [1, 2]
    assert value(RUNS_ENDED, "etl", "failed") == counted + 1, "one waited, and has ended by it"

    assert seed.report(engine, [claimed.key], Outcome.CANCELLED)
    schedule_tasks(replica, at(3))
    assert seed.run_states(engine) == {"failed": 2, "queued": 1}
    assert value(RUNS_ENDED, "etl", "failed") == counted + 2
    assert start_runs(replica, at(3)) == 1
    assert spans(engine) == [(0, 1), (1, 2), (2, 3)]
    cancelled = [
        (run, details) for action, run, details in journal(engine) if action == "run.cancel"
    ]
    assert [run for run, _ in cancelled] == [run_id(0), run_id(0), run_id(1)]
    assert cancelled[0][1] == {"reason": "overlap", "stopped": 1}


@pytest.mark.regression
def test_only_a_creation_that_cancels_runs_waits_for_the_disk(
    engine: Engine, replica: Replica
) -> None:
    found: list[str] = []

    def note(conn: Connection) -> None:
        found.append(str(conn.exec_driver_sql("SHOW synchronous_commit").scalar()))

    def commits(day: float) -> list[str]:
        found.clear()
        event.listen(engine, "commit", note)
        create_runs(replica, at(day))
        event.remove(engine, "commit", note)
        return list(found)

    store(engine, dag(overlap=Overlap.CANCEL_RUNNING, max_active_runs=1))
    with engine.begin() as conn:
        conn.execute(text(f"ALTER DATABASE {engine.url.database} SET synchronous_commit = on"))
    engine.dispose()

    assert commits(1) == ["off"]
    assert commits(2) == ["on"]


@pytest.mark.regression
def test_a_running_run_of_which_nothing_is_live_makes_way_for_the_next(
    engine: Engine, replica: Replica
) -> None:
    """No attempt will end, so only the cancellation itself can have the run looked at."""
    store(engine, dag(overlap=Overlap.CANCEL_RUNNING, max_active_runs=1))
    create(replica, 1)
    assert start_runs(replica, at(1)) == 1
    force(engine, 1, work="up_for_retry")
    schedule_tasks(replica, at(1))

    create_runs(replica, at(2))
    schedule_tasks(replica, at(2))

    assert seed.run_states(engine) == {"failed": 1, "queued": 1}
    assert start_runs(replica, at(2)) == 1


def test_a_run_that_runs_again_in_a_backfill_is_not_of_the_schedule(
    engine: Engine, replica: Replica
) -> None:
    """It takes no place, makes way for no other, and is in the way of none."""
    store(engine, dag(overlap=Overlap.CANCEL_RUNNING))
    create(replica, 1)
    end_runs(engine)
    again = Way(Reprocess.COMPLETED)
    request = BackfillRequest("etl", at(0), at(0), {}, 1, way=again)
    with engine.begin() as conn:
        create_backfill(conn, request, at(1), "user:ann")
        assert run_state.unfinished_runs(conn, "etl") == (0, [])
    assert start_runs(replica, at(1)) == 1
    ended: list[int] = []

    create_runs(replica, at(2), cancelled=ended.append)
    create_runs(replica, at(3), cancelled=ended.append)

    assert ended == [1]
    assert spans(engine) == [(0, 1), (1, 2), (2, 3)]
    assert seed.run_states(engine) == {"running": 1, "failed": 1, "queued": 1}
    cancelled = [run for action, run, _ in journal(engine) if action == "run.cancel"]
    assert cancelled == [run_id(1)]
    with engine.begin() as conn:
        assert run_state.unfinished_runs(conn, "etl")[0] == 1


def test_what_was_missed_runs_one_after_the_other_where_runs_must_not_overlap(
    engine: Engine, replica: Replica
) -> None:
    store(engine, dag(overlap=Overlap.SKIP), since=3)

    assert create(replica, 3) == 1
    assert spans(engine) == [(0, 1)]
    assert told(engine, replica, 1) == (
        Reason.MAX_ACTIVE_RUNS,
        (
            "There is no such run yet: etl has 1 unfinished run of its schedule, and its overlap "
            "has what was missed run one after the other."
        ),
    )
    end_runs(engine)
    create(replica, 3)
    assert spans(engine) == [(0, 1), (1, 2)]


def test_each_interval_of_a_rollup_is_explained_and_told(engine: Engine, replica: Replica) -> None:
    store(engine, dag(Catchup.ROLLUP), since=4)
    create(replica, 4)

    assert told(engine, replica, 2) == (
        Reason.INTERVAL_SKIPPED,
        (
            f"There is no such run: the run {run_id(0)} covers its interval with others that were "
            "missed, as the catchup of the DAG is rollup."
        ),
    )
    assert journal(engine) == [("run.rollup", run_id(0), {"intervals": 4})]


@pytest.mark.regression
def test_a_rollup_of_a_schedule_of_every_second_writes_one_record(
    engine: Engine, replica: Replica
) -> None:
    """An hour was missed: 3,600 intervals; a backfill and `explain` find each of them."""
    seconds = TimetableSpec(name="delta", arguments={"delta": 1.0, "interval": None})
    store(engine, dag(Catchup.ROLLUP, timetable=seconds), since=1 / 24)

    create(replica, 1 / 24)

    with engine.connect() as conn:
        found = text("SELECT interval_start, interval_end FROM dag_run")
        assert [tuple(row) for row in conn.execute(found)] == [(at(0), at(1 / 24))]
    assert [record[2:] for record in records(engine)] == [("rollup", run_id(0))]
    assert journal(engine) == [("run.rollup", run_id(0), {"intervals": 3600})]
    half = at(0.5 / 24)
    wanted = ExplainRequest("etl", f"scheduled__{half.isoformat()}", "work")
    with engine.begin() as conn:
        assert explain(conn, wanted, replica.settings, at(40)).reason is Reason.INTERVAL_SKIPPED
        second = seed.DAY / 86400
        infos = [
            DagRunInfo.once_over(DataInterval(half + n * second, half + (n + 1) * second))
            for n in range(3)
        ]
        there = backfill_plans.existing(conn, "etl", infos)
    assert {run.schedule_date for run in there} >= {info.run_after for info in infos}


@pytest.mark.regression
def test_a_backfill_finds_each_time_that_a_rollup_covers(engine: Engine, replica: Replica) -> None:
    """Runs of exact times have no interval by which they could be found."""
    times = TimetableSpec(name="cron", arguments={"cron": "0 * * * *", "timezone": "UTC"})
    store(engine, dag(Catchup.ROLLUP, timetable=times), since=0.5)
    create(replica, 0.5)
    assert len(records(engine)) == 1

    asked = [DagRunInfo.once_over(DataInterval.exact(at(hour / 24))) for hour in (-1, 3, 4, 12, 13)]
    with engine.connect() as conn:
        there = backfill_plans.existing(conn, "etl", asked)

    assert {run.schedule_date for run in there} == {at(3 / 24), at(4 / 24), at(0.5)}
    assert {run.run_id for run in there} == {run_id(0)}


def test_what_catchup_has_left_out_is_explained(engine: Engine, replica: Replica) -> None:
    store(engine, dag(Catchup.NONE), since=4)
    create(replica, 4)

    reason, sentence = told(engine, replica, 2)

    assert reason is Reason.INTERVAL_SKIPPED
    assert sentence.startswith(
        "There is no such run: the intervals from 2024-01-01T00:00:00Z to 2024-01-05T00:00:00Z "
    )
    assert sentence.endswith("nobody scheduled etl, and its catchup leaves them out.")


def test_a_rollup_that_is_deleted_was_never_there(engine: Engine, replica: Replica) -> None:
    store(engine, dag(Catchup.ROLLUP), since=4)
    create(replica, 4)
    with engine.begin() as conn:
        delete_run(conn, "etl", run_id(0), Author("user:ann"))
        conn.execute(text("UPDATE dag SET planned_version_id = NULL"))
    assert records(engine) == []

    create(replica, 4)

    assert spans(engine) == [(0, 4)]
    assert records(engine) == [(0, 4, "rollup", run_id(0))]


def backfill(engine: Engine, days: Sequence[int]) -> None:
    with engine.begin() as conn:
        made = text("""
            INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)
            VALUES ('etl', now(), now(), 1, 1) RETURNING id
        """)
        backfill_id = conn.scalar(made)
        version = conn.scalar(text("SELECT version_id FROM dag WHERE dag_id = 'etl'"))
        infos = [seed.info(day) for day in days]
        kind = RunType.BACKFILL
        new = runs.NewRuns("etl", kind, version, infos, {}, backfill_id, partitions=True)
        runs.create(conn, [new])


def test_a_rollup_is_divided_by_a_backfill(engine: Engine, replica: Replica) -> None:
    store(engine, dag(Catchup.ROLLUP), since=6)
    backfill(engine, [2])

    create(replica, 6)

    assert spans(engine) == [(0, 2), (2, 3), (3, 6)]
    assert [record[:2] for record in records(engine)] == [(0, 2), (3, 6)]


def test_a_rollup_that_something_stands_in_the_way_of_is_left_out_with_a_record(
    engine: Engine, replica: Replica
) -> None:
    """What does so is there when the rollup is written, and was not when it was decided."""
    store(engine, dag(Catchup.ROLLUP, max_active_runs=1), since=4)

    with just_before(engine, runs.CREATE, lambda: backfill(engine, [2])):
        create(replica, 4)

    assert spans(engine) == [(2, 3)]
    assert records(engine) == [(0, 4, "conflict", None)]
    details = {"reason": "conflict", "from": at(0).isoformat(), "to": at(4).isoformat()}
    assert journal(engine) == [("dag.skip", None, details)]
    reason, sentence = told(engine, replica, 1)
    assert reason is Reason.INTERVAL_SKIPPED
    assert "another run, of a backfill or of a former schedule of etl, is about a part" in sentence
    create(replica, 5)
    assert spans(engine) == [(2, 3), (4, 5)]


def test_what_stands_in_the_way_of_one_dags_rollup_is_in_that_of_no_other(
    engine: Engine, replica: Replica
) -> None:
    """The runs of both are written at once, and are called alike."""
    seed.store(engine, replace(dag(Catchup.ROLLUP), dag_id="other"))
    store(engine, dag(Catchup.ROLLUP), since=4)

    with just_before(engine, runs.CREATE, lambda: backfill(engine, [2])):
        create(replica, 4)

    counts = text("SELECT dag_id, count(*) FROM dag_run GROUP BY dag_id ORDER BY dag_id")
    with engine.connect() as conn:
        assert [tuple(row) for row in conn.execute(counts)] == [("etl", 1), ("other", 1)]
    assert [record[2] for record in records(engine, "etl")] == ["conflict"]
    assert [record[:3] for record in records(engine, "other")] == [(0, 4, "rollup")]


WEEKS: dict[str, JsonValue] = {"cron": "0 0 * * *", "timezone": "UTC", "interval": 7 * 86400.0}


def test_after_a_rollup_of_intervals_that_overlap_the_one_after_the_last_comes_next(
    engine: Engine, replica: Replica
) -> None:
    """Each day about the week from then on: those of days 0 to 2 are over on day 9."""
    weeks = TimetableSpec(name="data", arguments=WEEKS)
    store(engine, dag(Catchup.ROLLUP, timetable=weeks), since=9)

    create(replica, 9)
    create(replica, 11)

    assert spans(engine) == [(0, 9), (3, 10), (4, 11)]


HOURLY = TimetableSpec(name="delta", arguments={"delta": 3600.0, "interval": None})


@pytest.mark.parametrize(
    ("catchup", "expected"),
    [
        (Catchup.NONE, [(2, 3)]),
        (Catchup.LATEST, [(1, 2), (2, 3)]),
        (Catchup.ALL, [(0, 1), (1, 2), (2, 3)]),
        (Catchup.ROLLUP, [(0, 2), (2, 3)]),
    ],
)
def test_a_schedule_that_changes_decides_anew_about_what_it_finds_due(
    engine: Engine, replica: Replica, catchup: Catchup, expected: list[tuple[int, int]]
) -> None:
    """From daily to hourly, two hours after midnight; the runs are about hours of the day 3."""
    store(engine, dag(catchup), since=0)
    create(replica, 3)
    store(engine, dag(catchup, timetable=HOURLY), since=0)

    create(replica, 3 + 2.5 / 24)
    create(replica, 3 + 3.5 / 24)

    hours = text("""
        SELECT interval_start, interval_end FROM dag_run
         WHERE interval_start >= :day ORDER BY schedule_date
    """)
    with engine.connect() as conn:
        found = [
            tuple(int((moment - at(3)).total_seconds() // 3600) for moment in row)
            for row in conn.execute(hours, {"day": at(3)})
        ]
    assert found == expected


def test_a_start_date_that_moves_makes_no_gap_and_repeats_nothing(
    engine: Engine, replica: Replica
) -> None:
    store(engine, dag())
    create(replica, 2)
    for first in (at(-5), at(1)):
        store(engine, dag(start_date=first))
        create(replica, 2)
        assert spans(engine) == [(0, 1), (1, 2)]
    store(engine, dag(start_date=at(4)))
    create(replica, 6)

    assert spans(engine) == [(0, 1), (1, 2), (4, 5), (5, 6)]


def test_one_pass_creates_no_more_than_its_share(engine: Engine, replica: Replica) -> None:
    """After an outage the runs of other DAGs are not to wait for all of one."""
    store(engine, dag(max_active_runs=100), since=9)

    assert create_runs(replica, at(9), at_most=4) == 1
    assert len(spans(engine)) == 4
    assert create_runs(replica, at(9), at_most=4) == 1
    assert len(spans(engine)) == 8


def test_what_falls_due_now_does_not_wait_for_all_that_was_missed(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    """Of four DAGs, two a pass: the longest overdue, and the latest."""
    for number, dag_id in enumerate("abcd"):
        seed.store(engine, replace(dag(start_date=at(number)), dag_id=dag_id))
    two_at_a_time = new_replica(max_dagruns_to_create_per_loop=2)
    for _ in range(2):  # none has a run yet
        create_runs(two_at_a_time, at(0))

    create_runs(two_at_a_time, at(9))

    with engine.connect() as conn:
        assert set(conn.scalars(text("SELECT dag_id FROM dag_run"))) == {"a", "d"}


def test_a_run_that_is_due_now_starts_beside_those_that_were_missed(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    """Two a pass: one of each DAG, though all of the other have waited longer."""
    seed.create_runs(engine, seed.store(engine, replace(dag(), dag_id="late")), range(5))
    seed.create_runs(engine, seed.store(engine, replace(dag(), dag_id="on_time")), [8])
    two_at_a_time = new_replica(max_dagruns_per_loop_to_schedule=2)

    assert start_runs(two_at_a_time, at(9)) == 2

    with engine.connect() as conn:
        started = conn.scalars(text("SELECT dag_id FROM dag_run WHERE state = 'running'"))
        assert sorted(started) == ["late", "on_time"]


def test_a_scheduler_that_beats_extends_the_uptime(engine: Engine, database_url: str) -> None:
    with logged_in(database_url, Login.SCHEDULER) as own:
        replica = Replica(own, seed.register(own), read(SchedulerSettings))
        clock = FakeClock(at(0))
        job = SchedulerJob(replica, SetClock(clock), NoticeSender(lambda _: None, clock))
        job.step()
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM scheduler_uptime")) == 1


@pytest.mark.parametrize(("minutes", "anew"), [(4, False), (6, True)])
def test_a_scheduler_that_was_slow_for_some_minutes_was_not_away(
    engine: Engine, replica: Replica, *, minutes: int, anew: bool
) -> None:
    """Though it counts as dead after 15 seconds."""
    clock = FakeClock(at(0))
    job = SchedulerJob(replica, SetClock(clock), NoticeSender(lambda _: None, clock))
    seen = text("""
        UPDATE scheduler_uptime
           SET since = :at, seen_at = clock_timestamp() - make_interval(mins => :minutes)
    """)
    with engine.begin() as conn:
        job.say_alive(conn)
        conn.execute(seen, {"at": at(0), "minutes": minutes})
        job.say_alive(conn)
        assert conn.scalar(text("SELECT since > :at FROM scheduler_uptime"), {"at": at(0)}) == anew


@pytest.mark.parametrize("overlap", [None, *Overlap])
def test_the_scheduler_role_may_do_its_part(
    engine: Engine, database_url: str, overlap: Overlap | None
) -> None:
    store(engine, dag(Catchup.ROLLUP, overlap=overlap), since=4)
    with logged_in(database_url, Login.SCHEDULER) as own:
        replica = Replica(own, seed.register(own), read(SchedulerSettings))
        for day in (4, 5, 6):
            create(replica, day)
            start_runs(replica, at(day))

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT max(schedule_date) FROM dag_run")) >= at(4)
