"""What ended long ago goes, portion by portion; what something needs stays; the journal tells."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from unittest.mock import MagicMock

import click
import pytest
from sqlalchemy import Engine, TextClause, text
from sqlalchemy.exc import DBAPIError
from tests.integration.retained import add_runs, ids, run_sql
from typer.testing import CliRunner, Result

from headway.cli.main import app
from headway.db.access.logins import Login
from headway.db.core import identity
from headway.db.execution import run_names
from headway.db.retention import expiry
from headway.decide.scheduling.expire import BEGINNING
from headway.domain.errors import ConflictError
from headway.domain.retention import KeepReason, RetainedKind
from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.database import logins
from headway.testing.time.clock import FakeClock
from headway_scheduler.jobs.retention_thread import RetentionState
from headway_scheduler.passes.expire import Expired, expire
from headway_scheduler.replica.replica import Replica

DAY = 86_400.0
MONTH = 30 * DAY
NO_LOCK = "55P03"
REFUSED = "42501"
EVENTS = text("SELECT details FROM event WHERE action = 'db.clean' ORDER BY id")
LOCK_LATEST = text("SELECT FROM dag_run WHERE run_id = 'scheduled__50' FOR UPDATE NOWAIT")
ADD_EVENTS = """
    INSERT INTO event (actor, action, at)
    SELECT 'user:ann', 'x', now() - make_interval(days => days)
      FROM generate_series(90, 1, -1) AS days WHERE days > 40 OR days < 20
