"""A DAG whose file is in another bundle by now: its versions have the grants of their own bundles.

What an attempt runs is the code that the bundle of its version had, whoever has the DAG id today.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text
from tests.integration.parses import parse, take_over

from headway.actions.change import Author
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.version_choice import LATEST
from headway.db.access import migrate
from headway.db.access.logins import Login
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.db.execution import attempts, callback_claims, notification_claims
from headway.db.execution.attempts import Report
from headway.db.execution.callback_claims import CallbackKey
from headway.db.scheduling import notifications, queued_runs, tasks
from headway.decide.changes.clear import Selection
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.notifiers import NotifierSpec, NotifyEvent
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_QUEUE, DagSpec
from headway.domain.states import Outcome, TaskState
from headway.domain.variable import to_bundle
from headway.testing.data import callbacks, seed
from headway.testing.data.granted import ask, grant, store
from headway.testing.database import old_schemas
from headway.testing.database.logins import logged_in

HERE, THERE = "main", "other"

DAG = replace(callbacks.caring(CallbackEvent.FAILURE), max_active_runs=16)

IN_FORCE = text("SELECT version_id FROM dag WHERE dag_id = 'etl'")
REPIN = text("UPDATE dag_run SET version_id = :version")
RUN = text("SELECT run_id FROM dag_run")
VERSION_OF_0029 = text("""
    INSERT INTO dag_version (id, dag_id, number, fingerprint, serialized, manifest_hash)
    OVERRIDING SYSTEM VALUE VALUES (9, 'gone', 2, 'g', '', 'm')
