"""`load_dags` of `headway.testing`, and what is public there."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import headway.testing
from headway.domain.errors import DagError
from headway.testing import load_dags

ROOT = Path(__file__).parents[4]
DAG_FILE = 'from headway.sdk import DAG\nDAG("{}", {})\n'
CYCLE = """
from headway.sdk import DAG, EmptyOperator
with DAG("a"):
    first, last = EmptyOperator(task_id="first"), EmptyOperator(task_id="last")
    first >> last >> first
"""


@pytest.fixture(autouse=True)
def _restored_path() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_all_dag_files_of_a_folder_are_loaded(tmp_path: Path) -> None:
    write(tmp_path, a=DAG_FILE.format("a", ""), b=DAG_FILE.format("b", ""), other="1 / 0")

    dags = load_dags(tmp_path)

    assert sorted(dags) == ["a", "b"]
    assert dags["a"].fileloc == str(tmp_path / "a.py")
    assert list(load_dags(str(tmp_path / "b.py"))) == ["b"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DAG_FILE.format("a", "schedul=1"), "did you mean schedule"),
        (DAG_FILE.format("a", "") + "1 / 0\n", "line 3, in <module>\n.*ZeroDivisionError"),
        (DAG_FILE.format("a", "") + "import headwy\n", "No module named"),
        (CYCLE, "has a cycle"),
    ],
)
def test_a_file_that_a_parser_refuses_is_an_error_in_its_words(
    text: str, message: str, tmp_path: Path
) -> None:
    write(tmp_path, broken=text)

    with pytest.raises(DagError, match=rf"(?s)^broken.py cannot be imported:\n.*{message}"):
        load_dags(tmp_path)


def test_a_file_imports_from_the_folder_of_its_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_PARSER_DAGS", str(tmp_path))
    write(tmp_path, beside_all="dag_id = 'a'\n", b=DAG_FILE.format("b", ""))
    (tmp_path / "more").mkdir()
    text = "from headway.sdk import DAG\nimport beside_all\nDAG(beside_all.dag_id)\n"
    write(tmp_path / "more", a=text)

    assert list(load_dags(tmp_path / "more" / "a.py")) == ["a"]
    assert list(load_dags(tmp_path / "more")) == ["a"]
    assert load_dags(tmp_path)["a"].fileloc == str(tmp_path / "more" / "a.py")


def test_without_safe_mode_each_python_file_is_a_dag_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, a=DAG_FILE.format("a", ""), other="1 / 0\n")
    monkeypatch.setenv("HEADWAY_PARSER_SAFE_MODE", "false")

    with pytest.raises(DagError, match=r"^other\.py cannot be imported"):
        load_dags(tmp_path)


def test_two_files_cannot_make_the_same_dag(tmp_path: Path) -> None:
    write(tmp_path, a=DAG_FILE.format("a", ""), b=DAG_FILE.format("a", ""))

    with pytest.raises(DagError, match=r"a\.py and .*b\.py make the DAG 'a'"):
        load_dags(tmp_path)


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DagError, match="There is no DAG file or folder"):
        load_dags(tmp_path / "nowhere")


def test_the_package_has_what_authors_test_with_and_no_other_test_support() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folder = ROOT / "shared" / "headway" / "testing"
    support = {
        path.relative_to(ROOT).as_posix()
        for path in folder.iterdir()
        if path.is_dir() and path.name not in {"authors", "__pycache__"}
    }

    assert set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]) == support
    assert project["project"]["entry-points"]["pytest11"] == {
        "headway": "headway.testing.authors.plugin"
    }


def test_each_public_name_is_there() -> None:
    assert set(headway.testing.__all__) == headway.testing._HOMES.keys()
    for name in headway.testing.__all__:
        assert getattr(headway.testing, name).__module__ == headway.testing._HOMES[name]
    with pytest.raises(AttributeError):
        _ = headway.testing.nothing
