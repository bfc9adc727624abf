"""How an installation stands: counted on a real database, and told by `headway status`."""

import json
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text
from typer.testing import CliRunner

from headway.actions.installation.status import look
from headway.cli.input import session
from headway.cli.main import app
from headway.db.access.logins import Login
from headway.db.reads import status
from headway.decide.explain.status import Status, WaitingInPool
from headway.domain.dag.spec import DagSpec
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.database.logins import logged_in

SETTINGS = read(SchedulerSettings)
PLANNED = text("""
    UPDATE dag SET next_interval_start = :at, next_interval_end = :at,
                   next_run_after = now() - interval '1 hour'
""")


def of_queue(spec: DagSpec, queue: str, weight: int = 1) -> DagSpec:
    tasks = (replace(task, queue=queue, priority_weight=weight) for task in spec.tasks)
    return replace(spec, tasks=tuple(tasks))


def stands(engine: Engine) -> Status:
    with engine.begin() as conn:
        return look(conn, SETTINGS)


def minutes_ago(engine: Engine, minutes: int) -> None:
    """Have every scheduled task wait since then."""
    since = text(
        "UPDATE task_instance SET rank = extract(epoch FROM now()) - :minutes * 60"
        " - priority * CAST(:aging AS float8) + priority_class * 1e12 WHERE state = 'scheduled'"
    )
    with engine.begin() as conn:
        conn.execute(since, {"minutes": minutes, "aging": SETTINGS.priority_aging})


def rounded(found: WaitingInPool) -> tuple[object, ...]:
    minutes = None if found.longest is None else round(found.longest / 60)
    return found.pool, found.queue, found.waiting, found.paused, minutes


def test_what_waits_is_counted_by_pool_and_queue(engine: Engine) -> None:
    seed.make_pool(engine, "small", 1)
    narrow = seed.in_pool(seed.wide(3, "narrow"), "small")
    tasks = tuple(replace(task, max_active_tis_per_dag=2) for task in narrow.tasks)
    seed.scheduled(engine, of_queue(seed.wide(4, "wide"), "default", weight=50))
    seed.scheduled(engine, of_queue(seed.wide(2, "spark"), "spark"))
    seed.scheduled(engine, replace(narrow, tasks=tasks))
    seed.scheduled(engine, seed.wide(5, "paused"))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET paused = true WHERE dag_id = 'paused'"))
        limited = conn.scalar(text("SELECT count(*) FROM task_instance WHERE limited"))
    minutes_ago(engine, 10)

    assert limited == 3, "both halves are looked at"
    assert [rounded(waiting) for waiting in stands(engine).waiting] == [
        ("default_pool", "default", 4, 5, 10),
        ("default_pool", "spark", 2, 0, 10),
        ("small", "default", 3, 0, 10),
    ]


def test_counting_stops_at_a_bound(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    seed.scheduled(engine, seed.wide(9))
    monkeypatch.setattr(status, "MOST", 4)

    assert [waiting.waiting for waiting in stands(engine).waiting] == [4]


def test_pools_and_queues_say_what_is_taken(engine: Engine) -> None:
    keys = seed.running(engine, seed.wide(3))
    seed.queued(engine, of_queue(seed.wide(2, "more"), "spark"))

    found = stands(engine)

    assert len(keys) == 3
    [pool] = [listed for listed in found.pools if listed.name == "default_pool"]
    assert (pool.running, pool.queued, pool.free) == (3, 2, pool.slots - 5)
    assert [(queue.name, queue.slots, queue.queued) for queue in found.queues] == [
        *(("default", 1_000_000, 0), ("spark", 0, 2))
    ]


@pytest.mark.parametrize(
    ("change", "due"),
    [
        ("next_run_after = now() - interval '1 hour'", 1),
        ("next_run_after = now() + interval '1 hour'", 0),
        ("paused = true", 0),
        ("max_active_runs = 1", 0),
        ("next_interval_start = NULL, next_interval_end = NULL", 0),
    ],
)
def test_a_dag_is_late_if_a_run_of_it_may_be_created(engine: Engine, change: str, due: int) -> None:
    seed.start_run(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(PLANNED, {"at": seed.START})
        conn.execute(text(f"UPDATE dag SET {change}"))

    found = stands(engine).backlog

    assert (found.runs_running, found.runs_queued, found.dags_due) == (1, 0, due)
    assert (found.due_longest is not None) == bool(due)


def test_files_and_schedules_that_fail_are_counted(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    failed = "INSERT INTO import_error (bundle, relative_path, error) VALUES ('main', :path, 'no')"
    with engine.begin() as conn:
        conn.execute(text(failed), [{"path": "b.py"}, {"path": "a.py"}])
        conn.execute(text("UPDATE dag SET schedule_error = 'no'"))

    found = stands(engine).trouble

    assert (found.files, found.first_file, found.schedules, found.first_dag) == (
        *(2, "a.py", 1, "etl"),
    )


@pytest.mark.parametrize("login", [Login.USER, Login.READONLY])
def test_who_may_only_look_may_look_at_this(database_url: str, login: Login) -> None:
    with logged_in(database_url, login) as engine:
        assert stands(engine).processes == []


def test_the_command_ends_with_1_while_something_is_stuck(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "database_url", lambda: database_url)
    for kind in ("scheduler", "parser", "worker"):
        seed.register(engine, kind)
    seed.scheduled(engine, seed.wide(2))

    minutes_ago(engine, 1)
    well = CliRunner().invoke(app, ["status"])
    minutes_ago(engine, 10)
    stuck = CliRunner().invoke(app, ["status"])
    patient = CliRunner().invoke(app, ["status", "--patience", "900", "-o", "json"])

    assert well.exit_code == 0, well.output
    assert well.stdout.splitlines()[-1] == "Nothing is stuck."
    assert stuck.exit_code == 1
    assert "- 2 tasks of pool default_pool and queue default wait, the first for 10 min" in (
        stuck.stdout
    )
    [found] = json.loads(patient.stdout)
    assert (patient.exit_code, found["stuck"]) == (0, [])
    assert found["pools"][0]["waiting"] == 2
