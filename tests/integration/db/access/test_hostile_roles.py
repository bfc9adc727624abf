"""What a login of Headway cannot do by statements of its own, whatever its program does."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import Column, Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from headway.db.access.grants_matrix import HIDDEN
from headway.db.access.logins import Login
from headway.db.core import processes
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.db.execution import callback_claims, leases
from headway.db.execution.attempts import Report
from headway.db.execution.callback_claims import CallbackReport
from headway.db.execution.spark_work import SparkNews
from headway.db.parsing import dag_registration, files, pins
from headway.db.parsing.dag_registration import DagEntry
from headway.db.parsing.files import FileKey
from headway.db.recovery import expired_state
from headway.db.schema import METADATA
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.run_request import RunWanted
from headway.domain.dag.spec import DEFAULT_QUEUE
from headway.domain.errors import FencedError
from headway.domain.spark_work import SparkProgress
from headway.domain.states import CallbackState, Outcome
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.data import callbacks, seed
from headway.testing.data.forced import UNGUARDED
from headway.testing.data.state_store import kept, make_expire
from headway.testing.database.logins import entered, logged_in
from headway_worker.database.callback_database import CallbackDatabase
from headway_worker.database.code import CodeCache
from headway_worker.database.worker_database import WorkerDatabase

REFUSED: Final = "42501"
REFUSALS: Final = {REFUSED, "ZX001", "23503"}
"""By a grant or a row check, by a guard, by a key."""

NOW: Final = "now()"


def given_by_the_database(column: Column[object]) -> bool:
    """Whether a new row gets this from a sequence, or from the database's clock."""
    default = column.server_default
    return column.identity is not None or str(getattr(default, "arg", "")) == NOW


def inserts(verb: str) -> Iterator[tuple[str, str]]:
    """Yield statements that give what the database gives, each with its column."""
    for table in METADATA.sorted_tables:
        for column in filter(given_by_the_database, table.columns):
            into = f"{table.name} ({column.name}) OVERRIDING SYSTEM VALUE"
            yield f"{table.name}.{column.name}", f"{verb} INSERT INTO {into} VALUES (NULL)"


def outcome(conn: Connection, statement: str) -> str:
    """Return the code of the refusal, or an empty text."""
    savepoint = conn.begin_nested()
    try:
        conn.execute(text(statement))
    except DBAPIError as error:
        return str(getattr(error.orig, "pgcode", None))
    finally:
        savepoint.rollback()
    return ""


@pytest.mark.regression
@pytest.mark.parametrize("login", Login)
def test_no_role_chooses_an_id_or_the_time_of_what_it_enters(
    engine: Engine, database_url: str, login: Login
) -> None:
    names = {name for name, _ in inserts("")}
    assert {"event.at", "event.id", "process.id", "process_beat.beat_at", "dag_run.id"} <= names
    with logged_in(database_url, login) as own, own.connect() as conn:
        allowed = [
            name for name, statement in inserts("EXPLAIN") if outcome(conn, statement) != REFUSED
        ]

    assert allowed == []
    with engine.connect() as conn:  # none is refused for being wrong by itself
        assert {outcome(conn, statement) for _, statement in inserts("EXPLAIN")} == {""}


@pytest.mark.regression
@pytest.mark.parametrize(
    ("login", "table"),
    [
        (login, table)
        for login in (Login.READONLY, Login.USER)
        for table in HIDDEN
        if (login, table) != (Login.USER, "secret")  # users store secrets, and read them
    ],
)
def test_who_only_looks_sees_no_token_and_no_proof(
    database_url: str, login: Login, table: str
) -> None:
    assert {"task_attempt", "lease", "callback", "process"} <= HIDDEN.keys()
    seen = ", ".join(set(METADATA.tables[table].columns.keys()) - set(HIDDEN[table]))
    with logged_in(database_url, login) as own, own.connect() as conn:
        for column in HIDDEN[table]:
            assert outcome(conn, f"SELECT {column} FROM {table}") == REFUSED
            assert outcome(conn, f"SELECT 1 FROM {table} WHERE {column} IS NULL") == REFUSED
        assert outcome(conn, f"SELECT * FROM {table}") == REFUSED
        assert outcome(conn, f"SELECT {seen} FROM {table}") == ""


