"""The guards: every (role, from, to) of every table, and what there is to get round them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from itertools import product
from typing import Final

import psycopg2
import pytest
from sqlalchemy import Connection, Engine, TextClause, text
from sqlalchemy.exc import DBAPIError

from headway.db.access import guards, row_checks
from headway.db.access.guards import GUARDS, Guard
from headway.db.access.logins import Login
from headway.db.core import events
from headway.db.core.engine import is_transient
from headway.db.core.events import Event
from headway.domain.states import Phase, Role
from headway.metrics.process import ILLEGAL_TRANSITIONS
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.daemon.loop import Found, Loop
from headway.testing.database.interleaving import in_background, wait_until_blocked
from headway.testing.database.logins import logged_in
from headway.testing.metrics.metrics import total

# One row for each state, whatever the guards and foreign keys say.
ROWS: Final = {
    "dag_run": text("""
        INSERT INTO dag_run (dag_id, run_id, run_type, state, schedule_date, interval_start,
                             interval_end, run_after, version_id, started_at, ended_at)
        SELECT 'etl', state, 'manual', state, now(), now(), now(), now(), 1,
               CASE WHEN state <> 'queued' THEN now() END,
               CASE WHEN state IN ('success', 'failed') THEN now() END
          FROM unnest(CAST(:states AS text[])) AS state
    """),
    "task_instance": text("""
        INSERT INTO task_instance (dag_run_id, dag_id, task_id, state, pool, pool_slots, queue,
                                   priority, retry_at)
        SELECT 1, 'etl', state, state, 'default_pool', 1, 'default', 1,
               CASE WHEN state = 'up_for_retry' THEN now() END
          FROM unnest(CAST(:states AS text[])) AS state
    """),
    "task_attempt": text("""
        INSERT INTO task_attempt (task_instance_id, attempt, phase, dag_id, pool, pool_slots,
                                  queue, rank, token, process_id, queued_at, claimed_until,
                                  ended_at, outcome, stop_to)
        SELECT place, 1, phase, 'etl', 'default_pool', 1, 'default', 0, gen_random_uuid(), 1,
               now(), now(), CASE WHEN phase = 'ended' THEN now() END,
               CASE WHEN phase = 'ended' THEN 'success' END, 'none'
          FROM unnest(CAST(:states AS text[])) WITH ORDINALITY AS it (phase, place)
    """),
    "callback": text("""
        INSERT INTO callback (dag_run_id, event, reason, state, token, process_id, claimed_until,
                              ended_at)
        SELECT 1, 'success', 'success', state, gen_random_uuid(),
               CASE WHEN state <> 'queued' THEN 1 END, now(),
               CASE WHEN state IN ('success', 'failed') THEN now() END
          FROM unnest(CAST(:states AS text[])) AS state
    """),
    "notification": text("""
        INSERT INTO notification (dag_run_id, notifier, event, collecting, state, due_at, token,
                                  process_id, claimed_until, ended_at)
        SELECT 1, 'ops', 'failure', false, state, now(), gen_random_uuid(),
               CASE WHEN state <> 'queued' THEN 1 END, now(),
               CASE WHEN state IN ('success', 'failed') THEN now() END
          FROM unnest(CAST(:states AS text[])) AS state
    """),
    "deadline": text("""
        INSERT INTO deadline (dag_run_id, name, state, due_at, check_at, judged_at)
        SELECT 1, state, state, now(), now(), CASE WHEN state <> 'open' THEN now() END
          FROM unnest(CAST(:states AS text[])) AS state
    """),
}

# With all that the checks of the table ask of a row in its new state.
MOVE: Final = {
    "dag_run": text("""
        UPDATE dag_run
           SET state = :target, started_at = CASE WHEN :target <> 'queued' THEN now() END,
               ended_at = CASE WHEN :target IN ('success', 'failed') THEN now() END
         WHERE state = :source
    """),
    "task_instance": text("""
        UPDATE task_instance
           SET state = :target, retry_at = CASE WHEN :target = 'up_for_retry' THEN now() END
         WHERE state = :source
    """),
    "task_attempt": text("""
        UPDATE task_attempt
           SET phase = :target, ended_at = CASE WHEN :target = 'ended' THEN now() END,
               outcome = CASE WHEN :target = 'ended' THEN 'cancelled' END
         WHERE phase = :source
    """),
    "callback": text("""
        UPDATE callback
           SET state = :target, process_id = CASE WHEN :target <> 'queued' THEN 1 END,
               ended_at = CASE WHEN :target IN ('success', 'failed') THEN now() END
         WHERE state = :source
    """),
    "notification": text("""
        UPDATE notification
           SET state = :target, process_id = CASE WHEN :target <> 'queued' THEN 1 END,
               ended_at = CASE WHEN :target IN ('success', 'failed') THEN now() END
         WHERE state = :source
    """),
    "deadline": text("""
        UPDATE deadline
           SET state = :target, judged_at = CASE WHEN :target <> 'open' THEN now() END
         WHERE state = :source
    """),
}

OWNER: Final = "the owner"
EVERYBODY: Final = (*Login, OWNER)

TASKS: Final = GUARDS[1]

WITHOUT_FOREIGN_KEYS: Final = text("""
    DO $$
    DECLARE it record;
    BEGIN
        FOR it IN SELECT CAST(conrelid AS regclass) AS home, conname
                    FROM pg_constraint WHERE contype = 'f' LOOP
            EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', it.home, it.conname);
        END LOOP;
    END $$
