"""What the sampler of mutants changes, and what it leaves alone."""

import ast
from pathlib import Path

import pytest
from tests.mutants.change import Mutant
from tests.mutants.python import Source
from tests.mutants.targets import TARGETS, mirrors, sources

ROOT = Path(__file__).parents[3]


def changed(text: str) -> set[str]:
    return {change.apply(text) for change in Source(text).changes()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a is None", {"x = a is not None"}),
        ("x = (a) in (b)", {"x = (a) not in (b)"}),
        ("x = not (a or b)", {"x =  (a or b)", "x = not (a and b)"}),
        ("x = (a + b) - c", {"x = (a - b) - c", "x = (a + b) + c"}),
        ("x = any(it)", {"x = all(it)"}),
        ("x = True", {"x = False"}),
        ("x = f(30)", {"x = f(31)"}),
        ("wakes.add(conn, run)", {"pass"}),
        ("if found:\n    x()", {"if not found:\n    x()", "if found:\n    pass"}),
        ("def f() -> int | None:\n    return x", {"def f() -> int | None:\n    return None"}),
        ("ü = 'ü' if a == b else c", {"ü = 'ü' if a != b else c"}),
    ],
)
def test_what_is_changed_of_python(text: str, expected: set[str]) -> None:
    assert changed(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '"""A docstring with 3 numbers."""',
        "log.info('it has %d', 3)",
        "raise ValueError(f'it is {1 + 1}')",
        "Name: TypeAlias = 'int | None'",
        "assert a == b",
        "x = 'text'",
    ],
)
def test_what_is_only_told_is_left_alone(text: str) -> None:
    assert changed(text) == set()


def test_what_is_changed_of_sql() -> None:
    text = (
        'X = text("""\n'
        "    SELECT id FROM run  -- AND here\n"
        "     WHERE state = ANY (:states) AND due <= :now\n"
        "       AND id BETWEEN 1 AND 3\n"
        "     LIMIT :most\n"
        "       FOR NO KEY UPDATE SKIP LOCKED\n"
        '""")'
    )

    assert changed(text) == {
        text.replace("       FOR NO KEY UPDATE SKIP LOCKED", "       "),
        text.replace(" SKIP LOCKED", ""),
        text.replace("LIMIT :most", ""),
        text.replace("<=", "<"),
        text.replace(") AND due", ") OR due"),
        text.replace("AND id", "OR id"),
    }


def test_every_mutant_is_python_and_differs() -> None:
    for target in TARGETS.values():
        for path in sources(ROOT, target)[::20]:
            source = Source((ROOT / path).read_text())
            for change in source.changes():
                mutated = change.apply(source.text)
                assert mutated != source.text
                ast.parse(mutated)
                assert str(path) in Mutant(path, change).diff(source.text)


def test_the_tests_that_import_a_module_come_before_the_others() -> None:
    near, others = mirrors(
        ROOT, TARGETS["timetables"], Path("shared/headway/timetables/kinds/solar.py")
    )
    assert near[0] == Path("tests/unit/timetables/kinds/test_solar.py")
    assert Path("tests/unit/timetables/wall_clock/test_cron_pattern.py") in others

    near, others = mirrors(ROOT, TARGETS["db"], Path("shared/headway/db/execution/leases.py"))
    assert near[0] == Path("tests/integration/db/execution/test_leases.py")
    assert not any("services" in path.parts for path in near)
    assert {path.parts[:3] for path in others} == {("tests", "unit", "db")}


def test_who_imports_what_imports_a_module_stands_for_its_tests() -> None:
    near, _ = mirrors(
        ROOT, TARGETS["db"], Path("shared/headway/db/scheduling/skipped_intervals.py")
    )
    assert Path("tests/integration/scheduler/passes/test_catchup.py") in near