@pytest.mark.regression
@pytest.mark.parametrize("login", [Login.PARSER, Login.SCHEDULER, Login.WORKER])
def test_no_service_reads_the_hash_of_a_proof(database_url: str, login: Login) -> None:
    with logged_in(database_url, login) as own, own.connect() as conn:
        assert outcome(conn, "SELECT proof_hash FROM process") == REFUSED


ENDED: Final = "task_instance_id = 1"
LIVE: Final = "task_instance_id = 2"

CALLBACKS: Final = text("""
    INSERT INTO callback (dag_run_id, event, reason, state, token, process_id, claimed_until,
                          ended_at)
    VALUES (1, 'failure', 'failed', 'queued', NULL, NULL, NULL, NULL),
           (1, 'failure', 'failed', 'running', gen_random_uuid(), :worker,
            now() + interval '1 h', NULL),
           (1, 'failure', 'failed', 'success', gen_random_uuid(), :worker, now(), now())
""")

ANYBODY: Final = {
    "end a scheduler": "UPDATE process SET ended_at = now() WHERE kind = 'scheduler'",
    "end another process": "UPDATE process SET ended_at = now() WHERE id <> {me}",
    "lock another process": "SELECT FROM process WHERE id <> {me} FOR SHARE",
    "be a scheduler": "INSERT INTO process (kind, hostname, pid, version) "
    "VALUES ('scheduler', 'h', 1, '1')",
    "silence another": "UPDATE process_beat SET beat_at = 'epoch' WHERE process_id <> {me}",
    "speak as a user": "INSERT INTO event (actor, action) VALUES ('user:ann', 'run.delete')",
    "speak as a scheduler": "INSERT INTO event (actor, action) VALUES ('scheduler:1', 'x')",
    "speak as another worker": "INSERT INTO event (actor, action) VALUES ('worker:{worker}', 'x')",
    "speak as another parser": "INSERT INTO event (actor, action) VALUES ('parser:{parser}', 'x')",
    "read what is proved": "SELECT proof_hash FROM process",
}

