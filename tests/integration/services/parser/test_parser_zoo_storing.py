"""F69: a parser that dies at any statement stores files as a whole or not at all."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from sqlalchemy import Engine, text
from tests.integration.parses import claim, parse, store_of, take_over

from headway.db.core.processes import Identity
from headway.testing.data import seed
from headway.testing.database.faults import Crash, crashing
from headway_parser.publish.stored_parse import StoredParse

TABLES = [
    text(f"SELECT it::text FROM {table} AS it ORDER BY 1")
    for table in (
        "dag",
        "code_file",
        "code_manifest",
        "dag_version",
        "task_definition",
        "dag_task",
        "dag_edge",
        "import_error",
    )
]
FILES = text("SELECT relative_path, signature, paths, failures, warning FROM dag_file ORDER BY 1")

Rows = list[list[tuple[object, ...]]]


def stored(engine: Engine) -> Rows:
    """All that there is of files and what they define, but for who has claimed them."""
    with engine.connect() as conn:
        return [[tuple(row) for row in conn.execute(statement)] for statement in (*TABLES, FILES)]


def first() -> list[StoredParse]:
    return [parse("a.py", seed.dag(seed.task("a"), seed.task("b", "a")), seed.dag(dag_id="other"))]


def changed() -> list[StoredParse]:
    """One DAG changes, one goes, one comes."""
    dags = seed.dag(seed.task("c"), seed.task("d", "c")), seed.dag(dag_id="new")
    return [parse("a.py", *dags, code=b"changed")]


def failed() -> list[StoredParse]:
    return [parse("a.py", error="It is broken.")]


def several() -> list[StoredParse]:
    return [*changed(), parse("b.py", seed.dag(dag_id="b")), parse("c.py", error="Broken.")]


@pytest.mark.parametrize("parses", [first, changed, failed, several])
def test_files_are_stored_as_a_whole_or_not_at_all(
    engine: Engine, parses: Callable[[], list[StoredParse]]
) -> None:
    if parses is not first:
        take_over(engine, seed.register(engine, "parser"), *first())
    crashes = 0
    while True:
        me = seed.register(engine, "parser")
        to_store = parses()
        assert claim(engine, me, *(stored.file.path for stored in to_store))
        before = stored(engine)
        with crashing(engine, crashes + 1) as fault, suppress(Crash):
            store_of(engine, me).files(to_store)
        if fault.seen <= crashes:
            break
        assert stored(engine) == before
        crashes += 1
        bury(engine, me)
    assert stored(engine) != before
    assert crashes > 3


def bury(engine: Engine, parser: Identity) -> None:
    """Have others count it as dead, so that what it had claimed is free."""
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET ended_at = now() WHERE id = :id"), {"id": parser.id})
