"""What a worker's own login gets of connections and variables: what its attempts are granted."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from headway.actions.installation import secrets as actions
from headway.db.access import delivery
from headway.db.access.logins import Login
from headway.db.core import identity, processes
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.db.execution import secret_requests
from headway.db.execution.secret_requests import Delivered
from headway.domain.dag.names import check_key
from headway.domain.errors import DagError
from headway.domain.states import TaskState
from headway.domain.variable import EVERY_DAG, SecretKind, from_text
from headway.testing.data import seed
from headway.testing.data.granted import KEYS, VALUE, ask, grant, store
from headway.testing.database.logins import bare_connection, logged_in

NOTHING = Delivered(granted=False, present=False, sealed=None)
UNGRANTED = Delivered(granted=False, present=True, sealed=None)
REFUSED = "42501"
ILLEGAL = "ZX001"
VERSION = delivery._VERSION


@pytest.fixture
def worker(database_url: str) -> Iterator[Engine]:
    """The login of workers."""
    with logged_in(database_url, Login.WORKER) as engine:
        yield engine


@pytest.fixture
def me(engine: Engine) -> Identity:
    store(engine)
    return seed.register(engine, "worker")


@pytest.fixture
def key(engine: Engine, me: Identity) -> AttemptKey:
    """An attempt of the DAG etl that this worker runs."""
    seed.queued(engine, seed.dag())
    [claimed] = seed.claim(engine, me)
    return claimed.key


def test_a_worker_registers_and_claims_by_its_own_login(
    engine: Engine, worker: Engine, key: AttemptKey
) -> None:
    with worker.begin() as conn:
        me = processes.register(conn, "worker", ("host", 1), "test")
    assert me.proof is not None
    assert str(me.proof) not in repr(me)
    with engine.connect() as conn:
        hidden = text("SELECT count(*) FROM process WHERE proof_hash = uuid_send(:proof)")
        assert conn.scalar(hidden, {"proof": str(me.proof)}) == 0


@pytest.mark.parametrize("dags", [["etl"], ["*"], ["other", "etl"]])
def test_what_is_granted_is_delivered(
    engine: Engine, worker: Engine, me: Identity, key: AttemptKey, dags: list[str]
) -> None:
    grant(engine, *dags)

    found = ask(worker, me, key)

    assert found is not None
    assert found.granted
    assert found.sealed is not None
    assert (
        from_text(SecretKind.VARIABLE, "v", KEYS.open(SecretKind.VARIABLE, "v", found.sealed))
        == VALUE
    )


def test_what_is_not_granted_is_not(
    engine: Engine, worker: Engine, me: Identity, key: AttemptKey
) -> None:
    assert ask(worker, me, key) == UNGRANTED
    grant(engine, "other", "etl2")
    grant(engine, "etl", name="w")
    grant(engine, "etl", kind=SecretKind.CONNECTION)
    assert ask(worker, me, key) == UNGRANTED
    assert ask(worker, me, key, kind=SecretKind.CONNECTION) == replace(NOTHING, granted=True)
    assert ask(worker, me, key, name="absent") == NOTHING

    grant(engine, "etl")
    assert ask(worker, me, key) != UNGRANTED
    with engine.begin() as conn:
        actions.revoke(conn, SecretKind.VARIABLE, "v", ["etl"], "user:ann")
    assert ask(worker, me, key) == UNGRANTED


def test_only_the_process_that_has_claimed_it_asks_for_an_attempt(
    engine: Engine, worker: Engine, me: Identity, key: AttemptKey
) -> None:
    """Another worker can read the token, as it logs in the same; not the proof."""
    grant(engine, "*")
    other = seed.register(engine, "worker")
    with worker.connect() as conn:
        seen = conn.scalar(text("SELECT token FROM task_attempt"))
    assert seen == key.token

    assert ask(worker, other, key) is None
    assert ask(worker, replace(other, id=me.id), key) is None
    assert ask(worker, replace(me, proof=None), key) is None
    assert ask(worker, replace(me, proof=uuid4()), key) is None
    assert ask(worker, me, replace(key, token=uuid4())) is None
    assert ask(worker, me, replace(key, attempt=2)) is None
    assert ask(worker, me, key) is not None


def test_an_attempt_that_stops_still_asks_and_one_that_has_ended_does_not(
    engine: Engine, worker: Engine, me: Identity, key: AttemptKey
) -> None:
    grant(engine, "*")
    seed.tell_to_stop(engine, [key], TaskState.FAILED)
    assert ask(worker, me, key) is not None

    seed.report(engine, [key])
    assert ask(worker, me, key) is None


@pytest.mark.regression
def test_what_a_worker_has_said_is_worth_nothing_in_another_connection(
    engine: Engine, worker: Engine, me: Identity, key: AttemptKey
) -> None:
    """Others with its login see the text of its statements."""
    grant(engine, "*")
    with worker.begin() as its, worker.begin() as other:
        identity.say(its, me)
        seen = its.scalar(text("SELECT current_setting('headway.process')"))
        other.execute(text("SELECT set_config('headway.process', :seen, true)"), {"seen": seen})
        assert secret_requests.ask(its, key, SecretKind.VARIABLE, "v") is not None
        assert secret_requests.ask(other, key, SecretKind.VARIABLE, "v") is None


def test_a_process_that_was_declared_dead_gets_nothing(
    engine: Engine, worker: Engine, me: Identity, key: AttemptKey
) -> None:
    grant(engine, "*")
    with engine.begin() as conn:
        conn.execute(processes.END, {"ids": [me.id]})

    assert ask(worker, me, key) is None


def code(error: DBAPIError) -> str | None:
    found: str | None = getattr(error.orig, "pgcode", None)
    return found


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE task_attempt SET process_id = {other}",
        "UPDATE task_attempt SET process_id = {other}, token = gen_random_uuid()",
        "UPDATE process SET proof_hash = sha256('')",
        "UPDATE task_attempt SET dag_id = 'other'",
        "UPDATE task_attempt SET phase = 'queued'",
        "INSERT INTO secret_grant VALUES ('variable', 'v', '*')",
        "UPDATE secret SET sealed = ''",
        "DELETE FROM process",
    ],
)
def test_a_worker_s_login_cannot_take_an_attempt_over(
    engine: Engine, worker: Engine, me: Identity, key: AttemptKey, change: str
) -> None:
    """Not even who runs it."""
    identity.introduce(worker, me)
    other = seed.register(engine, "worker")

    with pytest.raises(DBAPIError) as caught, worker.begin() as conn:
        conn.execute(text(change.format(other=other.id)))

    assert code(caught.value) in (REFUSED, ILLEGAL)


def test_readers_see_which_secrets_there_are(database_url: str) -> None:
    with bare_connection(database_url, Login.READONLY) as conn:
        conn.exec_driver_sql("SELECT kind, name, type, description, key_id, changed_at FROM secret")


@pytest.mark.parametrize("login", [Login.PARSER, Login.SCHEDULER, Login.WORKER])
def test_no_other_login_sees_which_secrets_there_are(database_url: str, login: Login) -> None:
    with bare_connection(database_url, login) as conn, pytest.raises(DBAPIError) as caught:
        conn.exec_driver_sql("SELECT FROM secret")

    assert code(caught.value) == REFUSED


@pytest.mark.parametrize("login", [Login.PARSER, Login.SCHEDULER, Login.WORKER, Login.READONLY])
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT sealed FROM secret",
        "SELECT * FROM secret",
        "SELECT FROM secret WHERE sealed > ''",
        "COPY secret TO STDOUT",
        "INSERT INTO secret (name) VALUES ('v')",
        "DELETE FROM secret_grant",
    ],
)
def test_no_other_login_reads_or_changes_the_tables(
    database_url: str, login: Login, statement: str
) -> None:
    with bare_connection(database_url, login) as conn, pytest.raises(DBAPIError) as caught:
        conn.exec_driver_sql(statement)

    assert code(caught.value) in (REFUSED, "25006")


@pytest.mark.parametrize("login", [name for name in Login if name is not Login.WORKER])
def test_no_other_login_may_call_the_function(database_url: str, login: Login) -> None:
    with bare_connection(database_url, login) as conn, pytest.raises(DBAPIError) as caught:
        conn.exec_driver_sql("SELECT headway_secret('', '', 0, 0, NULL)")

    assert code(caught.value) == REFUSED


def test_the_function_looks_nowhere_but_in_its_own_schema(
    engine: Engine, worker: Engine, me: Identity, key: AttemptKey
) -> None:
    """Tables of the caller's, found first by its own search path, change nothing."""
    with worker.begin() as conn:
        conn.exec_driver_sql("CREATE TEMP TABLE secret_grant (kind text, name text, dag_id text)")
        conn.exec_driver_sql("CREATE TEMP TABLE task_attempt (LIKE public.task_attempt)")
        conn.exec_driver_sql("INSERT INTO pg_temp.secret_grant VALUES ('variable', 'v', '*')")
        conn.exec_driver_sql("SET LOCAL search_path = pg_temp, public")
        identity.say(conn, me)
        assert secret_requests.ask(conn, key, SecretKind.VARIABLE, "v") == UNGRANTED


def test_the_function_is_put_in_place_once(engine: Engine) -> None:
    stamp = text("SELECT xmin FROM pg_proc WHERE oid = to_regprocedure(:signature)")
    with engine.begin() as conn:
        before = conn.scalar(stamp, {"signature": delivery.SIGNATURE})
        delivery.install(conn)
        assert conn.scalar(stamp, {"signature": delivery.SIGNATURE}) == before
        conn.exec_driver_sql(f"COMMENT ON FUNCTION {delivery.SIGNATURE} IS 'of another release'")
        delivery.install(conn)
        assert conn.scalar(stamp, {"signature": delivery.SIGNATURE}) != before
        assert conn.scalar(delivery.INSTALLED, {"signature": delivery.SIGNATURE}) == VERSION


def test_every_dag_is_no_dag_s_id() -> None:
    with pytest.raises(DagError):
        check_key("DAG", EVERY_DAG)
