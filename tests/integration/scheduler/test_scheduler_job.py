"""Jobs: what the scheduler's and a backfill's have in common, and what each is for."""

from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from psycopg2 import OperationalError as ConnectionLost
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.db.core.notices import SCHEDULER, WORKER, Notice, NoticeSender
from headway.db.core.processes import Identity
from headway.db.scheduling import dags, queued_runs, schedulers, scope
from headway.domain.errors import ConflictError, FencedError, NotFoundError
from headway.domain.hints import Action, act
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.loop import Found
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.data.refusals import refused
from headway.testing.database.interleaving import just_before
from headway.testing.time.clock import FakeClock, SetClock
from headway_scheduler import command
from headway_scheduler.command import Bounded
from headway_scheduler.jobs.backfill_job import BackfillJob
from headway_scheduler.jobs.scheduler_job import SchedulerJob
from headway_scheduler.jobs.turns import LEAVE
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.clean import clean
from headway_scheduler.replica.replica import Replica

LOCKS = text("SELECT lock_id FROM dag_run ORDER BY id")
SILENCE = text("UPDATE process_beat SET beat_at = now() - interval '1 hour' WHERE process_id = :id")

NOTHING, ALL, MORE = Found

USUAL = read(SchedulerSettings)
IMPATIENT = read(
    SchedulerSettings,
    heartbeat_interval=0.001,
    scheduler_health_check_threshold=0.003,
    orphaned_tasks_check_interval=0.003,
)
"""Whoever has been silent for a moment counts as dead."""


def scheduler(
    engine: Engine, clock: FakeClock | None = None, settings: SchedulerSettings = USUAL
) -> SchedulerJob:
    """Return the job of a new scheduler."""
    clock = clock or FakeClock(seed.START + 30 * seed.DAY)
    replica = Replica(engine, seed.register(engine), settings)
    return SchedulerJob(replica, SetClock(clock), silent(clock))


def at_rest(engine: Engine, settings: SchedulerSettings = USUAL, days: int = 0) -> SchedulerJob:
    """Return the job of a scheduler that has done all there is without a worker, at that day."""
    job = scheduler(engine, FakeClock(seed.START + days * seed.DAY), settings)
    while job.step():
        pass
    return job


def backfill(engine: Engine, backfill_id: int) -> BackfillJob:
    """Return the job of a backfill, which has reserved its runs."""
    clock = FakeClock(seed.START + 30 * seed.DAY)
    replica = Replica(engine, seed.register(engine, "backfill"), USUAL, own_alone=True)
    job = BackfillJob(replica, SetClock(clock), silent(clock), backfill_id=backfill_id)
    assert job.submit_backfill()
    return job


def silent(clock: FakeClock) -> NoticeSender:
    """Return a notifier that tells nobody."""
    return NoticeSender(lambda _notices: None, clock)


def told(job: SchedulerJob) -> list[Notice]:
    """Return the list to which whatever the job tells others is added from now on."""
    notices: list[Notice] = []
    job.notifier.notify = notices.append  # type: ignore[assignment]
    return notices


def owned(engine: Engine, job: SchedulerJob) -> int:
    """Return how many attempts the job has queued."""
    count = text("SELECT count(*) FROM task_attempt WHERE scheduler_id = :id")
    with engine.connect() as conn:
        return int(conn.scalar(count, {"id": job.replica.me.id}) or 0)


def create(engine: Engine, days: int = 3, *, catchup: bool = False) -> int:
    """Store a DAG and create a backfill of its first days; return the backfill's id."""
    seed.store(engine, replace(seed.dag(), catchup=catchup, end_date=seed.START + days * seed.DAY))
    request = BackfillRequest("etl", seed.START, seed.START + (days - 1) * seed.DAY, {})
    with engine.begin() as conn:
        return create_backfill(conn, request, seed.START + 60 * seed.DAY, "user:test").id


def locks(engine: Engine) -> list[int | None]:
    """Return by which job each run is reserved."""
    with engine.connect() as conn:
        return list(conn.scalars(LOCKS))


