"""DAG files: what was parsed, what was wrong, and which file a DAG belongs to."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import Connection, Engine, event, text
from tests.integration.parses import claim, parse, store_of, take_over, versions

from headway.db.core.processes import Identity
from headway.db.parsing import files
from headway.db.parsing.files import FileKey
from headway.db.reads import dag_file_views
from headway.domain.dag.notifiers import NotifierSpec
from headway.domain.errors import FencedError
from headway.serialization import codec
from headway.testing.data import seed
from headway.testing.database.interleaving import wait_until_blocked
from headway_parser.publish.publish import Published


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine, "parser")


def owners(engine: Engine) -> dict[str, str]:
    """Return the file that each DAG that is active belongs to."""
    active = text("SELECT dag_id, relative_path FROM dag WHERE active")
    with engine.connect() as conn:
        return {row.dag_id: row.relative_path for row in conn.execute(active)}


def errors(engine: Engine) -> dict[str, str]:
    with engine.connect() as conn:
        return {problem.relative_path: problem.error for problem in dag_file_views.errors(conn)}


def test_the_first_file_keeps_a_dag_id(engine: Engine, me: Identity) -> None:
    other = seed.dag(dag_id="other")
    take_over(engine, me, parse("a.py", seed.dag()), parse("b.py", seed.dag(), other))

    assert owners(engine) == {"etl": "a.py", "other": "b.py"}
    assert list(errors(engine)) == ["b.py"]
    assert "'etl' in b.py is taken by the file a.py" in errors(engine)["b.py"]
    assert versions(engine) == [("etl", 1), ("other", 1)]


def test_the_id_is_free_when_the_first_file_gives_it_up(engine: Engine, me: Identity) -> None:
    take_over(engine, me, parse("a.py", seed.dag()), parse("b.py", seed.dag()))
    take_over(engine, me, parse("a.py"), parse("b.py", seed.dag()))

    assert owners(engine) == {"etl": "b.py"}
    assert errors(engine) == {}


def test_of_two_files_at_once_the_first_keeps_the_dag_id(engine: Engine, me: Identity) -> None:
    """The second parser looks before the first has committed, and waits for it."""
    other = seed.register(engine, "parser")
    second = parse("b.py", seed.dag(), code=b"code of its own")

    with ThreadPoolExecutor(1) as pool:
        stored: list[Future[list[Published]]] = []

        def let_the_other_come() -> None:
            stored.append(pool.submit(take_over, engine, other, second))
            wait_until_blocked(engine)

        first = parse("a.py", seed.dag())
        claim(engine, me, "a.py")
        store_of(engine, me).files([first], let_the_other_come)
        stored[0].result()

    assert owners(engine) == {"etl": "a.py"}
    assert list(errors(engine)) == ["b.py"]
    assert versions(engine) == [("etl", 1)]


def test_a_parse_that_failed_changes_no_dag(engine: Engine, me: Identity) -> None:
    take_over(engine, me, parse("a.py", seed.dag()), parse("a.py", error="no\nSyntaxError: x"))

    assert owners(engine) == {"etl": "a.py"}
    assert errors(engine) == {"a.py": "no\nSyntaxError: x"}

    take_over(engine, me, parse("a.py", seed.dag()))
    assert errors(engine) == {}


def test_a_file_is_taken_over_as_a_whole_or_not_at_all(engine: Engine, me: Identity) -> None:
    def fail() -> None:
        raise ConnectionError

    one = parse("a.py", seed.dag())
    claim(engine, me, "a.py")
    with pytest.raises(ConnectionError):
        store_of(engine, me).files([one], fail)

    assert (owners(engine), versions(engine), errors(engine)) == ({}, [], {})


def test_a_parser_that_was_declared_dead_stores_nothing(engine: Engine, me: Identity) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET epoch = epoch + 1"))

    with pytest.raises(FencedError):
        store_of(engine, me).files([parse("a.py", seed.dag())])
    with pytest.raises(FencedError):
        store_of(engine, me).forget("main", ["a.py"])

    assert owners(engine) == {}


def test_a_dag_that_left_its_file_is_deactivated(engine: Engine, me: Identity) -> None:
    two = seed.dag(dag_id="two")
    take_over(engine, me, parse("a.py", seed.dag(), two), parse("a.py", two))

    assert owners(engine) == {"two": "a.py"}


def test_a_file_that_is_gone_is_forgotten_with_its_dags_and_errors(
    engine: Engine, me: Identity
) -> None:
    take_over(engine, me, parse("a.py", seed.dag()), parse("b.py", error="bad"))
    take_over(engine, me, parse("c.py", seed.dag(dag_id="kept")))

    store_of(engine, me).forget("other bundle", ["a.py", "b.py", "c.py"])
    store_of(engine, me).forget("main", ["a.py", "b.py"])

    assert owners(engine) == {"kept": "c.py"}
    assert errors(engine) == {}
    with engine.connect() as conn:
        assert list(files.board(conn, ["main"])) == [FileKey("main", "c.py")]
        assert files.board(conn, ["other bundle"]) == {}


def test_a_version_is_added_only_for_what_has_changed(engine: Engine, me: Identity) -> None:
    once = parse("a.py", seed.dag())
    take_over(engine, me, once, once, parse("a.py", seed.dag(), code=b"changed"))

    assert versions(engine) == [("etl", 1), ("etl", 2)]


def test_the_parser_leaves_the_pause_and_the_next_run_alone(engine: Engine, me: Identity) -> None:
    claim(engine, me, "a.py")
    store_of(engine, me, paused=True).files([parse("a.py", seed.dag())])
    plan = text("UPDATE dag SET next_run_after = :at")
    with engine.begin() as conn:
        conn.execute(plan, {"at": seed.START})

    take_over(engine, me, parse("a.py", seed.dag(seed.task("other")), code=b"changed"))

    with engine.connect() as conn:
        dag = conn.execute(text("SELECT paused, next_run_after FROM dag")).one()
    assert dag == (True, seed.START)
    assert versions(engine) == [("etl", 1), ("etl", 2)]


def test_several_files_are_stored_at_once(engine: Engine, me: Identity) -> None:
    two = [parse("a.py", seed.dag()), parse("b.py", seed.dag(dag_id="other"), code=b"other")]
    claim(engine, me, "a.py", "b.py", "c.py")
    published = store_of(engine, me).files([*two, parse("c.py", error="bad")])

    assert owners(engine) == {"etl": "a.py", "other": "b.py"}
    assert errors(engine) == {"c.py": "bad"}
    assert versions(engine) == [("etl", 1), ("other", 1)]
    assert [published[stored.file].changed for stored in two] == [True, True]


def test_of_two_files_that_are_stored_at_once_the_first_keeps_a_dag_id(
    engine: Engine, me: Identity
) -> None:
    claim(engine, me, "a.py", "b.py")
    store_of(engine, me).files([parse("a.py", seed.dag()), parse("b.py", seed.dag(), code=b"b")])

    assert owners(engine) == {"etl": "a.py"}
    assert list(errors(engine)) == ["b.py"]


def test_what_the_database_refuses_is_an_error_of_its_file_alone(
    engine: Engine, me: Identity
) -> None:
    """Nothing is known that would pass all checks and fail here; so it is made to fail."""
    refuse = text("ALTER TABLE dag_task ADD CONSTRAINT none_of_it CHECK (task_id <> 'cursed')")
    with engine.begin() as conn:
        conn.execute(refuse)
    cursed = seed.dag(seed.task("cursed"), dag_id="cursed")
    claim(engine, me, "a.py", "b.py")
    store_of(engine, me).files([parse("a.py", seed.dag()), parse("b.py", cursed)])

    assert owners(engine) == {"etl": "a.py"}
    assert "The database refuses what the file defines" in errors(engine)["b.py"]


def test_a_file_that_another_parser_has_taken_over_is_left_to_it(
    engine: Engine, me: Identity
) -> None:
    claim(engine, me, "a.py", "b.py")
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_file SET parser_id = 77 WHERE relative_path = 'a.py'"))
    other = seed.dag(dag_id="other")
    published = store_of(engine, me).files([parse("a.py", seed.dag()), parse("b.py", other)])

    assert [key.path for key in published] == ["b.py"]
    assert owners(engine) == {"other": "b.py"}


def test_a_dag_that_moves_to_another_file_is_never_switched_off(
    engine: Engine, me: Identity
) -> None:
    moving = seed.dag(dag_id="moving")
    take_over(engine, me, parse("a.py", seed.dag(), moving), parse("b.py"))
    claim(engine, me, "a.py", "b.py")
    store_of(engine, me).files([parse("a.py", seed.dag()), parse("b.py", moving)])

    assert owners(engine) == {"etl": "a.py", "moving": "b.py"}
    assert errors(engine) == {}


def test_an_id_that_comes_free_has_those_parsed_that_wanted_it(
    engine: Engine, me: Identity
) -> None:
    take_over(engine, me, parse("a.py", seed.dag()), parse("b.py", seed.dag(), code=b"b"))
    take_over(engine, me, parse("c.py", error="SyntaxError"))
    [published] = take_over(engine, me, parse("a.py"))

    assert published.freed
    with engine.connect() as conn:
        due = {key.path for key, row in files.board(conn, ["main"]).items() if row.due}
    assert due == {"b.py"}


def test_what_cannot_even_be_sent_is_an_error_of_its_file_alone(
    engine: Engine, me: Identity
) -> None:
    """The driver refuses a NUL by an error that is none of a database's."""
    cursed = seed.dag(dag_id="cursed\0")
    claim(engine, me, "a.py", "b.py")
    store_of(engine, me).files([parse("a.py", seed.dag()), parse("b.py", cursed, code=b"b")])

    assert owners(engine) == {"etl": "a.py"}
    assert "The database refuses what the file defines" in errors(engine)["b.py"]