""")

LENT: Final = text("""
    CREATE FUNCTION skip() RETURNS void LANGUAGE sql SECURITY DEFINER AS
    $$ UPDATE task_instance SET state = 'skipped' WHERE state = 'none' $$
""")

ON_CONFLICT: Final = text("""
    INSERT INTO task_instance (id, dag_run_id, dag_id, task_id, pool, pool_slots, queue, priority)
    OVERRIDING SYSTEM VALUE
    SELECT id, dag_run_id, dag_id, task_id, pool, pool_slots, queue, priority
      FROM task_instance WHERE state = 'success'
        ON CONFLICT (id) DO UPDATE SET state = 'none'
""")

MERGE: Final = text("""
    MERGE INTO task_instance USING (SELECT 'success' AS state) AS old
       ON task_instance.state = old.state
     WHEN MATCHED THEN UPDATE SET state = 'none'
""")

TRIGGERS: Final = text("""
    SELECT tgname AS name, prosrc AS body
      FROM pg_trigger
      JOIN pg_proc ON pg_proc.oid = tgfoid
     WHERE NOT tgisinternal
""")

SKIP: Final = text("UPDATE task_instance SET state = 'skipped' WHERE state = 'none'")
CLEAR: Final = text("UPDATE task_instance SET state = 'none' WHERE state = 'success'")
EVENT: Final = Event(actor="user:ann", action="test")

each_guard = pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: str(guard.table))


@contextmanager
def connected(engine: Engine, who: str) -> Iterator[Connection]:
    """A transaction as that role, which may write all rows of all tables for once."""
    if who == OWNER:
        with engine.connect() as conn:
            yield conn
        return
    with engine.begin() as conn:
        conn.exec_driver_sql(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {who}")
        for table in row_checks.TABLES:
            conn.exec_driver_sql(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    url = engine.url.render_as_string(hide_password=False)
    with logged_in(url, Login(who)) as own, own.connect() as conn:
        yield conn


def fill(engine: Engine, guard: Guard) -> None:
    """Enter one row for each state."""
    with engine.begin() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        conn.execute(ROWS[guard.table], {"states": states(guard)})


def states(guard: Guard) -> list[str]:
    return [str(state) for state in guard.moves]


def passes(conn: Connection, statement: TextClause, **parameters: object) -> bool:
    """Whether a statement that touches one row gets past the guards; it is undone at once."""
    attempt = conn.begin_nested()
    try:
        assert conn.execute(statement, parameters).rowcount == 1
    except DBAPIError as error:
        if not guards.is_refusal(error):
            raise
        return False
    finally:
        attempt.rollback()
    return True


def is_legal(guard: Guard, who: str, pair: tuple[str, str], *, event: bool) -> bool:
    """What the tables of moves say; what stays in its state does not move."""
    source, target = pair
    if source == target:
        # A guard of whole rows: of an attempt that has ended a worker rewrites nothing.
        is_attempt = guard.table == "task_attempt"
        return not (is_attempt and source == Phase.ENDED and who == Login.WORKER)
    roles = next(
        (
            roles
            for state, moves in guard.moves.items()
            for to, roles in moves.items()
            if (state, to) == pair
        ),
        frozenset[Role](),
    )
    if who == OWNER:
        return bool(roles) and (event or source not in guard.final)
    role = guards.ROLES.get(Login(who))
    return role in roles and (event or (role is not Role.USER and source not in guard.final))


@each_guard
def test_a_move_passes_if_the_tables_of_moves_have_it(engine: Engine, guard: Guard) -> None:
    """Every role, every state, every other state, with and without an event."""
    fill(engine, guard)
    pairs = list(product(states(guard), states(guard)))
    for who in EVERYBODY:
        with connected(engine, who) as conn:
            for event in (False, True):
                if event:
                    events.add(conn, EVENT)
                passed = {
                    (source, target)
                    for source, target in pairs
                    if passes(conn, MOVE[guard.table], source=source, target=target)
                }
                legal = {pair for pair in pairs if is_legal(guard, who, pair, event=event)}
                assert passed == legal, who


@pytest.mark.parametrize("guard", [one for one in GUARDS if one.creators], ids=lambda it: it.table)
def test_a_row_begins_in_an_initial_state(engine: Engine, guard: Guard) -> None:
    with engine.begin() as conn:
        conn.execute(WITHOUT_FOREIGN_KEYS)
    for who in EVERYBODY:
        with connected(engine, who) as conn:
            begun = {
                state for state in states(guard) if passes(conn, ROWS[guard.table], states=[state])
            }
        role = None if who == OWNER else guards.ROLES.get(Login(who))
        own = guard.initial if who == OWNER else guard.creators.get(role, ()) if role else ()
        assert begun == set(own), who


def test_the_role_of_the_session_counts_and_not_the_one_in_use(engine: Engine) -> None:
    """A function that runs as its owner does not lend the owner's moves."""
    fill(engine, TASKS)
    with engine.begin() as conn:
        conn.execute(LENT)
    with connected(engine, Login.WORKER) as conn:
        assert not passes(conn, text("SELECT skip()"))