def finish_all(engine: Engine, job: SchedulerJob | BackfillJob, worker: Identity) -> None:
    """Have the job step and its attempts succeed until it finds nothing more to do."""
    for _ in range(50):
        busy = job.step()
        claimed = seed.claim(engine, worker)
        if claimed:
            seed.report(engine, [each.key for each in claimed])
        elif not busy:
            return
    raise AssertionError("the job has not come to rest")


def succeed(engine: Engine, worker: Identity) -> None:
    """Have the worker claim what is queued and report success."""
    seed.report(engine, [each.key for each in seed.claim(engine, worker)])


def test_a_scheduler_creates_runs_and_brings_them_to_their_end(engine: Engine) -> None:
    seed.store(engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    job = scheduler(engine, FakeClock(seed.START + 3 * seed.DAY))

    finish_all(engine, job, seed.register(engine, "worker"))

    assert seed.run_states(engine) == {"success": 3}


def test_schedulers_take_turns_at_a_pool(engine: Engine) -> None:
    seed.scheduled(engine, seed.wide(6))
    seed.register(engine, "worker")
    settings = read(SchedulerSettings, max_tis_per_query=2)
    first, second = (scheduler(engine, settings=settings) for _ in range(2))
    notices = told(first)

    first.step()
    assert (owned(engine, first), notices) == (2, [SCHEDULER, WORKER])
    first.step()
    assert owned(engine, first) == 2
    second.step()
    assert owned(engine, second) == 2

    first.clock.wait(Event(), LEAVE)
    first.step()
    assert owned(engine, first) == 4


def test_a_scheduler_that_is_alone_goes_on(engine: Engine) -> None:
    seed.scheduled(engine, seed.wide(6))
    seed.register(engine, "worker")
    alone = scheduler(engine, settings=read(SchedulerSettings, max_tis_per_query=2))

    for _ in range(3):
        alone.step()

    assert owned(engine, alone) == 6


def test_what_is_settled_and_queued_needs_no_second_look(engine: Engine) -> None:
    seed.start_run(engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    job, worker = at_rest(engine), seed.register(engine, "worker")

    assert (job.step(), owned(engine, job)) == (ALL, 1)
    succeed(engine, worker)
    assert (job.step(), owned(engine, job)) == (ALL, 2)
    succeed(engine, worker)
    assert job.step() is MORE, "a run has ended, and another may begin"
    assert job.step() is NOTHING


def test_a_full_batch_needs_a_second_look(engine: Engine) -> None:
    seed.scheduled(engine, seed.wide(3))
    job = at_rest(engine, read(SchedulerSettings, max_tis_per_query=2))
    seed.register(engine, "worker")

    assert [job.step(), job.step()] == [MORE, ALL]
    assert owned(engine, job) == 3


def test_where_tasks_are_limited_it_looks_a_second_time(engine: Engine) -> None:
    seed.scheduled(engine, seed.dag(replace(seed.task("a"), max_active_tis_per_dag=1)))
    job = at_rest(engine)
    seed.register(engine, "worker")

    assert [job.step(), job.step()] == [MORE, NOTHING]


def test_a_dag_that_another_has_for_an_instant_needs_a_second_look(engine: Engine) -> None:
    for dag_id in ("held", "free"):
        seed.scheduled(engine, seed.wide(1, dag_id))
    job = at_rest(engine)
    seed.register(engine, "worker")
    with engine.begin() as conn:
        conn.execute(text("SELECT FROM dag WHERE dag_id = 'held' FOR NO KEY UPDATE"))
        assert (job.step(), owned(engine, job)) == (MORE, 1)

    assert (job.step(), owned(engine, job)) == (ALL, 2)


def test_a_pool_that_another_has_for_an_instant_needs_a_second_look(engine: Engine) -> None:
    seed.start_run(engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    job, worker = at_rest(engine), seed.register(engine, "worker")
    job.step()
    succeed(engine, worker)
    with engine.begin() as conn:
        conn.execute(text("SELECT FROM pool FOR NO KEY UPDATE"))
        assert (job.step(), owned(engine, job)) == (MORE, 1)

    assert (job.step(), owned(engine, job)) == (ALL, 2)


def test_a_run_that_waits_for_the_one_before_is_looked_at_at_once(engine: Engine) -> None:
    task = replace(seed.task("a"), depends_on_past=True)
    version = seed.store(engine, seed.dag(task, seed.task("b", "a")))
    first, second = seed.create_runs(engine, version, range(2))
    job, worker = at_rest(engine, days=2), seed.register(engine, "worker")
    job.step()
    succeed(engine, worker)

    assert job.step() is MORE, f"{second} was woken by what has ended in {first}"


def test_a_pool_that_is_left_to_others_needs_a_second_look(engine: Engine) -> None:
    seed.scheduled(engine, seed.wide(6))
    first, second = (at_rest(engine, read(SchedulerSettings, max_tis_per_query=2)) for _ in "12")
    worker = seed.register(engine, "worker")
    first.step()
    succeed(engine, worker)

    assert (first.step(), owned(engine, first)) == (MORE, 2)
    assert (second.step(), owned(engine, second)) == (MORE, 2)


def test_more_runs_than_one_pass_takes_need_a_second_look(engine: Engine) -> None:
    for number in "12":
        seed.start_run(engine, seed.dag(seed.task("a"), seed.task("b", "a"), dag_id=number))
    job = at_rest(engine, read(SchedulerSettings, max_dagruns_per_loop_to_schedule=1))
    worker = seed.register(engine, "worker")
    job.step()
    succeed(engine, worker)

    assert [job.step(), job.step(), job.step()] == [MORE, MORE, NOTHING]


def test_when_runs_have_started_others_are_looked_for(engine: Engine) -> None:
    job = at_rest(engine, read(SchedulerSettings, max_dagruns_per_loop_to_schedule=1), days=1)
    for number in "12":
        seed.create_runs(engine, seed.store(engine, seed.wide(1, number)), range(1))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET planned_version_id = version_id, next_run_after = NULL"))
    seed.register(engine, "worker")

    assert [job.step(), job.step(), job.step()] == [MORE, MORE, NOTHING]
    assert owned(engine, job) == 2


def test_others_are_told_of_more_runs_than_one_may_start_at_once(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.wide(1)), range(2))
    settings = read(SchedulerSettings, max_dagruns_per_loop_to_schedule=2)
    first, _second = (scheduler(engine, settings=settings) for _ in range(2))
    notices = told(first)

    first.step()
    assert notices == [SCHEDULER]
    notices.clear()
    first.step()
    assert notices == []


def test_a_backfill_job_has_its_runs_for_itself(engine: Engine) -> None:
    job = backfill(engine, create(engine))

    other = scheduler(engine)
    while other.step():
        pass

    assert locks(engine)[:3] == [job.replica.me.id] * 3
    with engine.connect() as conn:
        states = text("SELECT DISTINCT state FROM dag_run WHERE lock_id IS NOT NULL")
        assert list(conn.scalars(states)) == ["queued"]

    finish_all(engine, job, seed.register(engine, "worker"))
    assert job.has_ended()
    assert job.progress().succeeded == 3


def test_a_backfill_job_takes_nothing_that_it_could_not_start(engine: Engine) -> None:
    number = create(engine)
    for statement, remedy in (
        ("UPDATE backfill SET paused = true", act(Action.RESUME_BACKFILL, backfill_id=number)),
        ("UPDATE dag SET paused = true", act(Action.UNPAUSE_DAG, dag_id="etl")),
        ("UPDATE dag SET active = false", act(Action.CANCEL_BACKFILL, backfill_id=number)),
    ):
        with engine.begin() as conn:
            conn.execute(text(statement))
        with refused(ConflictError, f"Backfill {number} starts no run now.", remedy):
            backfill(engine, number)
    with refused(NotFoundError, "There is no backfill 77.", act(Action.LIST_BACKFILLS)):
        backfill(engine, 77)
    assert locks(engine) == [None] * 3


def test_a_backfill_job_of_which_the_backfill_is_gone_says_so(engine: Engine) -> None:
    job = backfill(engine, create(engine))
    with engine.begin() as conn:
        conn.execute(text("DELETE FROM dag_run"))
        conn.execute(text("DELETE FROM backfill"))

    with pytest.raises(NotFoundError, match="is gone: its DAG was deleted"):
        job.progress()


def test_a_backfill_job_leaves_other_runs_alone(engine: Engine) -> None:
    version = seed.store(engine, seed.dag(dag_id="other"))
    seed.create_runs(engine, version, [0])
    job = backfill(engine, create(engine))

    finish_all(engine, job, seed.register(engine, "worker"))

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT state FROM dag_run WHERE dag_id = 'other'")) == "queued"


def test_a_run_is_reserved_once(engine: Engine) -> None:
    first = backfill(engine, create(engine))
    with engine.connect() as conn:
        runs = list(conn.scalars(text("SELECT id FROM dag_run ORDER BY id")))

    assert scheduler(engine).submit(runs) == []
    with engine.begin() as conn:
        scope.unlock(conn, runs[:1], first.replica.me.id)
    assert scheduler(engine).submit(runs) == runs[:1]


def test_the_runs_of_a_job_that_died_are_released(engine: Engine) -> None:
    job = backfill(engine, create(engine))
    with engine.begin() as conn:
        conn.execute(SILENCE, {"id": job.replica.me.id})

    adopt(Replica(engine, seed.register(engine), IMPATIENT))

    assert locks(engine) == [None] * 3
    with pytest.raises(FencedError):
        job.step()


def test_a_loop_that_hangs_does_not_beat(engine: Engine) -> None:
    clock = FakeClock()
    job = scheduler(engine, clock)
    beat = text("SELECT beat_at FROM process_beat WHERE process_id = :id")
    job.step()
    with engine.connect() as conn:
        before = conn.scalar(beat, {"id": job.replica.me.id})

    clock.advance(1000)  # nobody steps meanwhile
    with engine.connect() as conn:
        assert conn.scalar(beat, {"id": job.replica.me.id}) == before
    job.step()

    with engine.connect() as conn:
        assert conn.scalar(beat, {"id": job.replica.me.id}) > before


@pytest.mark.parametrize(
    ("settings", "steps"),
    [({"num_runs": 3}, 3), ({"run_duration": 10.0}, 5), ({}, 20)],
)
def test_a_bounded_scheduler_ends(settings: dict[str, float], steps: int) -> None:
    clock, bell, done = FakeClock(), Bell(), []

    def step() -> Found:
        done.append(1)
        clock.advance(2.0)
        return MORE

    bounded = Bounded(step, read(SchedulerSettings, **settings), clock, bell)
    while not bell.stopped.is_set() and len(done) < 20:
        bounded.step()

    assert len(done) == steps


@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (True, True)])
def test_a_scheduler_without_row_locks_is_alone(engine: Engine, first: bool, second: bool) -> None:
    one = seed.register(engine)
    with engine.begin() as conn:
        assert schedulers.join(conn, one, alone=first) is None
    two = seed.register(engine)
    with engine.begin() as conn:
        refused = schedulers.join(conn, two, alone=second)

    assert refused is not None
    assert "use_row_level_locking" in str(refused)
    with engine.connect() as conn:
        live = text("SELECT id FROM process WHERE ended_at IS NULL")
        assert list(conn.scalars(live)) == [one.id]