WORKER: Final = {
    **ANYBODY,
    "drain another worker": "UPDATE process SET drain_requested_at = now() WHERE id = {worker}",
    "rewrite an ended attempt": "UPDATE task_attempt SET error = 'x' WHERE " + ENDED,
    "rewrite the time of one": "UPDATE task_attempt SET started_at = now() WHERE " + ENDED,
    "end another's attempt": "UPDATE task_attempt SET phase = 'ended', ended_at = now(), "
    "outcome = 'success' WHERE " + LIVE,
    "take another's attempt": "UPDATE task_attempt SET process_id = {me} WHERE " + LIVE,
    "keep another's attempt": "UPDATE task_attempt SET claimed_until = now() + interval '1 y' "
    "WHERE " + LIVE,
    "forge a handle": "UPDATE task_attempt SET handle = '{{}}' WHERE " + LIVE,
    "write what waits": "UPDATE task_attempt SET error = 'x' WHERE phase = 'queued'",
    "claim for another": "UPDATE task_attempt SET phase = 'running', token = gen_random_uuid(), "
    "process_id = {worker}, claimed_until = now() WHERE phase = 'queued'",
    "end another's task": "UPDATE task_instance SET state = 'success', ended_at = now() "
    "WHERE state = 'running'",
    "take another's task": "UPDATE task_instance SET process_id = {me} WHERE state = 'running'",
    "rewrite a task that has ended": "UPDATE task_instance SET ended_at = now(), "
    "process_id = {me} WHERE id = 1",
    "use up its retries": "UPDATE task_instance SET failures = 99, process_id = {me}, "
    "state = 'running' WHERE state = 'queued'",
    "leave a value for another": "INSERT INTO xcom (task_instance_id, attempt, key, value) "
    "VALUES (2, 1, 'other', '1')",
    "leave a value for an ended one": "INSERT INTO xcom (task_instance_id, attempt, key, value) "
    "VALUES (1, 1, 'other', '1')",
    "rewrite a value": "UPDATE xcom SET value = '2'",
    "replace a value": "INSERT INTO xcom (task_instance_id, attempt, key, value) "
    "VALUES (1, 1, 'k', '2') ON CONFLICT (task_instance_id, attempt, key) "
    "DO UPDATE SET value = excluded.value",
    "extend another's lease": "UPDATE lease SET expires_at = now() + interval '1 y'",
    "end another's lease": "DELETE FROM lease WHERE " + LIVE,
    "lease another's attempt": "INSERT INTO lease VALUES (1, 1, gen_random_uuid(), now(), {me})",
    "have a run looked at": "INSERT INTO wake (dag_run_id) VALUES (1)",
    "forge an end": "INSERT INTO wake (dag_run_id, task_id, state, skips, task_instance_id) "
    "VALUES (1, 't1', 'success', '{{}}', 2)",
    "forge an end of nothing": "INSERT INTO wake (dag_run_id, task_id, state, skips) "
    "VALUES (1, 't1', 'success', '{{}}')",
    "forge a callback": "INSERT INTO callback (dag_run_id, event, reason) "
    "VALUES (1, 'failure', 'failed')",
    "forge a callback of a task": "INSERT INTO callback (dag_run_id, task_id, map_index, attempt, "
    "event, reason) VALUES (1, 't1', -1, 1, 'failure', 'failed')",
    "rewrite an ended callback": "UPDATE callback SET error = 'x' WHERE ended_at IS NOT NULL",
    "end another's callback": "UPDATE callback SET state = 'success', ended_at = now() "
    "WHERE state = 'running'",
    "claim a callback for another": "UPDATE callback SET state = 'running', "
    "token = gen_random_uuid(), process_id = {worker}, claimed_until = now() "
    "WHERE state = 'queued'",
    "ask for a run for another": "INSERT INTO run_request (task_instance_id, attempt, number, "
    "dag_id, conf, reset, unless_paused, waits) "
    "VALUES (2, 1, 1, 'other', '{{}}', false, false, false)",
    "ask for a run for an ended one": "INSERT INTO run_request (task_instance_id, attempt, number, "
    "dag_id, conf, reset, unless_paused, waits) "
    "VALUES (1, 1, 1, 'other', '{{}}', false, false, false)",
    "keep a value for another": "INSERT INTO task_state_store (dag_run_id, task_id, map_index, "
    "key, value) VALUES (1, 't1', -1, 'other', '1')",
    "keep a value for an ended one": "INSERT INTO task_state_store (dag_run_id, task_id, "
    "map_index, key, value) VALUES (1, 't0', -1, 'other', '1')",
    "rewrite what another keeps": "UPDATE task_state_store SET value = '2'",
    "remove what another keeps": "DELETE FROM task_state_store",
    "answer a request": "UPDATE run_request SET answer = 'created', answer_run_id = 'x', "
    "answered_at = now()",
    "create a run": "INSERT INTO dag_run (dag_id, run_id, run_type, schedule_date, "
    "interval_start, interval_end, run_after, version_id) "
    "SELECT dag_id, 'x', 'manual', now(), now(), now(), now(), version_id FROM dag",
    "tell of another's work": "INSERT INTO spark_work VALUES (2, 1, '{{}}', '{{}}', now())",
    "be a parser": "INSERT INTO process (kind, hostname, pid, version) "
    "VALUES ('parser', 'h', 1, '1')",
}

