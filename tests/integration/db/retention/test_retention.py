"""What is of no use any more goes; what anybody refers to, or stores just now, stays."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
from sqlalchemy import Connection, Engine, TextClause, text

from headway.db.access.logins import Login
from headway.db.core import identity
from headway.db.core.dag_lock import lock_dag
from headway.db.core.processes import Identity
from headway.db.parsing import dag_registration, retention, stored_code, versions
from headway.db.parsing.versions import NewVersion
from headway.db.scheduling import runs
from headway.db.scheduling.runs import NewRuns
from headway.domain.dag.spec import DagSpec
from headway.domain.states import RunType
from headway.serialization import codec
from headway.serialization.manifest import content_hash, manifest_hash
from headway.testing.data import seed
from headway.testing.database.interleaving import just_before, waiting_before
from headway.testing.database.logins import logged_in
from headway_parser.publish.retention import prune

AGE = text("""
    UPDATE dag_version SET created_at = created_at - make_interval(days => :days),
                           superseded_at = superseded_at - make_interval(days => :days)
""")
OLD_CONTENT = (
    text("UPDATE code_file SET stored_at = now() - interval '1 day'"),
    text("UPDATE code_manifest SET stored_at = now() - interval '1 day'"),
    text("UPDATE task_definition SET stored_at = now() - interval '1 day'"),
)


@pytest.fixture
def me(engine: Engine) -> Identity:
    return seed.register(engine, "parser")


@pytest.fixture
def parser(me: Identity, database_url: str) -> Iterator[Engine]:
    with logged_in(database_url, Login.PARSER) as its:
        identity.introduce(its, me)
        yield its


def shaped(number: int, dag_id: str = "etl") -> DagSpec:
    """A DAG whose one task is another one for each number."""
    return seed.dag(replace(seed.task("work"), retries=number), dag_id=dag_id)


def add(conn: Connection, spec: DagSpec, code: bytes) -> int:
    """Store a version with its code, in a DAG that is there."""
    files = {"dag.py": content_hash(code)}
    key, data = manifest_hash(files), codec.encode(spec)
    lock_dag(conn, spec.dag_id)
    stored_code.add_code(conn, {key: files}, {content_hash(code): code})
    fingerprint = codec.fingerprint(data, key)
    found = versions.find(conn, {spec.dag_id: fingerprint})
    found = found or versions.add(conn, [NewVersion(spec, data, fingerprint, key)])
    return found[spec.dag_id]


def put(engine: Engine, count: int, dag_id: str = "etl") -> list[int]:
    """Put versions of a DAG in force, each with code and a task of its own, one by one."""
    first = seed.store(engine, seed.dag(dag_id=dag_id))
    with engine.begin() as conn:
        ids = [add(conn, shaped(n, dag_id), f"{dag_id} {n}".encode()) for n in range(count)]
        for version in ids:
            dag_registration.put_in_force(conn, {dag_id: version})
        conn.execute(text("DELETE FROM dag_version WHERE id = :id"), {"id": first})
    return ids


def age(engine: Engine, days: int = 200) -> None:
    with engine.begin() as conn:
        conn.execute(AGE, {"days": days})
        for statement in OLD_CONTENT:
            conn.execute(statement)


def left(engine: Engine, table: str = "dag_version", column: str = "id") -> list[Any]:
    with engine.connect() as conn:
        return list(conn.scalars(text(f"SELECT {column} FROM {table} ORDER BY 1")))


def counts(engine: Engine) -> tuple[int, ...]:
    """How many manifests, files and definitions there are."""
    tables = ("code_manifest", "code_file", "task_definition")
    return tuple(len(left(engine, table, "hash")) for table in tables)


def prune_versions(engine: Engine, keep: int = 1, days: float = 90.0, limit: int = 100) -> int:
    with engine.begin() as conn:
        return retention.prune_versions(conn, days * 86400, keep, limit)


def test_the_newest_and_the_young_stay(engine: Engine, parser: Engine) -> None:
    ids, others = put(engine, 5), put(engine, 2, "other")
    assert prune_versions(parser) == 0

    age(engine)

    assert prune_versions(parser, days=365) == 0
    assert prune_versions(parser, keep=3) == 2
    assert left(engine) == [*ids[2:], *others]


def test_what_was_replaced_lately_stays_however_old_it_is(engine: Engine, parser: Engine) -> None:
    ids = put(engine, 3)
    with engine.begin() as conn:
        old = text("UPDATE dag_version SET created_at = now() - interval '1 year' WHERE id = :id")
        conn.execute(old, {"id": ids[0]})

    assert prune_versions(parser) == 0


def test_what_was_in_force_again_till_just_now_stays(engine: Engine, parser: Engine) -> None:
    ids = put(engine, 4)
    age(engine)
    with parser.begin() as conn:
        dag_registration.put_in_force(conn, {"etl": ids[0]})
    with parser.begin() as conn:
        dag_registration.put_in_force(conn, {"etl": ids[3]})

    assert prune_versions(parser) == 2
    assert left(engine) == [ids[0], ids[3]]

    age(engine)
    assert prune_versions(parser) == 1


def test_what_a_parser_of_the_release_before_has_replaced_just_now_stays(
    engine: Engine, parser: Engine
) -> None:
    """It does not note when: the next version tells."""
    ids = put(engine, 3)
    age(engine)
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_version SET superseded_at = NULL"))
        young = text("UPDATE dag_version SET created_at = now() WHERE id = :id")
        conn.execute(young, {"id": ids[2]})

    assert prune_versions(parser) == 1
    assert left(engine) == ids[1:]


def test_a_version_that_is_put_in_force_where_it_is_has_not_left(
    engine: Engine, parser: Engine
) -> None:
    [only] = put(engine, 1)
    with parser.begin() as conn:
        dag_registration.put_in_force(conn, {"etl": only})

    assert left(engine, column="superseded_at") == [None]


def test_what_is_in_force_planned_or_run_stays(engine: Engine, parser: Engine) -> None:
    ids = put(engine, 5)
    seed.create_runs(engine, ids[1], [0])
    with engine.begin() as conn:
        chosen = text("UPDATE dag SET version_id = :force, planned_version_id = :planned")
        conn.execute(chosen, {"force": ids[0], "planned": ids[2]})
    age(engine)

    assert prune_versions(parser) == 1
    assert left(engine) == [*ids[:3], ids[4]]


def test_a_batch_is_no_larger_than_was_asked_for(engine: Engine, parser: Engine) -> None:
    ids = put(engine, 5)
    age(engine)

    assert (prune_versions(parser, limit=3), left(engine)) == (3, ids[3:])


def test_content_goes_with_the_last_version_that_had_it(
    engine: Engine, parser: Engine, me: Identity
) -> None:
    put(engine, 4)
    with engine.begin() as conn:
        conn.execute(text("DELETE FROM code_manifest WHERE hash = :it"), {"it": manifest_hash({})})
        before = counts(engine)
        assert before[:2] == (4 + 1, 4)
    age(engine)

    assert not prune(parser, me, 90.0, 2)
    assert not prune(parser, me, 90.0, 2)

    assert len(left(engine)) == 2
    assert counts(engine) == (2, 2, 2)


def test_content_that_was_stored_lately_stays(engine: Engine, parser: Engine, me: Identity) -> None:
    with engine.begin() as conn:
        stored_code.add_code(conn, {"m": {"a.py": "f"}}, {"f": b"content"})
        stored_code.add_definitions(conn, {"d": "{}"})

    prune(parser, me, 0.0, 1)

    assert counts(engine) == (1, 1, 1)


def test_a_full_batch_says_that_there_may_be_more(
    engine: Engine, parser: Engine, me: Identity
) -> None:
    put(engine, 4)
    age(engine)

    assert prune(parser, me, 90.0, 1, batch=2)
    while prune(parser, me, 90.0, 1, batch=2):
        pass
    assert len(left(engine)) == 1
    assert counts(engine) == (1, 1, 1)


def test_what_a_parser_stores_again_is_not_pruned_under_it(engine: Engine, parser: Engine) -> None:
    """The parser has found the content, and has not entered yet who needs it."""
    with engine.begin() as conn:
        stored_code.add_code(conn, {"m": {}}, {"f": b"content"})
        stored_code.add_definitions(conn, {"d": "{}"})

    with parser.begin() as storing:
        stored_code.add_code(storing, {"m": {}}, {"f": b"content"})
        stored_code.add_definitions(storing, {"d": "{}"})
        with engine.begin() as conn:
            assert retention.prune_manifests(conn, 0, 100) == 0
            assert retention.prune_files(conn, 0, 100) == 0
            assert retention.prune_definitions(conn, 0, 100) == 0

    assert counts(engine) == (1, 1, 1)


def test_what_is_stored_again_after_long_is_young_again(engine: Engine, parser: Engine) -> None:
    """So that it stays though its version is stored by a transaction of its own."""
    for _ in range(2):
        with parser.begin() as conn:
            stored_code.add_code(conn, {"m": {}}, {"f": b"content"})
            stored_code.add_definitions(conn, {"d": "{}"})
        with engine.begin() as conn:
            assert retention.prune_manifests(conn, 3600, 100) == 0
            assert retention.prune_files(conn, 3600, 100) == 0
            assert retention.prune_definitions(conn, 3600, 100) == 0
        age(engine)


Store: TypeAlias = Callable[[Connection], None]
Prune: TypeAlias = Callable[[Connection, float, int], int]

KINDS: dict[str, tuple[Store, Prune, TextClause, str]] = {
    "files": (
        lambda conn: stored_code.add_files(conn, {"x": b"content"}),
        retention.prune_files,
        retention.PRUNE_FILES,
        "code_file",
    ),
    "manifest": (
        lambda conn: stored_code.add_manifests(conn, {"x": {}}),
        retention.prune_manifests,
        retention.PRUNE_MANIFESTS,
        "code_manifest",
    ),
    "definitions": (
        lambda conn: stored_code.add_definitions(conn, {"x": "{}"}),
        retention.prune_definitions,
        retention.PRUNE_DEFINITIONS,
        "task_definition",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_pruned_while_a_parser_looks_for_it_is_stored_anew(
    engine: Engine, parser: Engine, kind: str
) -> None:
    """The parser waits for the pruning, which has locked the content that the parser re-uses."""
    store, prune_it, statement, table = KINDS[kind]
    with engine.begin() as conn:
        store(conn)
    age(engine)

    def parse() -> None:
        with parser.begin() as conn:
            store(conn)

    with waiting_before(engine, statement, parse), engine.begin() as conn:
        assert prune_it(conn, 3600, 100) == 1

    assert left(engine, table, "hash") == ["x"]


def test_a_version_that_was_committed_before_the_lock_keeps_its_content(
    engine: Engine, parser: Engine
) -> None:
    """The pruning has chosen a manifest by a snapshot that is older than the version with it."""
    put(engine, 1)
    files = {"dag.py": content_hash(b"code")}
    with engine.begin() as conn:
        stored_code.add_code(conn, {manifest_hash(files): files}, {content_hash(b"code"): b"code"})
    age(engine)

    with engine.begin() as conn:
        found = list(conn.scalars(retention.LOCK_MANIFESTS, {"seconds": 3600, "limit": 9}))
    assert manifest_hash(files) in found
    with parser.begin() as conn:
        add(conn, shaped(7), b"code")
    with engine.begin() as conn:
        conn.execute(retention.PRUNE_MANIFESTS, {"hashes": found})

    assert manifest_hash(files) in left(engine, "code_manifest", "hash")


def test_an_earlier_version_that_comes_in_force_again_is_not_pruned(
    engine: Engine, parser: Engine
) -> None:
    """A parser has found that version, and holds its DAG: the pruning passes that by."""
    ids = put(engine, 3)
    age(engine)

    with parser.begin() as conn:
        assert add(conn, shaped(0), b"etl 0") == ids[0]
        assert prune_versions(engine) == 0
        conn.execute(text("UPDATE dag SET version_id = :id"), {"id": ids[0]})

    assert prune_versions(engine) == 1
    assert left(engine) == [ids[0], ids[2]]


def test_a_version_that_a_run_is_just_given_is_passed_by(engine: Engine, parser: Engine) -> None:
    ids = put(engine, 3)
    age(engine)
    with just_before(
        parser, retention.LOCK_VERSIONS, lambda: seed.create_runs(engine, ids[0], [0])
    ):
        assert prune_versions(parser) == 1

    assert left(engine) == [ids[0], ids[2]]


@pytest.mark.regression
def test_a_version_that_a_run_is_being_given_is_passed_by(engine: Engine, parser: Engine) -> None:
    """Whoever creates the run has not committed; the pruning does not wait, and does not fail."""
    ids = put(engine, 3)
    age(engine)

    with engine.begin() as creating:
        new = NewRuns("etl", RunType.SCHEDULED, ids[0], [seed.info(0)], {})
        assert len(runs.create(creating, [new])) == 1
        assert prune_versions(parser) == 1

    assert left(engine) == [ids[0], ids[2]]