def test_schedulers_with_row_locks_join_in_any_number(engine: Engine) -> None:
    with engine.begin() as conn:
        joined = [schedulers.join(conn, seed.register(engine), alone=False) for _ in range(3)]

    assert joined == [None, None, None]


def test_rows_without_a_run_are_cleaned_up(engine: Engine) -> None:
    seed.scheduled(engine, seed.dag(seed.task("a"), seed.task("b")))
    with engine.begin() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))  # no cascade
        conn.execute(text("DELETE FROM dag_run"))
        conn.execute(text("INSERT INTO wake (dag_run_id) VALUES (4711)"))
        conn.execute(
            text("INSERT INTO lease VALUES (4711, 1, gen_random_uuid(), now() + interval '1 h')")
        )

    job = scheduler(engine)

    assert clean(job.replica) == 4
    assert set(seed.task_states(engine).values()) == {"failed"}
    assert clean(job.replica) == 0


@pytest.mark.parametrize(("state", "status"), [("success", 0), ("failed", 1), (None, 1)])
def test_running_a_backfill_exits_with_0_only_if_all_of_it_went_well(
    engine: Engine,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    state: str | None,
    status: int,
) -> None:
    """It may be told to stop before, or leave what others have."""
    number = create(engine)

    def step(_job: BackfillJob) -> bool:
        with engine.begin() as conn:
            if state is not None:
                conn.execute(text("UPDATE dag_run SET state = 'running', started_at = now()"))
                conn.execute(
                    text("UPDATE dag_run SET state = :it, ended_at = now()"), {"it": state}
                )
            conn.execute(text("UPDATE dag_run SET lock_id = NULL"))
        return False

    monkeypatch.setattr(BackfillJob, "step", step)
    monkeypatch.setattr("headway.runtime.daemon.service.stop_on_signals", Bell)

    assert command.run_backfill(database_url, number) == status


