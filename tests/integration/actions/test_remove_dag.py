"""Deleting a DAG with its history, and asking for its file to be parsed."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author
from headway.actions.dags import delete
from headway.actions.dags.delete import begin_deletion, continue_deletion, reparse
from headway.db.access.logins import Login
from headway.db.reads.dag_views import DagExtent
from headway.db.users import removal
from headway.domain.errors import ConflictError, NotFoundError, StillActiveError
from headway.domain.hints import Parameter
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.data.refusals import refused
from headway.testing.database.interleaving import just_before, waiting
from headway.testing.database.logins import logged_in

ANN = Author("user:ann", "not needed")
END = text("UPDATE dag_run SET state = 'success', ended_at = now()")
FILE = text("INSERT INTO dag_file (bundle, relative_path) VALUES ('main', 'etl.py')")
LEFT = text("""
    SELECT (SELECT count(*) FROM dag), (SELECT count(*) FROM dag_run),
           (SELECT count(*) FROM dag_version), (SELECT count(*) FROM task_instance),
           (SELECT count(*) FROM task_attempt), (SELECT count(*) FROM backfill),
           (SELECT count(*) FROM wake), (SELECT count(*) FROM lease)
""")
NOTHING = (0,) * 8


@pytest.fixture
def user(database_url: str) -> Iterator[Engine]:
    with logged_in(database_url, Login.USER) as its:
        yield its


def begin(user: Engine, *, anyway: bool = True) -> DagExtent:
    with user.begin() as conn:
        return begin_deletion(conn, "etl", ANN, anyway=anyway)


def go_on(user: Engine) -> bool:
    with user.begin() as conn:
        return continue_deletion(conn, "etl")


def all_of_it(user: Engine) -> int:
    """Delete until nothing is left; return in how many transactions."""
    for steps in range(1, 100):
        if not go_on(user):
            return steps
    raise AssertionError("it does not end")


def left(engine: Engine) -> Any:
    with engine.connect() as conn:
        return tuple(conn.execute(LEFT).one())


def one(engine: Engine, statement: str) -> Any:
    with engine.connect() as conn:
        return conn.execute(text(statement)).one()


def history(engine: Engine, runs: int = 3) -> None:
    """A DAG of two versions with runs that have ended, of which one belongs to a backfill."""
    seed.store(engine, seed.dag(seed.task("a")))
    spec = seed.dag(seed.task("a"), seed.task("b", "a"))
    for day in range(runs):
        force(engine, seed.start_run(engine, spec, day), a="success", b="failed")
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET active = false"))
        conn.execute(END)
        conn.execute(
            text(
                "INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned) "
                "VALUES ('etl', now(), now(), 1, 1)"
            )
        )
        conn.execute(
            text(
                "UPDATE dag_run SET backfill_id = (SELECT id FROM backfill), "
                "run_type = 'backfill' WHERE id = 1"
            )
        )
        conn.execute(text("INSERT INTO wake (dag_run_id) VALUES (1)"))
        conn.execute(
            text(
                "INSERT INTO lease (task_instance_id, attempt, token, expires_at) "
                "VALUES (1, 1, gen_random_uuid(), now())"
            )
        )


def test_a_dag_goes_with_all_that_it_has(engine: Engine, user: Engine) -> None:
    history(engine)

    assert begin(user, anyway=False) == DagExtent(runs=3, instances=6, versions=4)
    all_of_it(user)

    assert left(engine) == NOTHING
    event = one(engine, "SELECT actor, action, dag_id, details FROM event")
    assert event[:3] == ("user:ann", "dag.delete", "etl")
    assert event.details == {
        "runs": 3,
        "instances": 6,
        "versions": 4,
        "anyway": False,
        "reason": "not needed",
    }


def test_another_dag_is_left_alone(engine: Engine, user: Engine) -> None:
    history(engine)
    seed.create_runs(engine, seed.store(engine, seed.dag(dag_id="other")), [0])

    begin(user)
    all_of_it(user)

    assert left(engine)[:3] == (1, 1, 1)


def test_a_dag_that_a_file_defines_is_deleted_only_if_that_is_meant(
    engine: Engine, user: Engine
) -> None:
    seed.store(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(FILE)

    with refused(StillActiveError, r"defined in etl.py \(bundle main\)", Parameter("anyway")):
        begin(user, anyway=False)
    begin(user)
    all_of_it(user)

    assert left(engine) == NOTHING
    assert one(engine, "SELECT parse_requested FROM dag_file") == (True,)


@pytest.mark.parametrize("state", ["queued", "running"])
def test_a_dag_whose_runs_have_not_ended_stays(engine: Engine, user: Engine, state: str) -> None:
    version = seed.store(engine, seed.dag())
    seed.create_runs(engine, version, [0])
    if state == "running":
        seed.start_run(engine, seed.dag(), 1)
        with engine.begin() as conn:
            conn.execute(text("DELETE FROM dag_run WHERE state = 'queued'"))

    with pytest.raises(StillActiveError, match=r"have not ended: scheduled__") as caught:
        begin(user)
    assert caught.value.hint is not None
    assert "Cancel them first, with " in caught.value.hint.parts

    assert one(engine, "SELECT paused FROM dag") == (False,)


def test_it_is_paused_while_it_is_deleted(engine: Engine, user: Engine) -> None:
    seed.store(engine, seed.dag())

    begin(user)

    assert one(engine, "SELECT paused FROM dag") == (True,)


def test_a_run_that_comes_in_between_stops_it(engine: Engine, user: Engine) -> None:
    history(engine)
    begin(user)
    assert go_on(user)
    with engine.begin() as conn:
        version = conn.execute(text("SELECT version_id FROM dag")).scalar_one()
    seed.create_runs(engine, version, [9])

    with pytest.raises(ConflictError, match="have not ended"):
        all_of_it(user)

    assert left(engine)[:2] == (1, 1)


def test_each_part_is_bounded_and_the_rest_may_be_deleted_later(
    engine: Engine, user: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two instances a run: two runs have as many as a part may have, and then one is left."""
    monkeypatch.setattr(delete, "INSTANCES", 4)
    monkeypatch.setattr(delete, "VERSIONS", 2)
    history(engine)
    begin(user)

    parts = []
    while go_on(user):
        parts.append(left(engine)[1:3])

    assert parts == [(1, 4), (0, 4), (0, 2), (0, 1)]
    assert left(engine) == NOTHING