"""
END_PROCESSES = "UPDATE process SET ended_at = now() - interval '60 days' WHERE id = ANY (:ids)"
ADD_DEADLINE = "INSERT INTO deadline (dag_run_id, name, check_at) SELECT id, 'late',"


@pytest.fixture
def scheduler(engine: Engine, database_url: str) -> Iterator[Replica]:
    """A scheduler that logs in as one."""
    given = configuration.read(SchedulerSettings, retention_runs_days=30)
    with logins.logged_in(database_url, Login.SCHEDULER) as its:
        me = seed.register(engine)
        identity.introduce(its, me)
        yield Replica(its, me, given)


def remove(
    replica: Replica, kind: RetainedKind = RetainedKind.RUNS, seconds: float = MONTH
) -> Expired:
    return expire(replica, kind, seconds, BEGINNING)


def journal(engine: Engine) -> list[dict[str, object]]:
    with engine.connect() as conn:
        return [row.details for row in conn.execute(EVENTS)]


def test_old_runs_go_with_all_that_is_theirs(engine: Engine, scheduler: Replica) -> None:
    *_old, young, latest = add_runs(engine, [50, 40, 31, 29, 1], tasks=3)

    expired = remove(scheduler)

    assert (expired.removed, expired.portion.size) == (3, 9)
    assert ids(engine) == [young, latest]
    assert ids(engine, "task_instance", "DISTINCT dag_run_id") == [young, latest]
    assert len(ids(engine, "task_attempt", "task_instance_id")) == 6
    assert len(ids(engine, "xcom", "task_instance_id")) == 6
    assert ids(engine, "callback", "dag_run_id") == [young, latest]
    [event] = journal(engine)
    assert event["kind"] == "runs"
    assert (event["removed"], event["task_instances"]) == (3, 9)
    assert event["role"] == "headway_scheduler"
    assert remove(scheduler).removed == 0
    assert len(journal(engine)) == 1


def test_the_latest_run_of_each_dag_stays_and_where_its_schedule_goes_on(
    engine: Engine, scheduler: Replica
) -> None:
    *_, last, failed = add_runs(engine, [90, 80, 70])[:-1] + add_runs(engine, [60], state="failed")
    success = ids(engine)[2]
    manual = add_runs(engine, [50, 40], run_type="manual")
    other = add_runs(engine, [99], dag_id="other")

    remove(scheduler)

    assert last != success
    assert ids(engine) == sorted([success, failed, manual[-1], *other])


@pytest.mark.parametrize(
    ("change", "keep_reason"),
    [
        ("UPDATE dag_run SET state = 'running', ended_at = NULL WHERE id = :next", "past"),
        (("UPDATE task_attempt SET ended_at = NULL, outcome = NULL, phase = 'queued'"
         " WHERE task_instance_id IN (SELECT id FROM task_instance WHERE dag_run_id = :run)"),
         "unfinished"),
        ("UPDATE callback SET state = 'queued', ended_at = NULL WHERE dag_run_id = :run",
         "unfinished"),
        # It is over, but was not judged: no scheduler has lived since.
        (f"{ADD_DEADLINE} now() - interval '50 days' FROM dag_run WHERE id = :run", "unfinished"),
        # It is to come: the run has ended in time, whenever it is judged.
        (f"{ADD_DEADLINE} now() + interval '50 days' FROM dag_run WHERE id = :run", None),
        (("UPDATE task_attempt SET outcome = 'lost', handle = '{\"mode\": \"cluster\"}'"
         " WHERE task_instance_id IN (SELECT id FROM task_instance WHERE dag_run_id = :run)"),
         "external"),
        ("UPDATE task_attempt SET handle = '{\"mode\": \"cluster\"}'", None),
        (("UPDATE task_attempt SET outcome = 'lost',"
         " handle = '{\"mode\": \"cluster\", \"ended\": \"yes\"}'"), None),
    ],
)  # fmt: skip
def test_what_is_needed_stays(
    engine: Engine, scheduler: Replica, change: str, keep_reason: str | None
) -> None:
    run, next_run, _ = add_runs(engine, [60, 50, 40])
    names = {"next": next_run, "run": run}
    run_sql(engine, change, **{key: names[key] for key in names if f":{key}" in change})

    assert keep_reasons_of(remove(scheduler)) == (
        {keep_reason, "latest"} if keep_reason else {"latest"}
    )
    assert (run in ids(engine)) is (keep_reason is not None)


def keep_reasons_of(expired: Expired) -> set[str]:
    return {str(each) for each in expired.portion.kept}


def test_the_past_of_a_run_lies_beyond_what_somebody_has_triggered(
    engine: Engine, scheduler: Replica
) -> None:
    past, manual, unfinished, last = add_runs(engine, [60, 50, 45, 40])
    run_sql(engine, "UPDATE dag_run SET run_type = 'manual' WHERE id = :id", id=manual)
    run_sql(
        engine,
        "UPDATE dag_run SET state = 'running', ended_at = NULL WHERE id = :id",
        id=unfinished,
    )

    remove(scheduler)

    assert ids(engine) == [past, unfinished, last]


def test_runs_of_a_backfill_stay_until_it_is_done(engine: Engine, scheduler: Replica) -> None:
    run, other, latest = add_runs(engine, [60, 50, 40])
    run_sql(
        engine,
        "INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)"
        " VALUES ('etl', now(), now(), 1, 2)",
    )
    run_sql(engine, "UPDATE dag_run SET backfill_id = 1 WHERE id <= :id", id=other)
    run_sql(engine, "UPDATE dag_run SET state = 'queued', started_at = NULL, ended_at = NULL"
            " WHERE id = :id", id=other)  # fmt: skip
    run_sql(engine, "UPDATE dag_run SET schedule_date = schedule_date - interval '20 days'"
            " WHERE id = :id", id=other)  # fmt: skip
    assert keep_reasons_of(remove(scheduler)) == {"backfill", "latest"}

    run_sql(engine, "UPDATE dag_run SET state = 'success', started_at = :at, ended_at = :at"
            " WHERE id = :id", id=other, at="2024-01-01Z")  # fmt: skip
    remove(scheduler)

    assert ids(engine) == [latest]
    assert ids(engine, "backfill", "planned") == [0]
    assert run != other


def test_a_portion_is_small_and_the_next_one_goes_on_after_it(
    engine: Engine, scheduler: Replica
) -> None:
    first, second, _, _ = add_runs(engine, [60, 50, 40, 31], tasks=600)

    expired = remove(scheduler)

    assert expired.portion.ids == [first]
    assert expired.portion.next is not None
    assert expired.portion.next.id == first
    assert expire(scheduler, RetainedKind.RUNS, MONTH, expired.portion.next).portion.ids == [second]


def test_what_another_has_is_skipped_and_nobody_waits(
    engine: Engine, database_url: str, scheduler: Replica
) -> None:
    add_runs(engine, [60, 50, 40])
    theirs = []

    def other() -> None:
        with logins.entered(database_url, Login.SCHEDULER, "scheduler") as (its, me):
            theirs.append(remove(Replica(its, me, scheduler.settings)))

    mine = expire(scheduler, RetainedKind.RUNS, MONTH, BEGINNING, before_commit=other)

    assert (mine.removed, theirs[0].removed) == (2, 0)
    assert theirs[0].contended
    assert not mine.contended


def test_the_latest_run_cannot_be_deleted_while_those_before_it_go(
    engine: Engine, scheduler: Replica
) -> None:
    add_runs(engine, [60, 50])
    held = []

    def look() -> None:
        with engine.connect() as conn, pytest.raises(DBAPIError) as refused:
            conn.execute(LOCK_LATEST)
        held.append(getattr(refused.value.orig, "pgcode", None))

    assert expire(scheduler, RetainedKind.RUNS, MONTH, BEGINNING, before_commit=look).removed == 1
    assert held == [NO_LOCK]


def test_the_journal_tells_of_what_is_removed_from_it(engine: Engine, scheduler: Replica) -> None:
    run_sql(engine, ADD_EVENTS)
    kept = len(ids(engine, "event")) - 50

    removed = remove(scheduler, RetainedKind.EVENTS).removed

    [event] = journal(engine)
    assert (removed, event["removed"], event["kind"]) == (50, 50, "events")
    assert len(ids(engine, "event")) == kept + 1
    assert str(event["from"])[:10] == days_ago(engine, 90)
    assert str(event["to"])[:10] == days_ago(engine, 41)


def days_ago(engine: Engine, days: int) -> str:
    with engine.connect() as conn:
        return str(conn.scalar(text("SELECT date(now() - make_interval(days => :d))"), {"d": days}))


@pytest.mark.parametrize("login", [Login.SCHEDULER, Login.USER])
def test_nobody_removes_what_is_young_or_in_anothers_name(
    engine: Engine, database_url: str, login: Login
) -> None:
    own, others = ("scheduler:1", "user:ann")[:: 1 if login is Login.SCHEDULER else -1]
    run, _ = add_runs(engine, [3, 2])
    run_sql(engine, "UPDATE dag_run SET ended_at = now() - interval '23 hours'")
    run_sql(engine, "INSERT INTO event (actor, action) VALUES ('user:ann', 'x')")
    with logins.logged_in(database_url, login) as its:
        with its.begin() as conn:
            assert expiry.remove(conn, RetainedKind.RUNS, own, [run], {}) == 0
            assert expiry.remove(conn, RetainedKind.EVENTS, own, ids(engine, "event"), {}) == 0
        for statement in ("DELETE FROM event", "UPDATE event SET actor = 'user:ann'"):
            assert refusal(its, text(statement)) == REFUSED
        if login is Login.SCHEDULER:
            assert refusal(its, text("DELETE FROM dag_run")) == REFUSED
        with pytest.raises(DBAPIError, match="in the name of"), its.begin() as conn:
            expiry.remove(conn, RetainedKind.RUNS, others, [run], {})
    assert journal(engine) == []


def test_whoever_asks_what_is_needed_stays(engine: Engine, scheduler: Replica) -> None:
    worker = seed.register(engine, "worker").id
    run, next_run, latest = add_runs(engine, [60, 50, 40], worker=worker)
    run_sql(engine, END_PROCESSES, ids=[worker])
    run_sql(engine, "UPDATE dag_run SET state = 'running', ended_at = NULL WHERE id = :id",
            id=next_run)  # fmt: skip

    with scheduler.engine.begin() as conn:
        assert (
            expiry.remove(conn, RetainedKind.RUNS, "scheduler:1", [run, next_run, latest], {}) == 0
        )
        assert expiry.remove(conn, RetainedKind.PROCESSES, "scheduler:1", [worker], {}) == 0
        assert conn.scalar(text("SHOW statement_timeout")) == "10min"


@pytest.mark.parametrize("login", [Login.PARSER, Login.WORKER, Login.READONLY])
def test_no_other_role_removes_anything(engine: Engine, database_url: str, login: Login) -> None:
    with logins.logged_in(database_url, login) as its:
        for function in (
            "headway_remove('runs', 'user:ann', '{}', '{}')",
            "headway_run_keep_reasons('{}')",
        ):
            assert refusal(its, text(f"SELECT {function}")) == REFUSED


def refusal(engine: Engine, statement: TextClause) -> str | None:
    with pytest.raises(DBAPIError) as refused, engine.begin() as conn:
        conn.execute(statement)
    return getattr(refused.value.orig, "pgcode", None)


def test_ended_callbacks_go(engine: Engine, scheduler: Replica) -> None:
    _, unfinished, young = add_runs(engine, [60, 50, 10])
    run_sql(engine, "UPDATE callback SET state = 'queued', ended_at = NULL WHERE dag_run_id = :id",
            id=unfinished)  # fmt: skip

    assert remove(scheduler, RetainedKind.CALLBACKS).removed == 1
    assert ids(engine, "callback", "dag_run_id") == [unfinished, young]


def test_a_process_stays_while_something_refers_to_it(engine: Engine, scheduler: Replica) -> None:
    worker, idle, claims, alive = (seed.register(engine, "worker").id for _ in range(4))
    add_runs(engine, [60], worker=worker)
    run_sql(engine, END_PROCESSES, ids=[worker, idle, claims])
    run_sql(engine, "INSERT INTO lease VALUES (1, 9, gen_random_uuid(), now(), :id)", id=claims)

    expired = remove(scheduler, RetainedKind.PROCESSES)

    assert ids(engine, "process") == sorted([scheduler.me.id, worker, claims, alive])
    assert ids(engine, "process_beat", "process_id") == ids(engine, "process")
    assert expired.portion.kept == {KeepReason.REFERENCED: 2}


def test_the_policy_removes_portion_by_portion_and_says_how_far_it_is_behind(
    engine: Engine, scheduler: Replica
) -> None:
    add_runs(engine, [60, 50, 40], tasks=600)
    clock = FakeClock(datetime.now(UTC))
    retention = RetentionState(scheduler, clock)

    assert retention.step() > 0
    assert retention.behind(RetainedKind.RUNS) == pytest.approx(30 * DAY, rel=0.1)
    waits = [retention.step() for _ in range(3)]

    assert len(ids(engine)) == 1
    assert retention.behind(RetainedKind.RUNS) == 0
    assert waits[-1] == pytest.approx(scheduler.settings.retention_interval)
    clock.advance(100)
    assert retention.behind(RetainedKind.RUNS) == 100


def test_a_policy_that_removes_nothing_falls_behind(
    scheduler: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also right after a start: nothing was removed by this scheduler yet."""
    monkeypatch.setattr(
        "headway_scheduler.jobs.retention_thread.expire", MagicMock(side_effect=OSError("away"))
    )
    clock = FakeClock()
    retention = RetentionState(scheduler, clock)

    with pytest.raises(OSError, match="away"):
        retention.step()
    clock.advance(100)

    assert retention.behind(RetainedKind.RUNS) == 100


