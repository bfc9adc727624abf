"""The table of promises in docs/testing.md names tests that exist, and names all of them."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs/testing.md"
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


READMES = sorted(TESTS.parent.glob("services/*/README.md"))
INVARIANT = re.compile(r"^\| \*\*[^|]+\*\* \|[^|]+\|([^|]+)\|$", re.M)


def test_the_tests_that_a_readme_names_for_its_invariants_exist() -> None:
    tests = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^ *def (test_\w+)\(", path.read_text(), re.M)
    }
    cells = [cell for page in READMES for cell in INVARIANT.findall(page.read_text())]

    assert len(READMES) == 4
    assert len(cells) >= 20
    assert all("`test_" in cell for cell in cells)
    assert {name for cell in cells for name in re.findall(r"`(test_\w+)`", cell)} <= tests