def test_what_is_too_large_with_the_notifiers_of_its_bundle_is_an_error_of_its_file_alone(
    engine: Engine, me: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = parse("b.py", seed.dag(*map(seed.task, "abcdefgh"), dag_id="large"))
    monkeypatch.setattr(codec, "LARGEST", len(large.result.versions[0].serialized))
    claim(engine, me, "a.py", "b.py")
    notifiers = {"main": (NotifierSpec(connection="ops"),)}
    store = replace(store_of(engine, me), notifiers=notifiers)
    store.files([parse("a.py", seed.dag()), large])

    assert owners(engine) == {"etl": "a.py"}
    assert "What the file defines cannot be stored: The DAG large takes" in errors(engine)["b.py"]


def test_a_dag_that_was_deleted_between_two_statements_has_a_version(
    engine: Engine, me: Identity
) -> None:
    """It is as it was when it was judged, and gone when it is entered."""
    one = parse("a.py", seed.dag())
    take_over(engine, me, one)
    claim(engine, me, "a.py")

    begun: list[bool] = []

    @event.listens_for(engine, "before_cursor_execute")
    def delete(conn: Connection, cursor: object, statement: str, *rest: object) -> None:
        if "INSERT INTO dag " in statement and not begun:
            begun.append(True)
            with engine.begin() as other:
                other.execute(text("UPDATE dag SET version_id = NULL"))
                other.execute(text("DELETE FROM dag"))

    store_of(engine, me).files([one])
    assert versions(engine) == [("etl", 1)]
    with engine.connect() as conn:
        assert conn.scalar(text("SELECT version_id FROM dag")) is not None