def test_a_run_larger_than_a_part_is_a_part(
    engine: Engine, user: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delete, "INSTANCES", 1)
    history(engine)
    begin(user)

    assert go_on(user)
    assert left(engine)[1] == 2


def test_a_backfill_that_is_left_counts_what_it_has(
    engine: Engine, user: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delete, "RUNS", 1)
    history(engine)
    begin(user)
    go_on(user)

    assert one(engine, "SELECT planned FROM backfill") == (0,)


def test_a_parser_that_stores_the_dag_meanwhile_waits_and_finds_none(
    engine: Engine, user: Engine
) -> None:
    history(engine)
    begin(user)
    while left(engine)[1:3] != (0, 1):
        go_on(user)
    found: list[int] = []

    def store() -> None:
        with engine.begin() as conn:
            found.append(conn.execute(text("UPDATE dag SET active = true")).rowcount)

    with (
        waiting(engine, store) as parsing,
        just_before(user, removal.DELETE_DAG, parsing),
    ):
        assert not go_on(user)

    assert (found, left(engine)) == ([0], NOTHING)


def test_asking_for_a_parse(engine: Engine, user: Engine) -> None:
    seed.store(engine, seed.dag())
    with engine.begin() as conn:
        conn.execute(FILE)
        conn.execute(text("INSERT INTO dag_file (bundle, relative_path) VALUES ('other', 'x.py')"))

    with user.begin() as conn:
        assert reparse(conn, "etl", ANN) == "etl.py"

    assert one(engine, "SELECT bundle FROM dag_file WHERE parse_requested") == ("main",)
    assert one(engine, "SELECT action, dag_id FROM event") == ("dag.reparse", "etl")


def test_what_no_file_defines_is_not_parsed(engine: Engine, user: Engine) -> None:
    seed.store(engine, seed.dag())
    with pytest.raises(NotFoundError, match="No file that a parser knows"), user.begin() as conn:
        reparse(conn, "etl", ANN)
    with refused(NotFoundError, "no DAG 'elt'", "Did you mean etl?"), user.begin() as conn:
        reparse(conn, "elt", ANN)