@pytest.mark.regression
def test_ready_tasks_are_queued_before_runs_are_started_if_it_took_long_to_create_them(
    engine: Engine,
) -> None:
    seed.register(engine, "worker")
    seed.scheduled(engine, seed.dag(dag_id="ready"))
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    clock = FakeClock(seed.START + seed.DAY)
    job = scheduler(engine, clock)
    queued: list[int] = []

    with (
        just_before(engine, dags.PLAN, lambda: clock.advance(1)),
        just_before(engine, queued_runs.LOCK_STARTING, lambda: queued.append(owned(engine, job))),
    ):
        job.step()

    assert queued == [1]


def test_what_is_queued_early_in_a_step_counts_as_done(engine: Engine) -> None:
    """Nothing else is done in this step: what wants to start has been paused meanwhile."""
    seed.register(engine, "worker")
    seed.scheduled(engine, seed.dag(seed.task("a"), dag_id="ready"))
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET planned_version_id = version_id"))
        conn.execute(text("UPDATE dag SET paused = true WHERE dag_id = 'etl'"))
    clock = FakeClock(seed.START + seed.DAY)
    job = scheduler(engine, clock)

    with just_before(engine, queued_runs.LOCK_STARTING, lambda: clock.advance(1)):
        found = job.step()

    assert found is not NOTHING


