"""Parsers share files: each is parsed by one of them, and nobody's death keeps a file."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Connection, Engine, text

from headway.db.core import processes
from headway.db.core.processes import Identity
from headway.db.parsing import file_claims, files
from headway.db.parsing.files import FileKey, ParseOutcome
from headway.db.reads import dag_file_views
from headway.testing.data import seed
from headway.testing.database.interleaving import in_background, wait_until_blocked

A, B = FileKey("main", "a.py"), FileKey("main", "b.py")
DONE = ParseOutcome(signature="new", paths=["a.py", "lib.py"], seconds=1, due_in=60)
THRESHOLD = 15.0


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine, "parser")


@pytest.fixture
def other(engine: Engine, me: Identity) -> Identity:
    return seed.register(engine, "parser")


@pytest.fixture
def conn(engine: Engine) -> Iterator[Connection]:
    with engine.begin() as conn:
        yield conn


def claim(conn: Connection, who: Identity, *keys: FileKey, seen: str = "") -> set[FileKey]:
    others = file_claims.parsers(conn, THRESHOLD) - {who.id}
    return file_claims.claim(conn, who.id, dict.fromkeys(keys, seen), others)


def test_a_file_is_claimed_once(conn: Connection, me: Identity, other: Identity) -> None:
    assert claim(conn, me, A, B) == {A, B}
    assert claim(conn, other, A, B) == set()


def test_of_two_that_claim_a_new_file_at_once_one_gets_it(
    engine: Engine, me: Identity, other: Identity
) -> None:
    def come_second() -> set[FileKey]:
        with engine.begin() as conn:
            return claim(conn, other, A)

    with engine.begin() as first:
        assert claim(first, me, A) == {A}
        with in_background(come_second) as second:
            wait_until_blocked(engine)
            first.commit()
            assert second.result() == set()


def test_a_file_that_is_just_being_claimed_is_passed_over(
    engine: Engine, me: Identity, other: Identity
) -> None:
    with engine.begin() as conn:
        claim(conn, me, A)
        files.parsed(conn, me.id, {A: DONE})
    with engine.begin() as first, engine.begin() as second:
        assert claim(first, me, A, seen="new") == {A}
        assert claim(second, other, A, seen="new") == set()


def test_who_has_seen_an_older_parse_claims_nothing(
    conn: Connection, me: Identity, other: Identity
) -> None:
    claim(conn, me, A)
    assert files.parsed(conn, me.id, {A: DONE}) == {A}

    assert claim(conn, other, A, seen="") == set()
    assert claim(conn, other, A, seen="new") == {A}


def test_what_a_dead_parser_had_claimed_is_free(
    conn: Connection, me: Identity, other: Identity
) -> None:
    claim(conn, me, A)
    late = text(
        "UPDATE process_beat SET beat_at = now() - interval '1 hour' WHERE process_id = :id"
    )
    up = text("SELECT pg_postmaster_start_time() < now() - interval '1 second'")
    assert conn.scalar(up)
    conn.execute(late, {"id": me.id})

    assert me.id in file_claims.parsers(conn, 7200)
    others = file_claims.parsers(conn, 0.5) - {other.id}
    assert file_claims.claim(conn, other.id, {A: ""}, others) == {A}
    assert file_claims.hold(conn, me.id, [A]) == set()
    assert files.parsed(conn, me.id, {A: DONE}) == set()
    assert file_claims.hold(conn, other.id, [A]) == {A}
    assert files.parsed(conn, other.id, {A: DONE}) == {A}


def test_what_a_parser_that_left_had_claimed_is_free(
    conn: Connection, me: Identity, other: Identity
) -> None:
    claim(conn, me, A)
    processes.leave(conn, me)

    assert claim(conn, other, A) == {A}


def test_a_parse_is_noted_with_all_that_it_depends_on(conn: Connection, me: Identity) -> None:
    claim(conn, me, A)
    files.parsed(conn, me.id, {A: replace(DONE, warning="look out")})

    row = files.board(conn, ["main"])[A]
    assert (row.signature, row.paths, row.claimed) == ("new", ("a.py", "lib.py"), False)
    assert (row.due, row.parse_requested, row.parser_id, row.failures) == (False, False, me.id, 0)
    assert [warning.error for warning in dag_file_views.warnings(conn)] == ["look out"]


def test_failures_are_counted_until_a_parse_succeeds(conn: Connection, me: Identity) -> None:
    counts = []
    for error in ("bad", "bad", None):
        seen = {key: row.signature for key, row in files.board(conn, ["main"]).items()}
        claim(conn, me, A, seen=seen.get(A, ""))
        files.parsed(conn, me.id, {A: replace(DONE, error=error, due_in=-1)})
        row = files.board(conn, ["main"])[A]
        counts.append((row.failures, row.due, len(dag_file_views.errors(conn))))

    assert counts == [(1, True, 1), (2, True, 1), (0, True, 0)]


def test_a_claim_answers_whoever_asked_for_a_parse(conn: Connection, me: Identity) -> None:
    claim(conn, me, A)
    files.parsed(conn, me.id, {A: DONE})
    conn.execute(text("UPDATE dag_file SET parse_requested = true"))
    assert files.board(conn, ["main"])[A].parse_requested

    claim(conn, me, A, seen="new")
    assert not files.board(conn, ["main"])[A].parse_requested


def test_a_parser_that_stops_gives_up_its_claims(
    conn: Connection, me: Identity, other: Identity
) -> None:
    claim(conn, me, A)
    claim(conn, other, B)
    file_claims.release_all(conn, me.id)

    stored = files.board(conn, ["main"])
    assert (stored[A].claimed, stored[B].claimed) == (False, True)
    assert (stored[A].parse_requested, stored[B].parse_requested) == (True, False)


def test_a_parser_gives_up_some_of_its_claims(conn: Connection, me: Identity) -> None:
    claim(conn, me, A, B)
    file_claims.release(conn, me.id, [B])

    stored = files.board(conn, ["main"])
    assert (stored[A].claimed, stored[B].claimed) == (True, False)
    assert (stored[A].parse_requested, stored[B].parse_requested) == (False, True)


def test_a_file_that_another_parser_had_last_is_left_to_that_one(
    conn: Connection, me: Identity, other: Identity
) -> None:
    claim(conn, me, A)
    claim(conn, other, B)

    assert files.forget(conn, "main", ["a.py", "b.py"], [other.id]) == []
    assert list(files.board(conn, ["main"])) == [B]
    files.forget(conn, "main", ["a.py", "b.py"])
    assert files.board(conn, ["main"]) == {}
