"""Processes: who is declared dead, and what it can still do."""

import pytest
from sqlalchemy import Engine, text

from headway.db.core import identity, processes
from headway.db.core.processes import DeadProcess, Identity, ProcessClock
from headway.db.reads import process_views
from headway.domain.errors import FencedError
from headway.testing.data import seed
from headway.testing.database.interleaving import in_background, wait_until_blocked

HOUR = 3600.0


def beat_was(engine: Engine, age: float, *beating: Identity) -> None:
    """Have it that these processes were last heard of so many seconds ago."""
    beat = text("""
        UPDATE process_beat SET beat_at = now() - make_interval(secs => :age)
         WHERE process_id = ANY (:ids)
    """)
    with engine.begin() as conn:
        conn.execute(beat, {"age": age, "ids": [process.id for process in beating]})


def silence(engine: Engine, *silent: Identity) -> None:
    beat_was(engine, HOUR, *silent)


def end_dead(engine: Engine, limit: int = 10) -> list[int]:
    """Declare those dead that have not beaten since the server, which is young, was started."""
    with engine.begin() as conn:
        return [process.id for process in processes.end_dead(conn, 0, limit)]


def test_a_process_that_registers_is_alive(engine: Engine) -> None:
    with engine.begin() as conn:
        me = processes.register(conn, "worker", ("node-1", 4711), "1.2", ["default", "big"], 8)

    with engine.begin() as conn:
        assert processes.end_dead(conn, HOUR, 10) == []
        processes.confirm(conn, me)
        [shown] = process_views.processes(conn)

    assert (shown.id, shown.kind, shown.hostname, shown.pid, shown.version) == (
        me.id,
        "worker",
        "node-1",
        4711,
        "1.2",
    )
    assert (shown.queues, shown.slots) == (["default", "big"], 8)


def test_clocks_are_told_of_the_living_that_know_theirs(engine: Engine) -> None:
    ahead, ended, _unknown = (seed.register(engine) for _ in range(3))
    with engine.begin() as conn:
        processes.beat(conn, ahead, 2.5)
        processes.beat(conn, ended, 3.5)
        processes.leave(conn, ended)

        assert processes.skews(conn) == [ProcessClock("scheduler", ahead.id, "host", 2.5)]


def test_only_the_silent_are_declared_dead_and_only_once(engine: Engine) -> None:
    silent, other = seed.register(engine, "worker"), seed.register(engine)
    silence(engine, silent)
    beat_was(engine, -HOUR, other)

    with engine.begin() as conn:
        dead = processes.end_dead(conn, 0, 10)

    assert dead == [DeadProcess(silent.id, "worker", "host", 1)]
    assert end_dead(engine) == []


def test_the_silent_are_counted_among_those_that_are_registered(engine: Engine) -> None:
    gone, *registered = (seed.register(engine, "worker") for _ in range(4))
    beat_was(engine, -HOUR, *registered[1:])
    silence(engine, gone, registered[0])
    with engine.begin() as conn:
        processes.leave(conn, gone)

        assert processes.silent(conn, 0) == (1, 3)
        assert processes.silent(conn, 24 * HOUR) == (0, 3)


def test_a_beat_counts_from_when_it_came(engine: Engine) -> None:
    me = seed.register(engine)
    beat_was(engine, 3 * HOUR, me)
    with engine.begin() as conn:
        processes.beat(conn, me)
        age = text("SELECT clock_timestamp() - beat_at < interval '1 minute' FROM process_beat")
        assert conn.scalar(age)


def test_the_time_for_which_the_database_was_away_is_held_against_nobody(engine: Engine) -> None:
    """The server of these tests is younger than a day."""
    beat_was(engine, 30 * 24 * HOUR, seed.register(engine))

    with engine.begin() as conn:
        assert processes.end_dead(conn, 24 * HOUR, 10) == []


def test_no_more_are_declared_dead_at_once_than_asked_for(engine: Engine) -> None:
    silent = [seed.register(engine) for _ in range(3)]
    silence(engine, *silent)

    assert end_dead(engine, limit=2) == [silent[0].id, silent[1].id]
    assert end_dead(engine, limit=2) == [silent[2].id]


def test_a_process_that_was_declared_dead_is_fenced(engine: Engine) -> None:
    me = seed.register(engine)
    silence(engine, me)
    end_dead(engine)

    with engine.begin() as conn:
        with pytest.raises(FencedError, match="declared dead"):
            processes.confirm(conn, me)
        with pytest.raises(FencedError, match="declared dead"):
            processes.beat(conn, me)


@pytest.mark.regression
def test_a_process_that_is_declared_dead_before_it_proves_itself_is_fenced(engine: Engine) -> None:
    """As one that stands still between its registration and its first transaction after that."""
    me = seed.register(engine, "scheduler")
    silence(engine, me)
    assert end_dead(engine) == [me.id]

    with pytest.raises(FencedError):
        identity.introduce(engine, me)


def test_an_epoch_that_is_over_is_fenced(engine: Engine) -> None:
    me = seed.register(engine)
    before = Identity(me.id, me.epoch - 1)

    with engine.begin() as conn:
        with pytest.raises(FencedError):
            processes.confirm(conn, before)
        with pytest.raises(FencedError):
            processes.beat(conn, before)
        processes.leave(conn, before)
        processes.confirm(conn, me)


def test_nobody_is_declared_dead_in_a_transaction_of_its_own(engine: Engine) -> None:
    me = seed.register(engine)
    silence(engine, me)

    with engine.begin() as mine:
        processes.confirm(mine, me)
        assert end_dead(engine) == []

    assert end_dead(engine) == [me.id]


def test_a_process_that_is_just_being_declared_dead_waits_and_is_fenced(engine: Engine) -> None:
    me = seed.register(engine)
    silence(engine, me)

    def confirm() -> None:
        with engine.begin() as conn:
            processes.confirm(conn, me)

    with engine.connect() as adopter:
        processes.end_dead(adopter, 0, 10)
        with in_background(confirm) as confirmed:
            wait_until_blocked(engine)
            adopter.commit()
            with pytest.raises(FencedError):
                confirmed.result()


def test_two_adopters_declare_a_process_dead_once(engine: Engine) -> None:
    me = seed.register(engine)
    silence(engine, me)

    with engine.begin() as first:
        assert [process.id for process in processes.end_dead(first, 0, 10)] == [me.id]
        assert end_dead(engine) == []

    assert end_dead(engine) == []


def test_transactions_of_a_process_do_not_wait_for_each_other(engine: Engine) -> None:
    me = seed.register(engine)

    with engine.begin() as one, engine.begin() as other:
        processes.confirm(one, me)
        processes.confirm(other, me)
        processes.beat(other, me)


def test_a_process_that_left_is_not_declared_dead(engine: Engine) -> None:
    me, other = seed.register(engine), seed.register(engine)
    silence(engine, me, other)
    with engine.begin() as conn:
        processes.leave(conn, me)

    assert end_dead(engine) == [other.id]
    with engine.begin() as conn:
        assert process_views.processes(conn) == []
        with pytest.raises(FencedError):
            processes.beat(conn, me)
