"""No module, class, function, table or column has a name of which ADR 28 says it is an old one."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from headway.db.schema import METADATA

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = ("shared", "services", "tests", "benchmarks")

WORDS: Final = {
    "ballast": "bulk_history",
    "charges": "ownership",
    "clerk": "result_writer, worker_database",
    "conclusion": "outcome",
    "crew": "supervisor, cluster",
    "doubts": "stability",
    "fate": "decision, change, outcome",
    "garden": "prefork",
    "household": "idle_services",
    "interventions": "user_actions, run_changes",
    "lane": "priority_class, run_queue, share",
    "ledger": "event_log",
    "leftovers": "cleanup",
    "passage": "throughput",
    "poison": "quarantine",
    "pulse": "liveness",
    "reins": "control",
    "shelf": "bundle_state",
    "shoot": "service",
    "situation": "snapshot",
    "soundness": "validation",
    "standing": "snapshot, state, counts",
    "stem": "prefork",
    "survey": "bundle_scan",
    "surroundings": "host, environment",
    "tenure": "lease_keeper",
    "tether": "parent_death",
    "tethered": "dies_with_parent",
    "vault": "secret_resolver",
    "wear": "recycling",
    "whereabouts": "target",
}
"""Words that no name may hold, and what it says instead."""

STORED: Final = WORDS.keys() | {"asked", "left", "line", "look", "passed", "tie", "watch"}
"""Words that no name in the database may hold: in code some of them are plain verbs."""

OLD_CLASSES: Final = frozenset({"Choice", "Line", "Nest", "Room", "SandboxRoom", "Taken"})
"""Names of classes that are gone, of words that are good as parts of a name."""

DEFINITION: Final = re.compile(r"^ *(class|def|async def) (\w+)", re.MULTILINE)

FILES: Final = sorted(
    file
    for folder in FOLDERS
    for file in (ROOT / folder).rglob("*.py")
    if "versions" not in file.parts
)


def words(name: str) -> set[str]:
    """The words of a name, in lower case, a plural as its singular."""
    found = {it.lower() for it in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
    return found | {it.removesuffix("s") for it in found}


def modules() -> Iterator[tuple[str, str]]:
    for file in FILES:
        path = file.relative_to(ROOT)
        for part in path.parts:
            yield path.as_posix(), part.removesuffix(".py")


@cache
def definitions() -> list[tuple[str, str, bool]]:
    """Where each class and function is defined, its name, and whether it is a class.

    By the text, not by the syntax: to parse all files takes seconds.
    """
    return [
        (f"{file.relative_to(ROOT)}:{name}", name, kind == "class")
        for file in FILES
        for kind, name in DEFINITION.findall(file.read_text())
    ]


def stored() -> Iterator[tuple[str, str]]:
    for table in METADATA.tables.values():
        parts = (*table.columns, *table.indexes, *table.constraints)
        for name in (table.name, *(str(it.name) for it in parts)):
            yield f"{table.name}.{name}", name


def old(names: list[tuple[str, str]]) -> set[str]:
    """Where a name holds an old word."""
    return {where for where, name in names if not WORDS.keys().isdisjoint(words(name))}


def test_no_module_is_called_by_an_old_word() -> None:
    found = list(modules())

    assert len(FILES) >= 1400
    assert old(found) == set()


def test_no_class_is_called_by_an_old_word() -> None:
    found = [(where, name) for where, name, is_class in definitions() if is_class]

    assert len(found) >= 950
    assert old(found) == set()
    assert {where for where, name in found if name in OLD_CLASSES} == set()


def test_no_function_is_called_by_an_old_word() -> None:
    found = [
        (where, name)
        for where, name, is_class in definitions()
        if not is_class and not name.startswith("test_")  # a sentence
    ]

    assert len(found) >= 7800
    assert old(found) == set()


def test_no_name_in_the_database_is_an_old_word() -> None:
    found = list(stored())

    assert len(found) >= 400
    assert [where for where, name in found if not STORED.isdisjoint(words(name))] == []