PARSER: Final = {
    **ANYBODY,
    "look at other bundles for another": "UPDATE process SET bundles = '{{x}}' WHERE id <> {me}",
    "be a worker": "INSERT INTO process (kind, hostname, pid, version) "
    "VALUES ('worker', 'h', 1, '1')",
    "deactivate everything": "UPDATE dag SET active = false",
    "pin a run to another DAG's version": "UPDATE dag_run SET pinned = true, version_id = "
    "(SELECT version_id FROM dag WHERE dag_id = 'other') WHERE NOT pinned",
    "pin a run to an old version": "UPDATE dag_run SET pinned = true, version_id = "
    "(SELECT min(id) FROM dag_version WHERE dag_id = 'late') WHERE NOT pinned",
    "pin a run that is pinned": "UPDATE dag_run SET version_id = version_id WHERE pinned",
}


@dataclass(frozen=True, slots=True)
class World:
    """The database with the rows of live services."""

    engine: Engine
    url: str
    worker: Identity
    parser: Identity

    def named(self, statement: str, me: int) -> str:
        """Return the statement with the processes that it is about."""
        return statement.format(me=me, worker=self.worker.id, parser=self.parser.id)

    def succeeding(self, login: Login, kind: str, statements: Mapping[str, str]) -> dict[str, str]:
        """Return those statements that are neither refused nor without effect, by their names."""
        found = {}
        with entered(self.url, login, kind) as (own, me):
            for name, statement in statements.items():
                with own.connect() as conn:
                    how = effect(conn, self.named(statement, me.id))
                if how not in REFUSALS | {"0 rows"}:
                    found[name] = how
        return found


@pytest.fixture
def world(engine: Engine, database_url: str) -> World:
    """A process of each kind; a DAG with an attempt that has ended, one that runs and one that
    waits, and with callbacks; a DAG whose run is to be pinned.
    """
    seed.register(engine)
    worker, parser = seed.register(engine, "worker"), seed.register(engine, "parser")
    with engine.begin() as conn:
        conn.execute(
            text("INSERT INTO dag_file (bundle, relative_path, parser_id) VALUES ('main', :p, :i)"),
            [{"p": f"{name}.py", "i": parser.id} for name in ("etl", "other", "late")],
        )
    seed.queued(engine, seed.wide(3))
    first, second = (attempt.key for attempt in seed.claim(engine, worker, limit=2))
    with engine.begin() as conn:
        conn.execute(
            text("INSERT INTO xcom (task_instance_id, attempt, key, value) VALUES (1, 1, 'k', '1')")
        )
        for task in ("t0", "t1"):
            conn.execute(
                text(
                    "INSERT INTO task_state_store (dag_run_id, task_id, map_index, key, value) "
                    "VALUES (1, :task, -1, 'k', '1')"
                ),
                {"task": task},
            )
        leases.renew(conn, [second], 60)
        conn.execute(
            text(
                "INSERT INTO run_request (task_instance_id, attempt, number, dag_id, conf, reset, "
                "unless_paused, waits) VALUES (2, 1, 9, 'other', '{}', false, false, false)"
            )
        )
    with engine.begin() as conn:
        conn.execute(UNGUARDED)
        conn.execute(CALLBACKS, {"worker": worker.id})
    seed.report(engine, [first])
    seed.store(engine, seed.dag(dag_id="other"))
    seed.store(engine, seed.dag(dag_id="late"))
    version = seed.store(engine, seed.dag(seed.task("more"), dag_id="late"))
    seed.create_runs(engine, version, [0])
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET pinned = false WHERE dag_id = 'late'"))
    return World(engine, database_url, worker, parser)


def effect(conn: Connection, statement: str) -> str:
    """Return how a statement ends: refused with which code, or with how many rows."""
    savepoint = conn.begin_nested()
    try:
        return f"{conn.exec_driver_sql(statement.replace('%', '%%')).rowcount} rows"
    except DBAPIError as error:
        return str(getattr(error.orig, "pgcode", None))
    finally:
        savepoint.rollback()


