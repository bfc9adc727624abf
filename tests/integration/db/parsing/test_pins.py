"""Pinning runs as a parser does: which runs, to which version, and who may interfere."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author
from headway.actions.runs.cancel import cancel_run
from headway.actions.runs.clear import clear_tasks
from headway.db.parsing import pins
from headway.db.parsing.pins import WantedParse
from headway.decide.changes.clear import Selection
from headway.domain.dag.spec import DagSpec
from headway.testing.data import seed
from headway.testing.database.interleaving import in_background, just_before, wait_until_blocked
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

RUN = f"scheduled__{seed.START.isoformat()}"
NOW = seed.START + 100 * seed.DAY
PINNED = text("SELECT id, version_id FROM dag_run WHERE pinned ORDER BY id")


def late(dag_id: str = "etl", path: str | None = None) -> DagSpec:
    spec = replace(seed.dag(dag_id=dag_id), reparse_on_run=True)
    return replace(spec, relative_path=path or spec.relative_path)


def waiting(
    engine: Engine, replica: Replica, spec: DagSpec, count: int = 1, now: timedelta = NOW - NOW
) -> list[int]:
    """Store a DAG and have runs of it wait for a parse; return the runs."""
    ids = seed.create_runs(engine, seed.store(engine, spec), range(count))
    start_runs(replica, NOW + now)
    return ids


def wanted(engine: Engine, bundle: str = "main") -> list[WantedParse]:
    with engine.connect() as conn:
        return pins.wanted(conn, bundle)


def pin(engine: Engine, ids: list[int], problem: str | None = None) -> int:
    with engine.begin() as conn:
        return pins.pin(conn, ids, "parser:1", problem)


def pinned(engine: Engine) -> dict[int, int]:
    """Return the versions of the runs that are pinned."""
    with engine.connect() as conn:
        return {row.id: row.version_id for row in conn.execute(PINNED)}


def test_files_are_wanted_for_the_runs_that_wait_the_longest_ones_first(
    engine: Engine, replica: Replica
) -> None:
    second = waiting(engine, replica, late("two", "b.py"), 2, timedelta(minutes=1))
    first = waiting(engine, replica, late("one", "z.py"))
    third = waiting(engine, replica, late("three", "b.py"), 1, timedelta(minutes=2))

    assert wanted(engine) == [
        WantedParse("z.py", tuple(first), NOW),
        WantedParse("b.py", (*second, *third), NOW + timedelta(minutes=1)),
    ]
    assert wanted(engine, "another") == []


def test_nothing_is_wanted_for_runs_that_nobody_starts_yet(
    engine: Engine, replica: Replica
) -> None:
    waiting(engine, replica, replace(late(), max_active_runs=1), 3)

    [only] = wanted(engine)
    assert len(only.run_ids) == 1


def test_a_run_that_was_asked_for_after_the_parse_began_waits_for_another(
    engine: Engine, replica: Replica
) -> None:
    """The parser saw the first one alone before it started the child."""
    before = waiting(engine, replica, late())
    [seen] = wanted(engine)
    [after] = seed.create_runs(engine, seed.store(engine, late()), [1])
    start_runs(replica, NOW)

    assert pin(engine, list(seen.run_ids)) == 1

    assert list(pinned(engine)) == before
    assert [parse.run_ids for parse in wanted(engine)] == [(after,)]


def test_a_run_is_pinned_once(engine: Engine, replica: Replica) -> None:
    ids = waiting(engine, replica, late(), 2)
    first = seed.store(engine, replace(late(), tags=("new",)))
    assert pin(engine, ids[:1]) == 1
    second = seed.store(engine, replace(late(), tags=("newer",)))

    assert pin(engine, ids, "too late for the first") == 1
    assert pin(engine, []) == 0

    assert pinned(engine) == {ids[0]: first, ids[1]: second}
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM event")) == 1


def test_a_parse_that_fails_is_in_the_journal_of_each_run_that_goes_on_without(
    engine: Engine, replica: Replica
) -> None:
    ids = waiting(engine, replica, late(), 2)

    assert pin(engine, ids, "SyntaxError: line 3") == 2

    assert wanted(engine) == []
    events = text("SELECT actor, action, dag_id, run_id, details FROM event ORDER BY run_id")
    with engine.connect() as conn:
        assert [tuple(row) for row in conn.execute(events)] == [
            (
                "parser:1",
                "run.not_reparsed",
                "etl",
                f"scheduled__{(seed.START + day * seed.DAY).isoformat()}",
                {"problem": "SyntaxError: line 3", "version": 1},
            )
            for day in (0, 1)
        ]
    assert start_runs(replica, NOW) == 2


def test_a_parse_that_succeeds_is_not_in_the_journal(engine: Engine, replica: Replica) -> None:
    assert pin(engine, waiting(engine, replica, late())) == 1

    with engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM event")) == 0


@pytest.mark.parametrize(
    ("change", "back"), [("paused = true", "paused = false"), ("active = false", "active = true")]
)
def test_a_dag_that_starts_no_runs_is_parsed_for_when_it_may_again(
    engine: Engine, replica: Replica, change: str, back: str
) -> None:
    ids = waiting(engine, replica, late())
    with engine.begin() as conn:
        conn.execute(text(f"UPDATE dag SET {change}"))

    assert (wanted(engine), pin(engine, ids)) == ([], 0)

    with engine.begin() as conn:
        conn.execute(text(f"UPDATE dag SET {back}"))
    assert [parse.run_ids for parse in wanted(engine)] == [tuple(ids)]
    assert pin(engine, ids) == 1


def test_a_run_is_pinned_to_the_version_that_is_in_force_when_its_dag_is_locked(
    engine: Engine, replica: Replica
) -> None:
    """Another parser is about to put one in force."""
    ids = waiting(engine, replica, late())
    code = text("""
        INSERT INTO dag_version (dag_id, number, bundle, fingerprint, serialized, manifest_hash)
        SELECT dag_id, 99, bundle, 'new', serialized, manifest_hash FROM dag_version RETURNING id
    """)
    with engine.connect() as other:
        version = other.scalar(code)
        other.execute(text("UPDATE dag SET version_id = :version"), {"version": version})
        with in_background(lambda: pin(engine, ids)) as mine:
            wait_until_blocked(engine)
            other.commit()
            assert mine.result() == 1

    assert pinned(engine) == {ids[0]: version}


def test_a_run_that_a_user_ends_just_before_is_left_alone(engine: Engine, replica: Replica) -> None:
    ids = waiting(engine, replica, late())

    def cancel() -> None:
        with engine.begin() as conn:
            cancel_run(conn, "etl", RUN, Author("user:ann"))

    with just_before(engine, pins.PIN, cancel):
        assert pin(engine, ids) == 0

    assert pinned(engine) == {}


@pytest.mark.regression
def test_a_run_that_a_user_ends_while_the_pinning_waits_is_left_alone(
    engine: Engine, replica: Replica
) -> None:
    ids = waiting(engine, replica, late())

    with engine.connect() as user:
        cancel_run(user, "etl", RUN, Author("user:ann"))
        with in_background(lambda: pin(engine, ids)) as mine:
            wait_until_blocked(engine)
            user.commit()
            assert mine.result() == 0

    assert pinned(engine) == {}


@pytest.mark.regression
def test_a_version_that_a_user_chooses_while_the_pinning_waits_stays(
    engine: Engine, replica: Replica
) -> None:
    ids = waiting(engine, replica, late())
    chosen = seed.store(engine, replace(late(), tags=("chosen",)))
    seed.store(engine, replace(late(), tags=("newer",)))

    with engine.connect() as user:
        clear_tasks(user, "etl", RUN, Selection(), Author("user:ann"), "2")
        with in_background(lambda: pin(engine, ids)) as mine:
            wait_until_blocked(engine)
            user.commit()
            assert mine.result() == 0

    assert pinned(engine) == {ids[0]: chosen}


def test_a_version_that_a_user_chooses_just_before_stays(engine: Engine, replica: Replica) -> None:
    ids = waiting(engine, replica, late())
    chosen = seed.store(engine, replace(late(), tags=("chosen",)))
    seed.store(engine, replace(late(), tags=("newer",)))

    def choose() -> None:
        with engine.begin() as conn:
            clear_tasks(conn, "etl", RUN, Selection(), Author("user:ann"), "2")

    with just_before(engine, pins.PIN, choose):
        assert pin(engine, ids) == 0

    assert pinned(engine) == {ids[0]: chosen}


def test_runs_do_not_start_while_they_are_pinned_and_nobody_waits(
    engine: Engine, replica: Replica, new_replica: Callable[..., Replica]
) -> None:
    """The parser has the DAG until it commits; a scheduler passes over it."""
    ids = waiting(engine, replica, late())

    with engine.begin() as conn:
        assert pins.pin(conn, ids, "parser:1") == 1
        assert start_runs(new_replica(), NOW) == 0

    assert start_runs(replica, NOW) == 1
