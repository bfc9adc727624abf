"""The pytest plugin in a pytest of its own: with `--headway`, and without."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = 'from headway.sdk import DAG\nDAG("{}")\n'
BROKEN = 'from headway.sdk import DAG\nDAG("broken", schedul=1)\n'
TESTS = """
def test_bag(headway_dag_bag):
    assert sorted(headway_dag_bag) == ["a", "b"]

def test_spark(spark):
    raise AssertionError
"""


def run(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    """Run pytest in the folder with the plugin alone; return its status and lines."""
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "headway.testing.authors.plugin"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def outcomes(lines: list[str]) -> dict[str, str]:
    marks = ("PASSED ", "FAILED ", "ERROR ")
    told = [line.partition(" - ")[0].split(" ") for line in lines if line.startswith(marks)]
    return {words[1]: words[0] for words in told}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("dags/more", "tests"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "dags" / "a.py").write_text(GOOD.format("a"))
    (tmp_path / "dags" / "more" / "b.py").write_text(GOOD.format("b"))
    (tmp_path / "dags" / "no_dags.py").write_text("1 / 0\n")
    (tmp_path / "tests" / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    return tmp_path


def test_each_dag_file_is_a_test(folder: Path) -> None:
    (folder / "dags" / "broken.py").write_text(BROKEN)
    status, lines = run(folder, "--headway", "-k", "loads")

    assert status == 1
    assert outcomes(lines) == {
        "dags/a.py::loads": "PASSED",
        "dags/broken.py::loads": "FAILED",
        "dags/more/b.py::loads": "PASSED",
    }
    assert "broken.py cannot be imported:" in lines
    assert "DAG 'broken' does not know the argument 'schedul'; did you mean schedule?" in lines
    assert not [line for line in lines if "collecting.py" in line]


def test_tests_among_dag_files_stay_tests(folder: Path) -> None:
    text = f"{GOOD.format('c')}def test_one(): ...\n"
    (folder / "dags" / "test_c.py").write_text(text)

    assert outcomes(run(folder, "--headway", "dags/test_c.py")[1]) == {
        "dags/test_c.py::loads": "PASSED",
        "dags/test_c.py::test_one": "PASSED",
    }


def test_paths_choose_among_the_dag_files(folder: Path) -> None:
    assert outcomes(run(folder, "--headway", "dags/more")[1]) == {"dags/more/b.py::loads": "PASSED"}
    assert outcomes(run(folder, "--headway", "-k", "bag", "tests")[1]) == {
        "tests/test_it.py::test_bag": "PASSED"
    }


def test_each_file_is_collected_once_where_pytest_looks_everywhere(folder: Path) -> None:
    (folder / "pytest.ini").unlink()
    lines = run(folder, "--headway", "--collect-only", "-k", "loads")[1]

    assert [line for line in lines if line.endswith("::loads")] == [
        "dags/a.py::loads",
        "dags/more/b.py::loads",
    ]


def test_another_folder(folder: Path) -> None:
    (folder / "dags").rename(folder / "flows")
    status, lines = run(folder, "--headway", "--headway-dags", "flows", "-k", "not spark")

    assert status == 0
    assert len(outcomes(lines)) == 3
    status, lines = run(folder, "--headway")
    assert status == 4
    assert any("name it with --headway-dags" in line for line in lines)


def test_a_warning_of_the_parser_is_one_of_pytest(folder: Path) -> None:
    text = "import importlib\nname = 'a' + 'b'\nif 0:\n    importlib.import_module(name)\n"
    (folder / "dags" / "a.py").write_text(GOOD.format("a") + text)
    status, lines = run(folder, "--headway", "dags/a.py")

    assert status == 0
    assert any("DagFileWarning: a.py" in line for line in lines)


def test_without_the_option_nothing_changes(folder: Path) -> None:
    (folder / "tests" / "test_it.py").write_text(
        "import sys\n"
        "def test_nothing_is_imported():\n"
        "    names = {name for name in sys.modules if name.startswith('headway')}\n"
        "    assert names == {'headway', 'headway.testing', 'headway.testing.authors',\n"
        "                     'headway.testing.authors.plugin'}\n"
        "def test_bag(headway_dag_bag): ...\n"
    )
    lines = run(folder)[1]

    assert outcomes(lines) == {
        "tests/test_it.py::test_nothing_is_imported": "PASSED",
        "tests/test_it.py::test_bag": "ERROR",
    }
