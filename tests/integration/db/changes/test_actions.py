"""What users do: each in one transaction, with an event that says who did it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from headway.actions.backfills.create import BackfillRequest, CreatedBackfill, create_backfill
from headway.actions.dags.pause import set_paused
from headway.actions.installation.pools import delete_pool, set_pool
from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.db.core.processes import Identity
from headway.db.reads import backfill_views, pool_views, run_views
from headway.db.reads.backfill_views import BackfillProgress
from headway.db.reads.pool_views import PoolView
from headway.db.scheduling import queued_runs, runs, tasks
from headway.domain.dag.spec import DEFAULT_POOL
from headway.domain.errors import (
    ConflictError,
    DagError,
    DagNotFoundError,
    NotFoundError,
    RequestError,
)
from headway.domain.states import RunState
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.data.refusals import refused

NOW = seed.START + 10 * seed.DAY + timedelta(hours=6)
ANN = "user:ann"


def events(engine: Engine) -> list[tuple[object, ...]]:
    journal = text("SELECT actor, action, dag_id, run_id, details FROM event ORDER BY id")
    with engine.connect() as conn:
        return [tuple(row) for row in conn.execute(journal)]


def ask_for(first: int, last: int, most: int | None = None) -> BackfillRequest:
    return BackfillRequest(
        "etl", seed.START + first * seed.DAY, seed.START + last * seed.DAY, {"why": "late"}, most
    )


def end(engine: Engine, states: dict[int, RunState]) -> None:
    with engine.begin() as conn:
        runs.settle(conn, {run_id: (0, state) for run_id, state in states.items()}, NOW)


def named(run_id: str) -> TriggerRequest:
    return TriggerRequest("etl", run_id=run_id)


def backfill(engine: Engine, request: BackfillRequest) -> CreatedBackfill:
    with engine.begin() as conn:
        return create_backfill(conn, request, NOW, ANN)


def progress(engine: Engine) -> BackfillProgress:
    with engine.connect() as conn:
        [found] = backfill_views.progress(conn)
        return found


def test_a_trigger_creates_a_run_about_the_last_complete_interval(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    with engine.begin() as conn:
        name = trigger(conn, TriggerRequest("etl", {"date": "today"}), NOW, ANN)

    with engine.connect() as conn:
        [run] = run_views.runs(conn, "etl")
    assert run.run_id == name == "manual__2024-01-11T06:00:00+00:00"
    assert (run.run_type, run.state, run.conf) == ("manual", "queued", {"date": "today"})
    assert (run.interval_start, run.interval_end) == (NOW - seed.DAY, NOW)
    assert run.schedule_date == run.run_after == NOW
    assert events(engine) == [(ANN, "run.trigger", "etl", name, {"conf": {"date": "today"}})]


def test_a_run_id_is_taken_once(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    with engine.begin() as conn:
        trigger(conn, named("mine"), NOW, ANN)

    with (
        pytest.raises(ConflictError, match="has a run 'mine' already; choose another"),
        engine.begin() as conn,
    ):
        trigger(conn, named("mine"), NOW + seed.DAY, ANN)

    assert len(events(engine)) == 1


def test_any_number_of_runs_may_be_triggered_for_one_time(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    with engine.begin() as conn:
        for name in ("one", "two"):
            trigger(conn, named(name), NOW, ANN)

    with engine.connect() as conn:
        assert len(run_views.runs(conn, "etl")) == 2


@pytest.mark.parametrize("name", ["", "a/b", "line\nbreak", "x" * 251])
def test_a_run_id_that_names_nothing_is_refused(engine: Engine, name: str) -> None:
    seed.store(engine, seed.dag())

    with pytest.raises(DagError, match="run id"), engine.begin() as conn:
        trigger(conn, named(name or " \t"), NOW, ANN)


@pytest.mark.parametrize("kind", ["scheduled", "backfill"])
def test_a_run_id_of_an_automated_run_is_refused(engine: Engine, kind: str) -> None:
    """It would keep the schedule from ever creating the run that is called so."""
    seed.store(engine, seed.dag())

    with pytest.raises(ConflictError, match="choose another"), engine.begin() as conn:
        trigger(conn, named(f"{kind}__2024-01-01T00:00:00+00:00"), NOW, ANN)


def test_a_dag_that_is_not_there_is_told_with_those_that_are(engine: Engine) -> None:
    seed.store(engine, seed.dag(dag_id="flights_daily"))
    seed.store(engine, seed.dag(dag_id="gone"))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET active = false WHERE dag_id = 'gone'"))

    with engine.begin() as conn:
        with refused(DagNotFoundError, "no DAG", "Did you mean flights_daily?"):
            trigger(conn, TriggerRequest("flight_daily"), NOW, ANN)
        with pytest.raises(NotFoundError, match="no DAG 'gone'"):
            set_paused(conn, "gone", ANN, paused=True)
        with pytest.raises(NotFoundError, match="no DAG 'etl'"):
            create_backfill(conn, ask_for(0, 1), NOW, ANN)


def test_a_backfill_creates_a_run_for_every_interval(engine: Engine) -> None:
    seed.store(engine, replace(seed.dag(), max_active_runs=4))

    assert backfill(engine, ask_for(2, 4)) == CreatedBackfill(1, created=3, existing=0, version=1)

    with engine.connect() as conn:
        found = run_views.runs(conn, "etl")
    assert [run.run_id for run in found] == [
        "backfill__2024-01-05T00:00:00+00:00",
        "backfill__2024-01-04T00:00:00+00:00",
        "backfill__2024-01-03T00:00:00+00:00",
    ]
    assert {(run.run_type, run.backfill_id, run.conf["why"]) for run in found} == {
        ("backfill", 1, "late")
    }
    assert progress(engine).max_active_runs == 4
    assert events(engine) == [(ANN, "backfill.create", "etl", None, {"backfill": 1, "runs": 3})]


def test_a_backfill_leaves_runs_alone_that_are_there(engine: Engine) -> None:
    version = seed.store(engine, seed.dag())
    seed.create_runs(engine, version, [3])

    assert backfill(engine, ask_for(2, 4, most=2)) == CreatedBackfill(
        1, created=2, existing=0, conflicts=1, version=1
    )
    assert (progress(engine).planned, progress(engine).max_active_runs) == (2, 2)
    assert backfill(engine, ask_for(4, 5)) == CreatedBackfill(
        2, created=1, existing=0, conflicts=1, version=1
    )


def test_a_backfill_that_has_nothing_to_run_leaves_nothing_behind(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [2, 3])

    with pytest.raises(ConflictError, match="All 2 intervals have a run already"):
        backfill(engine, ask_for(2, 3))

    with engine.connect() as conn:
        assert backfill_views.progress(conn) == []
    assert events(engine) == []


def test_a_backfill_of_the_future_is_refused(engine: Engine) -> None:
    seed.store(engine, seed.dag())

    with pytest.raises(RequestError, match="is not over before 2024-01-12"):
        backfill(engine, ask_for(8, 10))


def test_the_progress_of_a_backfill_adds_up(engine: Engine) -> None:
    """Four runs of two tasks: one well, one failed, one half way, one that waits."""
    seed.store(engine, seed.dag(seed.task("one"), seed.task("two")))
    backfill(engine, ask_for(0, 3))
    find = text("SELECT id FROM dag_run ORDER BY schedule_date")
    with engine.begin() as conn:
        well, bad, half, _ = conn.scalars(find)
        queued_runs.start(conn, [well, bad, half], NOW, seed.AGING)
    force(engine, well, one="success", two="skipped")
    force(engine, bad, one="failed", two="upstream_failed")
    force(engine, half, one="running")
    end(engine, {well: RunState.SUCCESS, bad: RunState.FAILED})

    found = progress(engine)

    assert (found.planned, found.queued, found.running) == (4, 1, 1)
    assert (found.succeeded, found.failed) == (1, 1)
    assert (found.tasks, found.tasks_ended) == (8, 4)
    assert (found.tasks_succeeded, found.tasks_skipped, found.tasks_failed) == (1, 1, 2)
    assert (found.finished, found.state) == (False, "running")


@pytest.mark.parametrize(
    ("ends", "state"),
    [
        ([RunState.SUCCESS, RunState.SUCCESS], "success"),
        ([RunState.SUCCESS, RunState.FAILED], "failed"),
        ([RunState.FAILED], "running"),
    ],
)
def test_a_backfill_ends_as_its_runs_do(engine: Engine, ends: list[RunState], state: str) -> None:
    seed.store(engine, seed.dag())
    backfill(engine, ask_for(0, 1))
    with engine.begin() as conn:
        ids = list(conn.scalars(text("SELECT id FROM dag_run ORDER BY id")))
        queued_runs.start(conn, ids, NOW, seed.AGING)
    end(engine, dict(zip(ids, ends, strict=False)))

    assert progress(engine).state == state


def test_the_progress_of_one_backfill_is_its_own(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    backfill(engine, ask_for(0, 1))
    other = backfill(engine, ask_for(4, 6))

    with engine.connect() as conn:
        [found] = backfill_views.progress(conn, other.id)
        assert (found.id, found.planned, found.queued, found.tasks) == (other.id, 3, 3, 3)
        assert backfill_views.progress(conn, 4711) == []


def test_a_pause_is_told_once(engine: Engine) -> None:
    seed.store(engine, seed.dag())

    with engine.begin() as conn:
        changed = [
            set_paused(conn, "etl", ANN, paused=paused) for paused in (True, True, False, False)
        ]

    assert changed == [True, False, True, False]
    assert [event[:3] for event in events(engine)] == [
        (ANN, "dag.pause", "etl"),
        (ANN, "dag.unpause", "etl"),
    ]


def test_a_pool_is_set_changed_and_deleted(engine: Engine) -> None:
    with engine.begin() as conn:
        set_pool(conn, "db", 3, "connections", ANN)
        set_pool(conn, "db", 5, "more connections", ANN)
        assert pool_views.pools(conn)[0] == PoolView("db", 5, "more connections", False, 0, 0, 0, 0)
        delete_pool(conn, "db", ANN)
        assert [pool.name for pool in pool_views.pools(conn)] == [DEFAULT_POOL]

    assert [(event[1], event[4]) for event in events(engine)] == [
        ("pool.set", {"pool": "db", "slots": 3, "include_deferred": False}),
        ("pool.set", {"pool": "db", "slots": 5, "include_deferred": False}),
        ("pool.delete", {"pool": "db"}),
    ]


def test_what_no_pool_can_be_is_refused(engine: Engine) -> None:
    with engine.begin() as conn:
        for name, slots in (("", 1), ("x" * 251, 1), ("a\nb", 1), ("db", -1)):
            with pytest.raises(RequestError, match="A pool"):
                set_pool(conn, name, slots, "", ANN)
        with pytest.raises(ConflictError, match="cannot be deleted; set its slots instead"):
            delete_pool(conn, DEFAULT_POOL, ANN)
        with pytest.raises(NotFoundError, match="no pool 'db'"):
            delete_pool(conn, "db", ANN)

    assert events(engine) == []


def test_a_pool_shows_what_occupies_it(engine: Engine) -> None:
    worker: Identity = seed.register(engine, "worker")
    spec = seed.dag(*(replace(seed.task(name), pool_slots=2) for name in "abc"))
    a, b, _ = seed.scheduled(engine, spec)
    with engine.begin() as conn:
        tasks.queue(conn, [a, b], NOW, seed.SCHEDULER)
    seed.claim(engine, worker, limit=1)

    with engine.connect() as conn:
        [pool] = pool_views.pools(conn)
    assert (pool.queued, pool.running, pool.scheduled, pool.free) == (2, 2, 2, 128 - 4)


@pytest.mark.parametrize("most", [0, -1])
def test_a_backfill_of_no_active_run_is_refused(engine: Engine, most: int) -> None:
    seed.store(engine, seed.dag())

    with pytest.raises(RequestError, match="at least 1 active run"):
        backfill(engine, ask_for(0, 1, most))