""")
ROWS_OF_0029 = (
    text("INSERT INTO code_manifest (hash, files) VALUES ('m', '{}')"),
    text("""
        INSERT INTO dag (dag_id, bundle, relative_path, version_id, active, paused,
                         max_active_runs, max_active_tasks)
        VALUES ('etl', 'main', 'etl.py', 2, true, false, 1, 1),
               ('gone', 'other', 'gone.py', 3, false, false, 1, 1)
    """),
    text("""
        INSERT INTO dag_version (id, dag_id, number, fingerprint, serialized, manifest_hash)
        OVERRIDING SYSTEM VALUE
        VALUES (1, 'etl', 1, 'f', '', 'm'), (2, 'etl', 2, 'f', '', 'm'),
               (3, 'gone', 1, 'f', '', 'm')
    """),
    text("""
        INSERT INTO dag_run (id, dag_id, run_id, run_type, state, schedule_date, interval_start,
                             interval_end, run_after, version_id, started_at)
        OVERRIDING SYSTEM VALUE
        SELECT 5, 'etl', 'r', 'manual', 'running', at, at, at, at, 1, at
          FROM (VALUES (TIMESTAMPTZ '2024-01-01')) AS it (at)
    """),
    text("""
        INSERT INTO task_instance (id, dag_run_id, dag_id, task_id, state, attempt, pool,
                                   pool_slots, queue, priority)
        OVERRIDING SYSTEM VALUE
        SELECT id, 5, 'etl', 't' || id, 'running', 1, 'default_pool', 1, 'default', 1
          FROM (VALUES (6), (7)) AS it (id)
    """),
    text("""
        INSERT INTO task_attempt (task_instance_id, attempt, phase, dag_id, pool, pool_slots, queue,
                                  rank, token, process_id, queued_at, claimed_until, started_at,
                                  ended_at, outcome)
        SELECT id, 1, phase, 'etl', 'default_pool', 1, 'default', 0, gen_random_uuid(), 9, at, at,
               at, CASE WHEN phase = 'ended' THEN at END,
               CASE WHEN phase = 'ended' THEN 'success' END
          FROM (VALUES (6, 'running', TIMESTAMPTZ '2024-01-01'), (7, 'ended', '2024-01-01'))
               AS it (id, phase, at)
    """),
    text("""
        INSERT INTO callback (id, dag_run_id, event, reason, state, token, process_id,
                              claimed_until)
        OVERRIDING SYSTEM VALUE
        VALUES (1, 5, 'failure', 'failed', 'queued', NULL, NULL, NULL),
               (2, 5, 'failure', 'failed', 'running', gen_random_uuid(), 9, now())
    """),
)

WAITING = text("SELECT id FROM task_instance WHERE dag_run_id = :run")


@pytest.fixture
def parser(engine: Engine) -> Identity:
    store(engine)
    return seed.register(engine, "parser")


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine, "worker")


@pytest.fixture
def worker(database_url: str) -> Iterator[Engine]:
    """The login of workers."""
    with logged_in(database_url, Login.WORKER) as engine:
        yield engine


def put(engine: Engine, parser: Identity, bundle: str, spec: DagSpec = DAG) -> int:
    """Have the DAG in this bundle, and in no other one; return its version in force."""
    other = THERE if bundle == HERE else HERE
    take_over(engine, parser, parse("etl.py", bundle=other), parse("etl.py", spec, bundle=bundle))
    with engine.connect() as conn:
        return int(conn.execute(IN_FORCE).scalar_one())


def attempt(engine: Engine, me: Identity, version: int, day: int = 0) -> AttemptKey:
    """Run the task of the DAG, of that version; return the attempt."""
    runs = seed.create_runs(engine, version, [day])
    with engine.begin() as conn:
        queued_runs.start(conn, runs, seed.START, seed.AGING)
        waiting = list(conn.scalars(WAITING, {"run": runs[0]}))
        tasks.decide(conn, {TaskState.SCHEDULED: waiting}, seed.START, seed.AGING)
        tasks.queue(conn, waiting, seed.START, seed.SCHEDULER)
    [claimed] = seed.claim(engine, me)
    return claimed.key


def may(worker: Engine, me: Identity, key: AttemptKey | CallbackKey) -> bool:
    found = ask(worker, me, key)
    assert found is not None
    return found.granted


@pytest.mark.regression
@pytest.mark.parametrize("granted", [HERE, THERE])
def test_each_version_of_a_dag_that_has_moved_has_its_own_bundle_s_grants(
    engine: Engine, worker: Engine, parser: Identity, me: Identity, granted: str
) -> None:
    """Though the file is the same in both bundles, byte by byte."""
    grant(engine, to_bundle(granted))
    before = put(engine, parser, HERE)
    running = attempt(engine, me, before)

    after = put(engine, parser, THERE)

    assert after != before
    assert may(worker, me, running) is (granted == HERE)
    assert may(worker, me, attempt(engine, me, before, day=1)) is (granted == HERE)
    assert may(worker, me, attempt(engine, me, after, day=2)) is (granted == THERE)


def test_a_dag_that_comes_back_is_of_its_first_version_again(
    engine: Engine, parser: Identity
) -> None:
    before = put(engine, parser, HERE)
    moved = put(engine, parser, THERE)

    assert moved != before
    assert put(engine, parser, HERE) == before
    assert put(engine, parser, THERE) == moved


def test_versions_of_before_are_of_the_bundle_that_has_their_dag(
    empty: Engine, empty_url: str
) -> None:
    """And what was claimed before is of the version of its run."""
    old_schemas.put(empty, "0029", *ROWS_OF_0029)

    migrate.upgrade(empty_url)

    with empty.connect() as conn:
        assert list(conn.scalars(text("SELECT bundle FROM dag_version ORDER BY id"))) == [
            "main",
            "main",
            "other",
        ]
        attempts = "SELECT version_id FROM task_attempt ORDER BY task_instance_id"
        assert list(conn.scalars(text(attempts))) == [1, None]
        assert list(conn.scalars(text("SELECT version_id FROM callback ORDER BY id"))) == [None, 1]


def test_a_version_of_a_parser_of_an_older_release_is_of_the_bundle_of_its_dag(
    empty: Engine, empty_url: str
) -> None:
    """While an upgrade replaces parsers one by one, the older ones name no bundle."""
    old_schemas.put(empty, "0029", *ROWS_OF_0029)
    migrate.upgrade(empty_url)

    with empty.begin() as conn:
        conn.execute(VERSION_OF_0029)

    with empty.connect() as conn:
        assert conn.scalar(text("SELECT bundle FROM dag_version WHERE id = 9")) == "other"


@pytest.mark.parametrize("granted", [HERE, THERE])
def test_an_attempt_keeps_its_version_when_its_run_gets_another_one(
    engine: Engine, worker: Engine, parser: Identity, me: Identity, granted: str
) -> None:
    """The attempt goes on with the code that it has begun with, and the next one has the new."""
    grant(engine, to_bundle(granted))
    running = attempt(engine, me, put(engine, parser, HERE))
    put(engine, parser, THERE)

    with engine.begin() as conn:
        run_id = str(conn.scalar(RUN))
        clear_tasks(conn, "etl", run_id, Selection(("work",)), Author("user:ann"), LATEST)

    assert may(worker, me, running) is (granted == HERE)


@pytest.mark.parametrize("granted", [HERE, THERE])
def test_a_callback_has_the_grants_of_the_version_whose_functions_are_called(
    engine: Engine, worker: Engine, parser: Identity, me: Identity, granted: str
) -> None:
    grant(engine, to_bundle(granted))
    running = attempt(engine, me, put(engine, parser, HERE))
    assert callbacks.report(engine, running, Outcome.FAILED)
    with engine.begin() as conn:
        [claimed] = callback_claims.claim(conn, me, [DEFAULT_QUEUE], 10, 30)

    put(engine, parser, THERE)

    assert may(worker, me, claimed.key) is (granted == HERE)


@pytest.mark.parametrize("granted", [HERE, THERE])
def test_what_an_older_worker_has_claimed_has_the_grants_of_the_version_of_its_run(
    engine: Engine, worker: Engine, parser: Identity, me: Identity, granted: str
) -> None:
    """Such a worker runs while an installation is upgraded; it does not note the version."""
    grant(engine, to_bundle(granted))
    running = attempt(engine, me, put(engine, parser, HERE))
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_attempt SET version_id = NULL"))
    assert may(worker, me, running) is (granted == HERE)
    assert callbacks.report(engine, running, Outcome.FAILED)
    with engine.begin() as conn:
        [claimed] = callback_claims.claim(conn, me, [DEFAULT_QUEUE], 10, 30)
        conn.execute(text("UPDATE callback SET version_id = NULL"))

    assert may(worker, me, claimed.key) is (granted == HERE)


@pytest.mark.parametrize("granted", [HERE, THERE])
def test_a_notification_has_the_grants_of_the_version_that_has_its_notifier(
    engine: Engine, worker: Engine, parser: Identity, me: Identity, granted: str
) -> None:
    """Though its run is of another bundle's version by now, which tells others."""
    grant(engine, to_bundle(granted))
    running = attempt(engine, me, put(engine, parser, HERE, telling("v")))
    failed = Report(
        key=running,
        outcome=Outcome.FAILED,
        following=Next(TaskState.FAILED),
        notifies=(CallbackEvent.FAILURE,),
    )
    with engine.begin() as conn:
        assert attempts.report(conn, [failed])
        assert notifications.gather(conn, 10, 0, 0) == 1
    after = put(engine, parser, THERE, telling("w"))
    with engine.begin() as conn:
        conn.execute(REPIN, {"version": after})
        [claimed] = notification_claims.claim(conn, me, 10, 30)

    assert may(worker, me, claimed.key) is (granted == HERE)


def telling(connection: str) -> DagSpec:
    """Return the DAG with a notifier of its task's failures."""
    notifier = NotifierSpec(connection=connection, on=(NotifyEvent.FAILURE,))
    return replace(DAG, tasks=tuple(replace(task, notifiers=(notifier,)) for task in DAG.tasks))