@pytest.mark.parametrize("statement", [ON_CONFLICT, MERGE], ids=["on conflict", "merge"])
def test_no_kind_of_statement_gets_by(engine: Engine, statement: TextClause) -> None:
    fill(engine, TASKS)
    with connected(engine, Login.SCHEDULER) as conn:
        assert not passes(conn, statement)


def test_copying_rows_in_does_not_get_by(engine: Engine) -> None:
    row = "1\tetl\twork\tsuccess\tdefault_pool\t1\tdefault\t1\n"
    columns = "dag_run_id, dag_id, task_id, state, pool, pool_slots, queue, priority"
    with connected(engine, Login.SCHEDULER) as conn:
        cursor = conn.connection.cursor()
        with pytest.raises(psycopg2.Error) as caught:
            cursor.copy_expert(f"COPY task_instance ({columns}) FROM STDIN", StringIO(row))

    assert guards.is_refusal(caught.value)


def test_a_statement_that_has_waited_is_judged_by_the_state_that_it_finds(engine: Engine) -> None:
    """Its own WHERE forgets to look again: the case for which there are guards."""
    fill(engine, TASKS)
    unguarded = text("UPDATE task_instance SET state = 'queued' WHERE task_id = 'scheduled'")
    with connected(engine, Login.SCHEDULER) as scheduler, engine.connect() as user:
        user.execute(MOVE["task_instance"], {"source": "scheduled", "target": "success"})
        with in_background(lambda: passes(scheduler, unguarded)) as passed:
            wait_until_blocked(engine)
            user.commit()
            assert passed.result() is False


def test_a_refusal_says_who_may_not_do_what(engine: Engine) -> None:
    fill(engine, TASKS)
    with connected(engine, Login.WORKER) as conn, pytest.raises(DBAPIError) as caught:
        conn.execute(SKIP)

    number = caught.value.orig
    assert str(number).startswith("headway_worker may not move task_instance 1 from none to skip")
    assert "HINT:  headway/domain/states.py has the moves." in str(number)


