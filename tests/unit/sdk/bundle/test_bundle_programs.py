"""Python files of the bundle that are named at run time are there when code asks for them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.sdk.authoring.current import DagFile
from headway.sdk.bundle.bundle_code import BundleCode
from headway.sdk.bundle.bundle_imports import importing
from headway.sdk.harness.loading import load_dag_file
from headway.testing.data.version_code import version_code

OTHERS = {"x.py": b"WORD = 'x'\n", "jobs/job.py": b"WORD = 'job'\n", "rates.csv": b"1,2"}
BEGIN = b"""
import importlib.util
import runpy
from pathlib import Path

NAME = "x"
"""


@pytest.fixture
def kept() -> Iterator[None]:
    path, modules = sys.path.copy(), set(sys.modules)
    yield
    sys.path[:] = path
    for name in sys.modules.keys() - modules:
        del sys.modules[name]


def code_of(tmp_path: Path, source: bytes = b"") -> BundleCode:
    files = {"dag.py": BEGIN + source}
    return version_code(tmp_path / "dags", files, {**files, **OTHERS})


def result_of(code: BundleCode) -> object:
    """Return what the DAG file calls its result."""
    with importing(code):
        load_dag_file(code.root / "dag.py", code.root, code)
        found = [module for name, module in sys.modules.items() if name.endswith("dag")]
    return next(module.RESULT for module in found if hasattr(module, "RESULT"))


@pytest.mark.usefixtures("kept")
def test_python_forgets_the_folders_of_a_version_after_the_block(tmp_path: Path) -> None:
    code = version_code(
        tmp_path / "code",
        {"dag.py": b"import helper\nRESULT = helper.ONE\n", "helper.py": b"ONE = 1\n"},
        {},
    )
    with importing(code):
        load_dag_file(code.root / "dag.py", code.root, code)
        assert str(code.root) in sys.path_importer_cache

    assert [each for each in sys.path_importer_cache if each.startswith(str(code.root))] == []


@pytest.mark.regression
@pytest.mark.parametrize(
    "expression",
    [
        b"Path(__file__).with_name(NAME + '.py').exists()",
        b"Path(__file__).with_name(f'{NAME}.py').is_file()",
        b"(Path(__file__).parent / 'jobs').is_dir() and '.py' > ''",
        b"bool(Path(__file__).with_name(NAME + '.py').read_text())",
        b"len(list(Path(__file__).parent.glob('*.py'))) == 2",
        b"runpy.run_path(str(Path(__file__).with_name(NAME + '.py')))['WORD'] == 'x'",
        b"runpy.run_path(str(Path(__file__).with_name(NAME + chr(46) + 'py')))['WORD'] == 'x'",
    ],
)
@pytest.mark.usefixtures("kept")
def test_a_program_that_is_named_at_run_time_is_there(tmp_path: Path, expression: bytes) -> None:
    assert result_of(code_of(tmp_path, b"RESULT = " + expression)) is True


@pytest.mark.usefixtures("kept")
def test_a_program_that_is_named_at_run_time_is_imported_from_its_file(tmp_path: Path) -> None:
    source = b"""
place = Path(__file__).with_name(NAME + chr(46) + "py")
spec = importlib.util.spec_from_file_location("other", place)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
RESULT = module.WORD
"""
    assert result_of(code_of(tmp_path, source)) == "x"


@pytest.mark.regression
@pytest.mark.parametrize("name", ["x.py", "jobs/job.py", "jobs", "rates.csv"])
def test_what_an_operator_names_at_run_time_is_there(tmp_path: Path, name: str) -> None:
    code = code_of(tmp_path)
    file = DagFile("dag", code.root / "dag.py", code.root, [], code)

    assert file.beside("none.py") is None
    found = file.beside(name)

    assert found == code.root / name
    assert found.exists()


@pytest.mark.usefixtures("kept")
def test_programs_are_written_only_for_code_that_may_name_them(tmp_path: Path) -> None:
    code = code_of(tmp_path, b"RESULT = Path(__file__).with_name('rates.csv').exists()")

    assert result_of(code) is True
    assert not (code.root / "x.py").exists()