@pytest.mark.regression
def test_a_worker_writes_nothing_that_is_not_its_own(world: World) -> None:
    assert world.succeeding(Login.WORKER, "worker", WORKER) == {}


@pytest.mark.regression
def test_a_parser_writes_nothing_that_is_not_its_own(world: World) -> None:
    assert world.succeeding(Login.PARSER, "parser", PARSER) == {}


@pytest.mark.regression
def test_nothing_is_refused_for_being_wrong_by_itself(world: World) -> None:
    """Every statement takes effect for the owner of the tables, whom nothing checks."""
    by_keys = {"pin a run to another DAG's version": "23503"}
    for statements in (WORKER, PARSER):
        for name, statement in statements.items():
            with world.engine.connect() as conn:
                how = effect(conn, world.named(statement, 0))
            assert how != "0 rows", name
            assert how.endswith(" rows") or how == by_keys.get(name), name


@pytest.mark.regression
@pytest.mark.parametrize("said", ["", "{id}", "{id}:", "{id}:{proof}", "{id}::{proof}", "x:y"])
def test_who_names_another_process_without_its_proof_is_nobody(world: World, said: str) -> None:
    it = said.format(id=world.worker.id, proof="00" * 16)
    with logged_in(world.url, Login.WORKER) as session, session.connect() as conn:
        conn.execute(text("SELECT set_config('headway.process', :it, true)"), {"it": it})
        how = effect(conn, world.named("UPDATE process SET ended_at = now()", 0))

    assert how in {"0 rows", "22P02"}


@pytest.mark.regression
@pytest.mark.parametrize("login", [Login.SCHEDULER, Login.USER])
def test_users_and_schedulers_speak_in_the_name_of_their_kind(world: World, login: Login) -> None:
    kinds = ("user", "scheduler", "worker", "parser")
    entry = "INSERT INTO event (actor, action) VALUES ('{kind}:1', 'x')"
    with logged_in(world.url, login) as own, own.connect() as conn:
        allowed = [kind for kind in kinds if effect(conn, entry.format(kind=kind)) == "1 rows"]

    assert allowed == [login.removeprefix("headway_")]


def test_a_scheduler_removes_of_state_stores_what_has_expired_and_nothing_else(
    world: World,
) -> None:
    make_expire(world.engine, "k")
    with world.engine.begin() as conn:
        conn.execute(text("UPDATE task_state_store SET expires_at = NULL WHERE task_id = 't1'"))

    with entered(world.url, Login.SCHEDULER, "scheduler") as (own, _):
        with own.connect() as conn:
            assert effect(conn, "DELETE FROM task_state_store") == "1 rows"
            assert effect(conn, "UPDATE task_state_store SET expires_at = now()") == "42501"
            assert effect(conn, "SELECT value FROM task_state_store") == "42501"
        with own.begin() as conn:
            assert expired_state.delete(conn) == 1

    assert len(kept(world.engine)) == 1


