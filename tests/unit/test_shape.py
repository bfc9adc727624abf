"""Rules of the code that no linter checks, each with the words of the rule as its test's name."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import CheckConstraint, TextClause

from headway.db.schema import METADATA
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.states import MOVES, CallbackState, Outcome, Phase, RunState, RunType, TaskState

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(
    path for folder in ("shared/*", "services/*/*") for path in ROOT.glob(f"{folder}/__init__.py")
)
FILES = sorted(
    file
    for package in PACKAGES
    for file in package.parent.rglob("*.py")
    if "versions" not in file.parts
)
PATHS = [file.relative_to(ROOT).as_posix() for file in FILES]
TABLE_MODULES = sorted(
    path
    for path in PATHS
    if re.fullmatch(r"shared/headway/db/(?!schema|migrations)(?:\w+/)+(?!__init__)\w+\.py", path)
    and not path.endswith(("/engine.py", "/prepared.py", "/migrate.py"))
)
CALLS = ("text", "hot", "sqlalchemy.text")
MOST_LINES = 400
USUAL_LINES = 250
MOST_LINES_OF_A_FUNCTION = 40
MOST_MODULES = 18
FOLDERS_AT_LEAST = 70
DOORS = {"services/scheduler/headway_scheduler"}
"""Folders with one module, which lies beside folders."""


@cache
def tree_of(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def each(*kinds: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Every node of these kinds in production code, with where it stands."""
    for path in PATHS:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, kinds):
                yield f"{path}:{getattr(node, 'lineno', 0)}", node