def test_a_scheduler_that_was_declared_dead_removes_nothing(
    engine: Engine, scheduler: Replica
) -> None:
    add_runs(engine, [60, 50])
    run_sql(engine, "UPDATE process SET ended_at = now() WHERE id = :id", id=scheduler.me.id)

    RetentionState(scheduler, FakeClock()).run()

    assert len(ids(engine)) == 2


def test_a_worker_learns_which_runs_are_gone(engine: Engine, database_url: str) -> None:
    add_runs(engine, [60, 50])
    there, gone, unknown = (
        ("etl", "scheduled__60"), ("etl", "scheduled__1"), ("other", "scheduled__60"),
    )  # fmt: skip
    with logins.logged_in(database_url, Login.WORKER) as its, its.connect() as conn:
        assert run_names.present(conn, [there, gone, unknown]) == {there, unknown}


def clean(url: str, *given: str) -> Result:
    names = {"HEADWAY_DATABASE_URL": logins.address(url, Login.USER)}
    return CliRunner().invoke(app, ["db", "clean", *given], env=names)


def test_a_user_is_told_what_would_go_and_then_what_went(engine: Engine, database_url: str) -> None:
    add_runs(engine, [60, 50, 40], tasks=3)
    add_runs(engine, [60, 50], dag_id="other")
    given = ("--older-than", "30d", "--kind", "runs", "--dag", "etl", "-o", "json")

    would = json.loads(clean(database_url, *given, "--dry-run").stdout)
    assert len(ids(engine)) == 5
    assert isinstance(clean(database_url, *given).exception, ConflictError)
    [done] = json.loads(clean(database_url, *given, "--yes", "--reason", "room").stdout)

    assert would[0]["would_remove"] == done["removed"] == 2
    assert (done["task_instances"], done["kept"]) == (6, {"latest of the DAG": 1})
    assert len(ids(engine)) == 3
    [event] = journal(engine)
    assert (event["reason"], event["role"]) == ("room", "headway_user")


def test_all_kinds_go_by_default(engine: Engine, database_url: str) -> None:
    add_runs(engine, [60, 50])
    run_sql(engine, ADD_EVENTS)
    done = json.loads(clean(database_url, "--older-than", "5w", "--yes", "-o", "json").stdout)

    assert {row["kind"]: row["removed"] > 0 for row in done} == {
        "runs": True, "events": True, "callbacks": True, "processes": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--older-than", "23h"], "1d or more"),
        (["--older-than", "soon"], "30d, 8w or 36h"),
        (["--older-than", "30d", "--kind", "processes", "--dag", "etl"], "Processes are of no DAG"),
        (["--older-than", "30d", "--dag", "elt"], "elt"),
        ([], "--older-than"),
    ],
)
def test_what_makes_no_sense_is_refused(
    engine: Engine, database_url: str, given: list[str], said: str
) -> None:
    done = clean(database_url, *given, "--yes")

    assert done.exit_code != 0
    assert said in click.unstyle(done.output) + str(done.exception)
