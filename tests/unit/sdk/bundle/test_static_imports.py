"""Which files a source imports, told without running it."""

import sys
from pathlib import Path

import pytest

from headway.sdk.bundle.static_imports import Imports


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, content in {
        "helper.py": "import deep.inner",
        "deep/__init__.py": "",
        "deep/inner.py": "from . import beside\nfrom .. import above",
        "deep/beside.py": "",
        "deep/further.py": "",
        "space/module.py": "",
        "dags/near.py": "",
        "helper/__main__.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "helper" / "__main__.py").unlink()
    (tmp_path / "helper").rmdir()
    return tmp_path


def imports(root: Path, source: str) -> Imports:
    (root / "dags" / "dag.py").write_text(source)
    found = Imports(root, ["dags", ""])
    found.follow("dags/dag.py")
    return found


HELPERS = {"helper.py", "deep/__init__.py", "deep/inner.py", "deep/beside.py"}

SOURCES = {
    "def f():\n    import helper": HELPERS,
    "async def f():\n  while True:\n    import helper": HELPERS,
    "if 1:\n    pass\nelse:\n    import helper": HELPERS,
    "try:\n    pass\nexcept ImportError:\n    import helper": HELPERS,
    "try:\n    pass\nfinally:\n    import helper": HELPERS,
    "match 1:\n    case 1:\n        import helper": HELPERS,
    "with open('x'):\n    import helper": HELPERS,
    "class C:\n    import helper": HELPERS,
    "x = 1; import helper": HELPERS,
    "import json, \\\n    helper": HELPERS,
    "import json, helper": HELPERS,
    "from deep import (\n    further,\n)": {"deep/__init__.py", "deep/further.py"},
    "from deep import NAME": {"deep/__init__.py"},
    "import near": {"dags/near.py"},
    "import space.module": {"space/module.py"},
    "from importlib import import_module\nimport_module('deep.further')": {
        "deep/__init__.py",
        "deep/further.py",
    },
    "__import__('near')": {"dags/near.py"},
    "import importlib\nimportlib.import_module('.further', 'deep')": {
        "deep/__init__.py",
        "deep/further.py",
    },
    "import importlib\nimportlib.import_module('.further', package='deep')": {
        "deep/__init__.py",
        "deep/further.py",
    },
    "import json, sys, pathlib, pendulum": set(),
    "import tomllib": set(),
    "def broken(:\n    import helper": set(),
}


@pytest.mark.parametrize(("source", "expected"), SOURCES.items(), ids=list(SOURCES))
def test_modules_are_found_wherever_they_are_imported(
    root: Path, source: str, expected: set[str]
) -> None:
    found = imports(root, source)

    assert {path for path in found.paths if (root / path).is_file()} == expected
    assert found.dynamic == []


def test_a_module_that_nobody_has_may_come(root: Path) -> None:
    assert imports(root, "def f():\n    import not_there").paths == {
        "not_there.py",
        "not_there/__init__.py",
        "dags/not_there.py",
        "dags/not_there/__init__.py",
    }


def test_a_module_of_the_bundle_comes_before_one_of_python(root: Path) -> None:
    assert "sndhdr" not in sys.modules
    (root / "sndhdr.py").write_text("")

    assert imports(root, "import sndhdr").paths == {"sndhdr.py"}


@pytest.mark.parametrize(
    "source", ["import importlib\nimportlib.import_module('x' + y)", "\n__import__(name)"]
)
def test_a_name_that_is_built_at_run_time_is_told(root: Path, source: str) -> None:
    (found,) = imports(root, source).dynamic

    assert found.note("dags/dag.py").startswith(
        "dags/dag.py, line 2, imports a module by a name that is built at run time."
    )


def test_the_modules_of_a_package_import_modules_beside_it(root: Path) -> None:
    from zipfile import ZipFile

    with ZipFile(root / "dags" / "etl.zip", "w") as package:
        package.writestr("etl.py", "import own\ndef f():\n    import helper")
        package.writestr("own.py", "")
    found = Imports(root, ["dags", ""])
    found.follow("dags/etl.zip")

    assert found.paths & HELPERS == HELPERS
    assert not any("own" in path for path in found.paths)