def test_a_worker_does_its_work_by_its_own_login(world: World, tmp_path: Path) -> None:
    """What is neighbour to all that is refused."""
    spec = callbacks.caring(CallbackEvent.SUCCESS)
    seed.queued(world.engine, seed.dag(*spec.tasks, dag_id="mine"))
    given = configuration.read(WorkerSettings)
    with entered(world.url, Login.WORKER, "worker") as (own, me):
        database = WorkerDatabase(own, me, given, CodeCache(tmp_path))
        claimed = database.claim(9)
        keys = [work.claimed.key for work in claimed]
        assert len(keys) == 2
        assert database.renew(keys).stopping == dict.fromkeys(keys, False)
        assert database.renew(keys).stopping == dict.fromkeys(keys, False)
        for work in claimed:
            database.push_xcom(work.claimed, "k", 1)
            database.push_xcom(work.claimed, "k", 2)
            database.write_store(work.claimed, "kept", 1, timedelta(days=1))
            database.write_store(work.claimed, "kept", 2, None)
            database.write_store(work.claimed, "removed", 2, None)
            database.clear_store(work.claimed, "removed")
            assert database.read_store(work.claimed, "kept") == (2,)
            assert database.read_store(work.claimed, "removed") is None
            database.save_handle(work.claimed, {"app": 1})
            wanted = RunWanted(dag_id="other", conf={"a": 1})
            assert [database.ask_for_run(work.claimed, 1, wanted) for _ in range(2)] == [None, None]
            database.name_instance(work.claimed, "UA")
        half = SparkProgress(stages=1, tasks=4, tasks_done=2)
        said = [SparkNews(key=key, progress=half) for key in keys]
        database.tell(said)
        database.report([_success(key) for key in keys])
        database.tell(said)
        calls = CallbackDatabase(database)
        with own.begin() as conn:
            mine = callback_claims.claim(conn, me, [DEFAULT_QUEUE], 9, 30)
        assert len(mine) == 2
        assert calls.renew([callback.key for callback in mine]).stopping.keys() == {
            callback.key for callback in mine
        }
        calls.report(
            [
                CallbackReport(mine[0].key, CallbackState.SUCCESS),
                CallbackReport(mine[1].key, CallbackState.QUEUED),
            ]
        )

    told = text("SELECT count(*) FROM wake WHERE task_instance_id IS NOT NULL")
    with world.engine.connect() as conn:
        assert conn.scalar(told) == 3
        assert conn.scalar(text("SELECT count(*) FROM spark_work")) == 2
        assert conn.scalar(text("SELECT count(*) FROM run_request")) == 3
        assert conn.scalar(text("SELECT count(*) FROM xcom WHERE key = 'k'")) == 3
        assert conn.scalar(text("SELECT count(*) FROM task_state_store WHERE key = 'kept'")) == 2
        assert conn.scalar(text("SELECT count(*) FROM lease")) == 1


def _success(key: AttemptKey) -> Report:
    return Report(
        key=key,
        outcome=Outcome.SUCCESS,
        following=seed.SUCCESS,
        callbacks=(CallbackEvent.SUCCESS,) if key.task_instance_id > 3 else (),
    )


def test_a_worker_keeps_its_own_rows(world: World) -> None:
    with entered(world.url, Login.WORKER, "worker") as (own, me):
        with own.begin() as conn:
            processes.confirm(conn, me)
            processes.beat_worker(conn, me, {"disk": 1})
            assert processes.drain(conn, me.id)
        with own.begin() as conn:
            processes.leave(conn, me)
        with own.begin() as conn, pytest.raises(FencedError):
            processes.confirm(conn, me)


def test_a_parser_keeps_its_own_rows_and_those_of_its_files(world: World) -> None:
    with entered(world.url, Login.PARSER, "parser") as (own, me):
        with own.begin() as conn:
            processes.confirm(conn, me)
            processes.serve(conn, me, ["main"])
            processes.beat(conn, me)
            runs = [run for wanted in pins.wanted(conn, "main") for run in wanted.run_ids]
            assert pins.pin(conn, runs or [2], f"parser:{me.id}", "why") == 1
        with world.engine.begin() as conn:
            claim = text(
                "UPDATE dag_file SET claimed = true, parser_id = :me WHERE relative_path = 'etl.py'"
            )
            conn.execute(claim, {"me": me.id})
        with own.begin() as conn:
            assert dag_registration.deactivate_missing(conn, {FileKey("main", "etl.py"): []}) == [
                "etl"
            ]
            assert files.forget(conn, "main", ["other.py"]) == ["other"]
            spec = seed.dag(dag_id="etl")
            assert dag_registration.enter(
                conn, [DagEntry("main", "etl.py", spec)], paused=False
            ) == {"etl"}
