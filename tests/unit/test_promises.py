"""The table of promises in docs/testing.md names tests that exist, and names all of them."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs/testing.md"
LONG = "pytest.mark.long"
ONLY_LONG = {
    "test_flights_backfill_machine.py",
    "test_spark_cluster_machine.py",
    "test_spark_connect_machine.py",
    "test_spark_machine.py",
    "test_spark_memory_machine.py",
}
"""Named by docs/testing.md as what `make test-long` runs."""
TEST_ID = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def promised() -> set[tuple[str, str]]:
    """File and function of each test in the section "Promises"."""
    section = PAGE.read_text().partition("\n## Promises\n")[2].partition("\n## ")[0]
    return set(TEST_ID.findall(section))


def marked() -> set[tuple[str, str]]:
    """File and function of each test with the marker `regression`."""
    return {
        (path.relative_to(TESTS).as_posix(), node.name)
        for path in TESTS.rglob("test_*.py")
        if "pytest.mark.regression" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        if "pytest.mark.regression" in map(ast.unparse, node.decorator_list)
    }


@pytest.mark.regression
def test_the_table_of_promises_and_the_marked_tests_are_the_same() -> None:
    assert len(marked()) > 1
    assert promised() == marked()


@cache
def run_by_make_test() -> frozenset[tuple[str, str]]:
    """Module and function of each test that is not marked `long` as a whole."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        tree = ast.parse(path.read_text())
        marks = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)]
        if any(mark.startswith("pytestmark") and LONG in mark for mark in marks):
            continue
        found |= {
            (path.name, node.name)
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
            if LONG not in map(ast.unparse, node.decorator_list)
        }
    return frozenset(found)


def test_make_test_runs_each_test_that_proves_a_promise() -> None:
    modules = {module for module, _ in run_by_make_test()}
    named = set(re.findall(r"(test_\w+\.py)`", PAGE.read_text()))

    assert len(named) > 70
    assert {(Path(file).name, name) for file, name in promised()} <= run_by_make_test()
    assert named - modules == ONLY_LONG
    functions = set(re.findall(r"`(test_\w+)(?:\[[^]`]*\])?`", PAGE.read_text()))
    assert len(functions) > 80
    assert functions <= {name for _, name in run_by_make_test()}


READMES = sorted(TESTS.parent.glob("services/*/README.md"))
INVARIANT = re.compile(r"^\| \*\*[^|]+\*\* \|[^|]+\|([^|]+)\|$", re.M)


def test_the_tests_that_a_readme_names_for_its_invariants_are_run_by_make_test() -> None:
    tests = {name for _, name in run_by_make_test()}
    cells = [cell for page in READMES for cell in INVARIANT.findall(page.read_text())]

    assert len(READMES) == 4
    assert len(cells) >= 20
    assert all("`test_" in cell for cell in cells)
    assert {name for cell in cells for name in re.findall(r"`(test_\w+)`", cell)} <= tests
