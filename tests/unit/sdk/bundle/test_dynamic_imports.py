"""Imports by names that are built at run time: which files cover them."""

from pathlib import Path

import pytest

from headway.sdk.bundle.dynamic_imports import DynamicImport
from headway.sdk.bundle.static_imports import Imports

FILES = (
    "plugins/__init__.py",
    "plugins/csv_in.py",
    "plugins/csv_out.py",
    "plugins/json/__init__.py",
    "plugins/notes.txt",
    "near.py",
    "conf/a.json",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def dynamic(root: Path, call: str, path: str = "dag.py") -> list[DynamicImport]:
    (root / path).write_text(f"from importlib import import_module\n{call}\n")
    found = Imports(root, [""])
    found.follow(path)
    return found.dynamic


def is_covered(root: Path, call: str, *named: str, path: str = "dag.py") -> bool:
    (found,) = dynamic(root, call, path)
    return found.is_covered(root, {path, *named}, set(named))


ALL = ("plugins/csv_in.py", "plugins/csv_out.py", "plugins/json/__init__.py")


@pytest.mark.parametrize(
    "name",
    [
        "f'plugins.{x}'",
        "'plugins.' + x",
        "'plugins.' + x + '.more'",
        "'plugins.%s' % x",
        "'plugins.{}'.format(x)",
        "'.' + x, 'plugins'",
        "'.' + x, package='plugins'",
    ],
)
def test_a_package_is_covered_when_each_of_its_modules_is(root: Path, name: str) -> None:
    call = f"import_module({name})"

    assert is_covered(root, call, *ALL)
    assert not is_covered(root, call, *ALL[:2])
    assert not is_covered(root, call, "conf/a.json")
    assert not is_covered(root, call, "near.py")


def test_only_modules_whose_names_begin_so_count(root: Path) -> None:
    call = "import_module(f'plugins.csv_{x}')"

    assert is_covered(root, call, *ALL[:2])
    assert not is_covered(root, call, ALL[0], ALL[2])


def test_a_module_at_the_top_is_covered_by_its_file(root: Path) -> None:
    call = "import_module(f'ne{x}')"

    assert is_covered(root, call, "near.py")
    assert not is_covered(root, call, *ALL)


@pytest.mark.parametrize(
    "call", ["import_module(x)", "__import__(f'{x}.y')", "import_module('.' + x)"]
)
def test_a_name_of_which_nothing_is_known_is_covered_by_no_data(root: Path, call: str) -> None:
    assert not is_covered(root, call)
    assert not is_covered(root, call, "conf/a.json")


@pytest.mark.parametrize(
    "call", ["import_module(x)", "import_module('.' + x, package)", "import_module(name=x)"]
)
def test_a_name_of_which_nothing_is_known_is_told_by_its_author(root: Path, call: str) -> None:
    assert is_covered(root, call, "near.py")


@pytest.mark.parametrize("package", ["__package__", "package=__package__"])
def test_a_relative_name_is_looked_for_beside_its_source(root: Path, package: str) -> None:
    call, path = f"import_module(f'.{{x}}', {package})", "plugins/__init__.py"

    assert is_covered(root, call, *ALL, path=path)
    assert not is_covered(root, call, *ALL[:2], path=path)


def test_a_package_that_is_none_of_the_bundles_is_not_told(root: Path) -> None:
    assert dynamic(root, "import_module(f'json.{x}')") == []


def test_a_package_that_is_missing_is_covered_by_nothing(root: Path) -> None:
    assert not is_covered(root, "import_module(f'missing.{x}')", *ALL, "near.py")


@pytest.mark.parametrize(
    ("dag_file", "pattern"),
    [("dag.py", "plugins/csv_*.py"), ("team/dag.py", "../plugins/csv_*.py")],
)
def test_the_line_to_add_names_the_modules(root: Path, dag_file: str, pattern: str) -> None:
    (found,) = dynamic(root, "import_module(f'plugins.csv_{x}')")

    assert found.note(dag_file).endswith(f'headway_files = ["{pattern}"]')