@pytest.mark.parametrize("who", [Login.USER, OWNER])
def test_an_event_is_entered_before_the_move_in_the_same_transaction(
    engine: Engine, who: str
) -> None:
    fill(engine, TASKS)
    with connected(engine, who) as conn:
        assert not passes(conn, CLEAR)

        taken_back = conn.begin_nested()
        events.add(conn, EVENT)
        assert passes(conn, CLEAR)
        taken_back.rollback()
        assert not passes(conn, CLEAR)

        events.add(conn, EVENT)
        conn.commit()
        assert not passes(conn, CLEAR)

        events.add(conn, Event(actor="", action="test"))
        assert not passes(conn, CLEAR)


def test_a_transaction_with_an_event_names_its_actor(engine: Engine) -> None:
    with engine.connect() as conn:
        events.add(conn, EVENT)
        actor = conn.scalar(text("SELECT current_setting('headway.actor')"))
        entered = conn.execute(text("SELECT actor, action FROM event")).one()

    assert (actor, *entered) == ("user:ann", "user:ann", "test")


def test_the_database_has_the_guards_of_this_release_and_no_others(engine: Engine) -> None:
    with engine.connect() as conn:
        assert guards.outdated(conn) == []
        bodies = {row.name: row.body for row in conn.execute(TRIGGERS)}

    del bodies["version_bundle"]  # of migration 0031, which guards nothing
    assert bodies == {trigger.name: trigger.body for trigger in guards.triggers()}


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TRIGGER task_attempt_moves ON task_attempt",
        "ALTER TABLE task_attempt DISABLE TRIGGER task_attempt_moves",
        "COMMENT ON TRIGGER task_attempt_moves ON task_attempt IS 'of another release'",
    ],
)
def test_a_guard_that_is_not_this_release_s_is_put_in_place_again(
    engine: Engine, damage: str
) -> None:
    fill(engine, GUARDS[2])
    with engine.begin() as conn:
        conn.exec_driver_sql(damage)
        assert [trigger.name for trigger in guards.outdated(conn)] == ["task_attempt_moves"]

        guards.install(conn)

        assert guards.outdated(conn) == []
        assert not passes(conn, MOVE["task_attempt"], source="ended", target="queued")


def test_guards_that_are_in_place_are_left_alone(engine: Engine) -> None:
    """Replacing a trigger locks its table: an upgrade that changes nothing waits for nobody."""
    fill(engine, TASKS)
    with engine.connect() as busy, engine.connect() as conn:
        busy.execute(SKIP)
        conn.execute(text("SET LOCAL lock_timeout = '1ms'"))
        guards.install(conn)


def test_a_new_release_changes_the_version_of_its_guards() -> None:
    trigger = guards.triggers()[0]

    assert trigger.version != replace(trigger, body=trigger.body + " ").version
    assert trigger.version != replace(trigger, when=trigger.when + " ").version


def refused_moves() -> float:
    return total(ILLEGAL_TRANSITIONS)


def test_an_illegal_move_is_counted_and_ends_the_loop(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """It is a bug: trying again would not help, and another replica starts afresh."""
    fill(engine, TASKS)
    guards.watch(engine)
    before, steps = refused_moves(), []

    def step() -> Found:
        steps.append(1)
        with engine.begin() as conn:
            conn.execute(text("UPDATE task_instance SET state = 'running' WHERE state = 'none'"))
        return Found.MORE

    with pytest.raises(DBAPIError) as caught:
        Loop("test", step, SystemClock(), is_transient).run()

    assert guards.is_refusal(caught.value)
    assert (len(steps), refused_moves() - before) == (1, 1)
    assert "action=illegal_transition headway may not move task_instance" in caplog.text


def test_an_illegal_move_that_is_isolated_is_counted_all_the_same(engine: Engine) -> None:
    fill(engine, TASKS)
    guards.watch(engine)
    before = refused_moves()
    with engine.begin() as conn:
        assert not passes(conn, MOVE["task_instance"], source="none", target="running")
        assert passes(conn, MOVE["task_instance"], source="none", target="scheduled")

    assert refused_moves() - before == 1


def test_other_errors_are_no_illegal_moves(engine: Engine) -> None:
    guards.watch(engine)
    before = refused_moves()
    with pytest.raises(DBAPIError) as caught, engine.connect() as conn:
        conn.execute(text("SELECT 1 / 0"))

    assert not guards.is_refusal(caught.value)
    assert refused_moves() == before