@pytest.mark.regression
@pytest.mark.parametrize(("number", "error"), [(1, ConflictError), (2, NotFoundError)])
def test_running_a_backfill_that_starts_nothing_leaves_no_process(
    engine: Engine,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    error: type[Exception],
) -> None:
    assert create(engine) == 1
    with engine.begin() as conn:
        conn.execute(text("UPDATE backfill SET paused = true"))
    monkeypatch.setattr("headway.runtime.daemon.service.stop_on_signals", Bell)

    with pytest.raises(error):
        command.run_backfill(database_url, number)

    with engine.connect() as conn:
        ended = list(conn.scalars(text("SELECT ended_at IS NOT NULL FROM process")))
    assert ended == [True]


@pytest.mark.regression
def test_a_database_that_goes_away_as_a_scheduler_joins_is_waited_for(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bell, join, tries = Bell(), schedulers.join, []

    def lost_once(conn: Connection, *given: Any, **named: Any) -> Any:
        tries.append(conn)
        if len(tries) == 1:
            lost = ConnectionLost("server closed the connection unexpectedly")
            raise OperationalError("INSERT", {}, lost) from lost
        bell.stop()
        return join(conn, *given, **named)

    monkeypatch.setattr("headway.runtime.daemon.service.stop_on_signals", lambda: bell)
    monkeypatch.setattr(schedulers, "join", lost_once)

    assert command.run(database_url) == 0
    assert len(tries) == 2
