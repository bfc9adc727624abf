"""Versions: what a DAG was, for ever."""

from dataclasses import fields, replace

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from headway.db.core import stored_versions
from headway.db.parsing import stored_code, versions
from headway.db.parsing.versions import NewVersion
from headway.domain.dag.spec import TaskSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.serialization import codec
from headway.serialization.codec import LATER_OF_TASKS
from headway.serialization.manifest import manifest_hash
from headway.testing.data import seed

SPEC = seed.dag(
    replace(seed.task("extract"), queue="big", priority_weight=7),
    replace(seed.task("load", "extract"), pool="db", pool_slots=3),
    replace(seed.task("tell", "extract", "load"), trigger_rule=TriggerRule.ALL_DONE),
)


def test_versions_are_numbered_by_dag(engine: Engine) -> None:
    for dag_id in ("one", "two", "one", "one"):
        seed.store(engine, seed.dag(dag_id=dag_id))

    numbers = text("SELECT dag_id, number FROM dag_version ORDER BY id")
    with engine.connect() as conn:
        assert conn.execute(numbers).all() == [("one", 1), ("two", 1), ("one", 2), ("one", 3)]


def test_a_version_keeps_the_structure_as_rows(engine: Engine) -> None:
    seed.store(engine, SPEC)

    tasks = text("""
        SELECT task_id, operator, trigger_rule, pool, pool_slots, queue, priority
          FROM dag_task ORDER BY position
    """)
    with engine.connect() as conn:
        assert conn.execute(tasks).all() == [
            ("extract", "empty", "all_success", "default_pool", 1, "big", 9),
            ("load", "empty", "all_success", "db", 3, "default", 2),
            ("tell", "empty", "all_done", "default_pool", 1, "default", 1),
        ]
        edges = conn.execute(text("SELECT upstream, downstream FROM dag_edge ORDER BY 1, 2"))
        assert edges.all() == [("extract", "load"), ("extract", "tell"), ("load", "tell")]


def test_a_version_stays_as_it_was(engine: Engine) -> None:
    first = seed.store(engine, SPEC)
    second = seed.store(engine, seed.dag())

    with engine.connect() as conn:
        loaded = stored_versions.load(conn, [first, second])
    assert {key: codec.decode(data) for key, data in loaded.items()} == {
        first: SPEC,
        second: seed.dag(),
    }


def test_a_dag_without_tasks_has_a_version(engine: Engine) -> None:
    version = seed.store(engine, replace(SPEC, tasks=()))

    with engine.connect() as conn:
        assert list(stored_versions.load(conn, [version])) == [version]


def test_content_is_stored_once(engine: Engine) -> None:
    both = {"hash a": b"\x00binary", "hash b": b""}
    with engine.begin() as conn:
        stored_code.add_code(conn, {"first": {"a.py": "hash a", "b.py": "hash b"}}, both)
        stored_code.add_code(conn, {"first": {"a.py": "hash a", "b.py": "hash b"}}, both)
        stored_code.add_code(conn, {"second": {"c.py": "hash a"}}, {"hash a": b"\x00binary"})

        assert stored_versions.manifest(conn, "second") == {"c.py": "hash a"}
        assert stored_versions.contents(conn, ["hash a", "hash b", "none"]) == both
        assert stored_versions.piece(conn, "hash a", 1, 3) == (b"bin", 7)
        assert stored_versions.piece(conn, "hash a", 6, 3) == (b"y", 7)
        assert conn.scalar(text("SELECT count(*) FROM code_file")) == 2
        assert conn.scalar(text("SELECT count(*) FROM code_manifest")) == 2


def test_a_version_needs_its_code(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    new = versions.NewVersion(SPEC, b"", "fingerprint", "code that nobody has stored")

    with pytest.raises(IntegrityError, match="manifest_hash"), engine.begin() as conn:
        versions.add(conn, [new])


DEFINITIONS = text("""
    SELECT task_id, definition_hash FROM dag_task WHERE version_id = :version ORDER BY position
""")


def definitions(engine: Engine, version: int) -> list[str]:
    """The definition of each task of a version."""
    with engine.connect() as conn:
        return [row.definition_hash for row in conn.execute(DEFINITIONS, {"version": version})]


def stored(engine: Engine) -> int:
    with engine.connect() as conn:
        count: int = conn.execute(text("SELECT count(*) FROM task_definition")).scalar_one()
        return count


def test_a_task_is_stored_once_wherever_it_stands(engine: Engine) -> None:
    chain = seed.dag(seed.task("a"), seed.task("b", "a"), replace(seed.task("c"), retries=3))
    first = definitions(engine, seed.store(engine, chain))
    moved = seed.dag(seed.task("b"), replace(seed.task("c", "b"), retries=3), dag_id="other")
    second = definitions(engine, seed.store(engine, moved))

    assert first[0] == first[1] != first[2]
    assert second == first[1:]
    assert stored(engine) == 2


def test_a_definition_is_all_but_the_place_in_the_graph(engine: Engine) -> None:
    spec = seed.dag(replace(seed.task("a"), arguments={"b": [1, {"z": None, "a": "ü"}], "a": 2.5}))
    seed.store(engine, spec)

    with engine.connect() as conn:
        [definition] = conn.scalars(text("SELECT definition FROM task_definition"))
    assert definition["arguments"] == {"a": 2.5, "b": [1, {"a": "ü", "z": None}]}
    assert set(definition) == {
        field.name
        for field in fields(TaskSpec)
        if field.name not in {"task_id", "upstream", *LATER_OF_TASKS}
    }


def test_an_earlier_version_is_found_by_its_fingerprint(engine: Engine) -> None:
    first, second = seed.store(engine, SPEC), seed.store(engine, seed.dag())
    seed.store(engine, replace(SPEC, dag_id="other"))
    prints = text("SELECT fingerprint FROM dag_version WHERE id = :id")
    with engine.connect() as conn:
        for version in (first, second):
            fingerprint = conn.execute(prints, {"id": version}).scalar_one()
            wanted = {"etl": fingerprint, "other": fingerprint}
            assert versions.find(conn, wanted) == {"etl": version}


def test_a_version_keeps_the_commit_that_it_was_read_at(engine: Engine) -> None:
    seed.store(engine, SPEC)
    code, data = manifest_hash({}), codec.encode(SPEC)
    with engine.begin() as conn:
        version = versions.add(conn, [NewVersion(SPEC, data, "f", code, "cafe")])["etl"]
        commits = text("SELECT id, commit FROM dag_version WHERE id = :id")
        assert conn.execute(commits, {"id": version}).one() == (version, "cafe")