def statements(path: str) -> Iterator[tuple[str, ast.expr]]:
    """The SQL of a module: what its calls of `text` and `hot` are given, with where that stands."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS:
            yield f"{path}:{node.lineno}", node.args[0]


def sql(path: str) -> Iterator[tuple[str, str]]:
    for where, argument in statements(path):
        yield where, " ".join(str(ast.literal_eval(argument)).split())


def in_parentheses(rest: str) -> str:
    """The text up to the parenthesis that closes the one before it."""
    depth = 1
    for place, letter in enumerate(rest):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return rest[:place]
    return rest


def modules_by_folder(paths: Iterable[str]) -> dict[str, int]:
    """Count the modules of each folder."""
    return Counter(path.rpartition("/")[0] for path in paths if not path.endswith("/__init__.py"))


def too_many(modules: dict[str, int]) -> dict[str, int]:
    return {folder: number for folder, number in modules.items() if number > MOST_MODULES}


def test_the_code_is_there() -> None:
    names = {package.parent.name for package in PACKAGES}

    assert names >= {"headway", "headway_parser", "headway_scheduler", "headway_worker"}
    assert len(list(sql("shared/headway/db/execution/attempts.py"))) > 3
    assert len(TABLE_MODULES) >= 90
    assert sum(len(list(sql(path))) for path in TABLE_MODULES) >= 377


def test_a_file_has_at_most_400_lines_and_nine_of_ten_have_at_most_250() -> None:
    lengths = {path: len((ROOT / path).read_text().splitlines()) for path in PATHS}

    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}
    assert sum(length > USUAL_LINES for length in lengths.values()) < len(lengths) / 10


def test_a_folder_has_at_most_18_modules_and_more_than_one() -> None:
    modules = modules_by_folder(path for path in PATHS if "/migrations" not in path)

    assert len(modules) >= FOLDERS_AT_LEAST
    assert too_many(modules) == {}
    assert {folder for folder, number in modules.items() if number == 1} <= DOORS


@pytest.mark.parametrize(("top", "at_least"), [("tests", 100), ("benchmarks", 2)])
def test_a_folder_of_tests_or_benchmarks_has_at_most_18_modules(top: str, at_least: int) -> None:
    files = (ROOT / top).rglob("*.py")
    modules = modules_by_folder(file.relative_to(ROOT).as_posix() for file in files)

    assert len(modules) >= at_least
    assert too_many(modules) == {}


def test_a_unit_test_starts_no_python() -> None:
    """Starting a Python takes as long as a hundred unit tests.

    Two modules need one: they measure the memory that it takes, and the modules that it loads.
    """
    files = sorted((ROOT / "tests" / "unit").rglob("test_*.py"))

    assert len(files) >= 280
    assert {file.name for file in files if "[sys.executable" in file.read_text()} <= {
        "test_decoding.py",
        "test_shape.py",
        "test_task_templates.py",
    }


def test_no_two_classes_share_a_name() -> None:
    found: dict[str, list[str]] = {}
    for path in PATHS:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(path)

    assert len(found) >= 720
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_a_function_has_at_most_40_lines() -> None:
    found = {
        f"{where} {node.name}": node.end_lineno - node.lineno + 1
        for where, node in each(ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    }

    assert {name: n for name, n in found.items() if n > MOST_LINES_OF_A_FUNCTION} == {}


def test_no_module_is_named_for_nothing_in_particular() -> None:
    vague = re.compile(r"util|helper|common|manager|misc|tools?$", re.IGNORECASE)

    found = {path for path in PATHS if any(vague.search(Path(n).stem) for n in Path(path).parts)}

    assert found == {"services/parser/headway_parser/manager.py"}


def test_nothing_is_unpickled_evaluated_or_executed() -> None:
    modules = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle"}
    calls = {"eval", "exec", "compile", "__import__", "yaml.load", "yaml.unsafe_load"}
    found = []
    for where, node in each(ast.Import, ast.ImportFrom, ast.Call):
        if isinstance(node, ast.Import):
            names = {alias.name.partition(".")[0] for alias in node.names} & modules
        elif isinstance(node, ast.ImportFrom):
            names = {(node.module or "").partition(".")[0]} & modules
        else:
            assert isinstance(node, ast.Call)
            names = {ast.unparse(node.func)} & calls
        found += [f"{where} {name}" for name in names]

    assert found == []


def test_states_are_moved_in_the_database_layer_only() -> None:
    moving = re.compile(r"\b(UPDATE|INSERT\s+INTO|DELETE\s+FROM)\s+(task_i|dag_run|task_a|callb)")
    found = {path for path in PATHS if moving.search((ROOT / path).read_text())}

    assert found
    assert {path for path in found if not path.startswith("shared/headway/db/")} == {
        path for path in found if path.startswith("shared/headway/testing/")
    }


@pytest.mark.parametrize("path", TABLE_MODULES)
def test_rows_are_locked_in_a_statement_of_their_own_or_materialized(path: str) -> None:
    """`IN (SELECT … FOR UPDATE)` may be run once per row, and then its LIMIT is no limit."""
    for where, statement in sql(path):
        for found in re.finditer(r"\bIN \((?=SELECT)", statement):
            assert " FOR " not in in_parentheses(statement[found.end() :]), where


@pytest.mark.parametrize("path", TABLE_MODULES)
def test_sql_is_a_constant_of_its_module_without_parts_put_in(path: str) -> None:
    constants = {
        id(node.value.args[0]): target.id
        for node in tree_of(path).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.args
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for where, argument in statements(path):
        assert id(argument) in constants, f"{where} is no constant of the module"
        assert constants[id(argument)].isupper(), where
        assert isinstance(argument, ast.Constant), f"{where} is put together"


@pytest.mark.parametrize("path", TABLE_MODULES)
def test_every_constant_of_sql_is_used(path: str) -> None:
    source = (ROOT / path).read_text()
    names = [
        target.id
        for node in tree_of(path).body
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith(("text(", "hot("))
        for target in node.targets
        if isinstance(target, ast.Name)
    ]

    assert [name for name in names if len(re.findall(rf"\b{name}\b", source)) < 2] == []


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("task_instance", "state", TaskState),
        ("dag_run", "state", RunState),
        ("dag_run", "run_type", RunType),
        ("task_attempt", "phase", Phase),
        ("task_attempt", "outcome", Outcome),
        ("callback", "state", CallbackState),
        ("callback", "event", CallbackEvent),
    ],
)
def test_the_database_knows_the_same_states(table: str, column: str, values: type[StrEnum]) -> None:
    allowed = [
        set(re.findall(r"'(\w+)'", constraint.sqltext.text))
        for constraint in METADATA.tables[table].constraints
        if isinstance(constraint, CheckConstraint)
        and isinstance(constraint.sqltext, TextClause)
        and constraint.sqltext.text.startswith(f"{column} IN (")
    ]

    assert allowed == [{str(value) for value in values}]


def test_every_state_of_the_table_of_moves_is_a_state_of_the_database() -> None:
    named = set(MOVES) | {target for moves in MOVES.values() for target in moves}

    assert named == set(TaskState)


def test_releases_of_the_schema_follow_one_after_the_other() -> None:
    folder = ROOT / "shared/headway/db/migrations/versions"
    revisions = [
        dict(re.findall(r'^(revision|down_revision)\b[^=\n]*= "?(\w+)', file.read_text(), re.M))
        for file in sorted(folder.glob("*.py"))
    ]

    assert revisions[0]["down_revision"] == "None"
    for before, after in pairwise(revisions):
        assert after["down_revision"] == before["revision"]


def test_each_decision_has_a_number_of_its_own() -> None:
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    titles = [int(page.read_text().split(".")[0].removeprefix("# ")) for page in pages]

    assert numbers == titles == list(range(1, len(pages) + 1))
